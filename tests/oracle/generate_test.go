package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// oracle runs the program as a caller would and decodes what it printed into result.
func oracle(t *testing.T, result any, args ...string) int {
	t.Helper()

	var stdout, stderr bytes.Buffer

	code := run(t.Context(), args, &stdout, &stderr)

	if code == 2 {
		t.Fatalf("oracle %q: %s", args, stderr.String())
	}

	if err := json.Unmarshal(stdout.Bytes(), result); err != nil {
		t.Fatalf("oracle %q printed no JSON: %v\n%s", args, err, stdout.String())
	}

	return code
}

// produce runs a command that writes a document and returns the file.
func produce(t *testing.T, args ...string) string {
	t.Helper()

	file := filepath.Join(t.TempDir(), args[0])

	var printed document

	if code := oracle(t, &printed, append(args, "--out", file)...); code != 0 || printed.File != file {
		t.Fatalf("oracle %q: exit code %d, %+v", args, code, printed)
	}

	return file
}

func genConfigFile(t *testing.T, bundle, role string) string {
	t.Helper()

	return produce(t, "gen-config", "--secrets", bundle, "--cluster", "demo", "--endpoint", "https://10.5.0.2:6443", "--role", role)
}

// readYAML reads the first document of a file.
func readYAML(t *testing.T, file string) map[string]any {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	var document map[string]any

	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&document); err != nil {
		t.Fatal(err)
	}

	return document
}

// at walks maps by keys; a key that is missing gives nil.
func at(value any, keys ...string) any {
	for _, key := range keys {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}

	return value
}

func TestGenSecretsWritesTheFormatOfTalosctl(t *testing.T) {
	bundle := readYAML(t, produce(t, "gen-secrets"))

	for _, path := range [][]string{
		{"cluster", "id"},
		{"cluster", "secret"},
		{"secrets", "bootstraptoken"},
		{"secrets", "secretboxencryptionsecret"},
		{"trustdinfo", "token"},
		{"certs", "etcd", "key"},
		{"certs", "k8s", "key"},
		{"certs", "k8saggregator", "key"},
		{"certs", "k8sserviceaccount", "key"},
		{"certs", "os", "crt"},
		{"certs", "os", "key"},
	} {
		if text, _ := at(bundle, path...).(string); text == "" {
			t.Errorf("the bundle has no %s", strings.Join(path, "."))
		}
	}

	other := readYAML(t, produce(t, "gen-secrets"))
	if at(bundle, "certs", "os", "key") == at(other, "certs", "os", "key") {
		t.Error("two bundles share a CA key")
	}
}

func TestGenConfigUsesTheBundleAndGivesAWorkerNoCAKey(t *testing.T) {
	file := produce(t, "gen-secrets")
	bundle := readYAML(t, file)

	for _, role := range []string{"controlplane", "worker"} {
		config := readYAML(t, genConfigFile(t, file, role))

		if at(config, "machine", "type") != role {
			t.Errorf("%s: machine.type is %v", role, at(config, "machine", "type"))
		}

		if at(config, "machine", "ca", "crt") != at(bundle, "certs", "os", "crt") {
			t.Errorf("%s: machine.ca.crt is not the bundle's", role)
		}

		if at(config, "cluster", "id") != at(bundle, "cluster", "id") {
			t.Errorf("%s: cluster.id is not the bundle's", role)
		}

		key, _ := at(config, "machine", "ca", "key").(string)
		if (key != "") != (role == "controlplane") {
			t.Errorf("%s: machine.ca.key is there: %t", role, key != "")
		}
	}
}

func TestGenConfigRefusesABundleWithoutItsTalosCA(t *testing.T) {
	bundle := readYAML(t, produce(t, "gen-secrets"))
	delete(bundle["certs"].(map[string]any), "os")

	text, err := yaml.Marshal(bundle)
	if err != nil {
		t.Fatal(err)
	}

	file := write(t, "bundle.yaml", text)

	var said failure

	code := oracle(t, &said, "gen-config", "--secrets", file, "--cluster", "demo", "--endpoint", "https://10.5.0.2:6443", "--role", "worker")
	if code != 1 || !strings.Contains(said.Message, "certs.os is required") {
		t.Errorf("exit code %d, %+v", code, said)
	}
}

func TestValidate(t *testing.T) {
	file := produce(t, "gen-secrets")
	good := map[string]string{"controlplane": genConfigFile(t, file, "controlplane"), "worker": genConfigFile(t, file, "worker")}

	for role, file := range good {
		var said validation

		if code := oracle(t, &said, "validate", "--file", file); code != 0 || !said.Valid {
			t.Errorf("%s as generated: exit code %d, %+v", role, code, said)
		}
	}

	text, err := os.ReadFile(good["worker"])
	if err != nil {
		t.Fatal(err)
	}

	worker := string(text)

	for name, test := range map[string]struct{ text, want string }{
		"no install disk":   {strings.Replace(worker, "disk: /dev/sda", `disk: ""`, 1), "either install disk or diskSelector should be defined"},
		"no endpoint":       {strings.Replace(worker, "endpoint: https://10.5.0.2:6443", `endpoint: ""`, 1), "invalid controlplane endpoint"},
		"unknown field":     {strings.Replace(worker, "    type: worker", "    type: worker\n    flavour: sweet", 1), "unknown keys found"},
		"unknown kind":      {worker + "---\napiVersion: v1alpha1\nkind: NoSuchConfig\n", "not registered"},
		"only another kind": {"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n", "no v1alpha1 document"},
		"not YAML":          {"{", "yaml"},
		"empty":             {"", "config not found"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.text == worker {
				t.Fatal("the test changed nothing")
			}

			var said validation

			code := oracle(t, &said, "validate", "--file", write(t, "config.yaml", []byte(test.text)))
			if code != 1 || said.Valid || !strings.Contains(said.Error, test.want) {
				t.Errorf("exit code %d, %+v, want %q", code, said, test.want)
			}
		})
	}
}

func write(t *testing.T, name string, text []byte) string {
	t.Helper()

	file := filepath.Join(t.TempDir(), name)

	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	return file
}
