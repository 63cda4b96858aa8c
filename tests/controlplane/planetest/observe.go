package planetest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Kubectl runs kubectl as administrator and fails the test when kubectl fails.
func (p *Plane) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return p.must(t, "", p.admin(args))
}

// KubectlInput is Kubectl with a text on standard input.
func (p *Plane) KubectlInput(t *testing.T, input string, args ...string) string {
	t.Helper()
	return p.must(t, input, p.admin(args))
}

// KubectlOutcome gives what kubectl printed and whether it succeeded; an impersonated person is one of args.
func (p *Plane) KubectlOutcome(t *testing.T, input string, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	return p.kubectl(t, input, p.admin(args))
}

// KubectlAs runs kubectl with no kubeconfig, only with the credentials that args name.
func (p *Plane) KubectlAs(t *testing.T, args ...string) string {
	t.Helper()
	return p.must(t, "", append([]string{"--server=" + p.URL, "--certificate-authority=" + p.CAFile}, args...))
}

func (p *Plane) admin(args []string) []string {
	return append([]string{"--kubeconfig=" + p.Kubeconfig}, args...)
}

func (p *Plane) must(t *testing.T, input string, args []string) string {
	t.Helper()
	stdout, stderr, ok := p.kubectl(t, input, args)
	if !ok {
		t.Fatalf("kubectl %s: %s", strings.Join(args, " "), stderr)
	}
	return stdout
}

func (p *Plane) kubectl(t *testing.T, input string, args []string) (string, string, bool) {
	t.Helper()
	cmd := exec.Command(filepath.Join(p.Bin, "kubectl"), args...)
	cmd.Env = []string{"HOME=" + p.Dir, "KUBECONFIG=/dev/null", "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String(), stderr.String(), err == nil
}

// AuditEvent is what tests look at in a line of the audit log.
type AuditEvent struct {
	Verb, Stage string
	User        struct{ Username string }
	ObjectRef   struct{ Resource, Name string }
	Annotations map[string]string
}

// AuditEvents reads the audit log.
func (p *Plane) AuditEvents(t *testing.T) []AuditEvent {
	t.Helper()
	log, err := os.Open(p.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var all []AuditEvent
	for lines := json.NewDecoder(log); lines.More(); {
		var event AuditEvent
		if err := lines.Decode(&event); err != nil {
			t.Fatal(err)
		}
		all = append(all, event)
	}
	return all
}

// ProcessesOf finds the live processes whose command line names the folder.
func ProcessesOf(t *testing.T, dir string) map[int]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, file := range files {
		command, err := os.ReadFile(file) // empty for a zombie
		if err != nil || !strings.Contains(string(command), dir) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		found[pid] = string(command)
	}
	return found
}
