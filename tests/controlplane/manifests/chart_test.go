package manifests

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

// What only Helm writes, or only kustomize can: the labels of a release, and the namespace, which Helm cannot own because
// it keeps the release there.
func comparable(all map[string]object) map[string]object {
	delete(all, "Namespace ichor-system")
	for _, o := range all {
		metadata := o["metadata"].(map[string]any)
		labels := metadata["labels"].(map[string]any)
		for _, label := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"} {
			delete(labels, label)
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "helm.sh/resource-policy")
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
	}
	return all
}

func TestChartAndKustomizeRenderTheSameObjects(t *testing.T) {
	kubectl := filepath.Join(filepath.Dir(planetest.Program(t)), "kubectl")
	kustomize := func(folders ...string) string {
		var stream []string
		for _, folder := range folders {
			stream = append(stream, run(t, kubectl, "kustomize", filepath.Join(planetest.Root(), "manifests", folder)))
		}
		return strings.Join(stream, "\n---\n")
	}
	for _, test := range []struct {
		name    string
		folders []string
		values  []string
	}{
		{"default", []string{"base"}, nil},
		{"cert-manager", []string{"overlays/cert-manager"}, []string{"--set=certManager.enabled=true"}},
		{"monitoring", []string{"base", "monitoring"}, []string{"--set=monitoring.serviceMonitor.enabled=true",
			"--set=monitoring.prometheusRule.enabled=true", "--set=monitoring.dashboard.enabled=true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			plain := comparable(objects(t, kustomize(test.folders...)))
			chart := comparable(objects(t, rendered(t, test.values...)))
			names := maps.Clone(plain)
			maps.Copy(names, chart)
			for name := range names {
				if !reflect.DeepEqual(plain[name], chart[name]) {
					t.Errorf("%s differs.\nkustomize: %s\nchart:     %s", name, text(plain[name]), text(chart[name]))
				}
			}
			if len(names) < 30 {
				t.Errorf("only %d objects", len(names))
			}
		})
	}
}

func TestChartInAnotherNamespace(t *testing.T) {
	out, errors, ok := helm(t, "template", "ichor", chart(), "-n", "talos")
	if !ok {
		t.Fatal(errors)
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "ichor-system") {
			t.Errorf("names another namespace: %s", line)
		}
	}
}

// Each value does what its comment says; each wrong one is refused before anything is installed.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		values string
		want   string // in the rendered text
		absent string // not there
	}{
		{"image.repository=r/ichor,image.tag=v9", "image: r/ichor:v9\n", ""},
		{"image.digest=sha256:" + strings.Repeat("0", 64), "image: ichor@sha256:000", ""},
		{"image.pullPolicy=Always", "imagePullPolicy: Always", ""},
		{"imagePullSecrets={a}", "imagePullSecrets:\n        - name: a", ""},
		{"replicas=3", "replicas: 3", ""},
		{"log.format=text,log.filter=debug", "- --log-format=text\n            - --log-filter=debug", ""},
		{"tracing.endpoint=http://otel:4317", "- --otlp-endpoint=http://otel:4317", ""},
		{"extraArgs={--reclaim-history=30d}", "- --reclaim-history=30d", ""},
		{"crds.install=false", "", "kind: CustomResourceDefinition"},
		{"crds.keep=false", "kind: CustomResourceDefinition", "helm.sh/resource-policy"},
		{"roles.create=false", "name: ichor-controller", "ichor-operator\n"},
		{"certManager.enabled=true,certManager.issuerRef.name=own,certManager.issuerRef.kind=ClusterIssuer",
			"  issuerRef:\n    kind: ClusterIssuer\n    name: own", "kind: Issuer"},
		{"clientCA.configMap=ca", "- --client-ca-file=/etc/ichor/client-ca/ca.crt", ""},
		{"podDisruptionBudget.enabled=false", "", "kind: PodDisruptionBudget"},
		{"networkPolicy.enabled=false", "", "kind: NetworkPolicy"},
		{"networkPolicy.egressPorts={7443}", "- {port: 7443, protocol: TCP}", "port: 6443"},
		{"monitoring.serviceMonitor.enabled=true,monitoring.serviceMonitor.interval=5s,monitoring.serviceMonitor.labels.a=b", "interval: 5s", ""},
		{"monitoring.prometheusRule.enabled=true,monitoring.prometheusRule.labels.a=b", "    a: b\n", ""},
		{"monitoring.dashboard.enabled=true,monitoring.dashboard.labels.a=b", "    a: b\n", ""},
		{"resources.limits.memory=1Gi", "memory: 1Gi", ""},
		{"priorityClassName=", "", "priorityClassName"},
		{"podAnnotations.a=b", "annotations:\n        a: b", ""},
		{"podLabels.a=b", "        a: b", ""},
		{"nodeSelector.a=b", "nodeSelector:\n        a: b", ""},
		{"tolerations[0].key=a", "tolerations:\n        - key: a", ""},
		{"affinity.nodeAffinity.a=b", "affinity:\n        nodeAffinity:", ""},
		{"topologySpreadConstraints[0].topologyKey=zone", "- topologyKey: zone", "kubernetes.io/hostname"},
	} {
		t.Run(test.values, func(t *testing.T) {
			out := rendered(t, "--set="+test.values)
			if !strings.Contains(out, test.want) {
				t.Errorf("%q is missing", test.want)
			}
			if test.absent != "" && strings.Contains(out, test.absent) {
				t.Errorf("%q is there", test.absent)
			}
		})
	}
	for _, wrong := range []string{
		"replica=3", "replicas=0", "replicas=two", "tracing.endpoint=otel", "image.pullPolicy=Sometimes", "image.digest=sha256:1", "extraArgs={debug}",
		"certManager.issuer=x", "certManager.issuerRef.kind=Issuer", "networkPolicy.egressPorts={0}", "monitoring.alerts=true", "log.format=xml",
	} {
		t.Run("refused: "+wrong, func(t *testing.T) {
			if _, refusal, ok := helm(t, "template", "ichor", chart(), "--set="+wrong); ok || !strings.Contains(refusal, "schema") {
				t.Errorf("rendered %v: %s", ok, refusal)
			}
		})
	}
}

// docs/install.md lists every value with its default.
func TestValuesAreDocumented(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal(file(t, "manifests/chart/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	var want []string
	var walk func(path string, value any)
	walk = func(path string, value any) {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 && path != "resources" {
			for key, value := range inner {
				walk(strings.TrimPrefix(path+"."+key, "."), value)
			}
			return
		}
		shown, _ := json.Marshal(value)
		if path == "resources" {
			shown = []byte("in values.yaml")
		}
		want = append(want, fmt.Sprintf("`%s` | %s", path, strings.Trim(string(shown), `"`)))
	}
	walk("", values)
	slices.Sort(want)
	var found []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-zA-Z._]+`) \\| ([^|]*?) \\| .+ \\|$").FindAllStringSubmatch(string(file(t, "docs/install.md")), -1) {
		found = append(found, row[1]+" | "+strings.Trim(row[2], "`"))
	}
	slices.Sort(found)
	if !slices.Equal(want, found) {
		t.Errorf("docs/install.md lists\n%s\nvalues.yaml has\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}

// One version: the program's, the chart's and the image's of the base.
func TestVersions(t *testing.T) {
	version := regexp.MustCompile(`(?m)^version = "(.+)"$`).FindStringSubmatch(string(file(t, "Cargo.toml")))[1]
	for name, want := range map[string]string{
		"manifests/chart/Chart.yaml":     fmt.Sprintf("\nversion: %s\nappVersion: v%s\n", version, version),
		"manifests/base/deployment.yaml": fmt.Sprintf("image: ichor:v%s ", version),
	} {
		if !strings.Contains(string(file(t, name)), want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
}

// Every flag that the chart gives is one of the program's, whose reference is generated from it.
func TestFlagsExist(t *testing.T) {
	reference := string(file(t, "docs/cli.md"))
	all := rendered(t, "--set=certManager.enabled=true,clientCA.configMap=a,tracing.endpoint=http://a", "--show-only=templates/controller.yaml")
	flags := regexp.MustCompile(`- (--[a-z-]+)=`).FindAllStringSubmatch(all, -1)
	if len(flags) < 6 {
		t.Errorf("only %v", flags)
	}
	for _, flag := range flags {
		if !strings.Contains(reference, "      "+flag[1]+" <") {
			t.Errorf("docs/cli.md has no %s", flag[1])
		}
	}
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(planetest.Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func text(o object) string {
	if o == nil {
		return "not there"
	}
	shown, _ := yaml.Marshal(o)
	return "\n" + string(shown)
}
