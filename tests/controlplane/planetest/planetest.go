// Package planetest starts control planes in Go tests: by the command and what it prints, as its other users do.
package planetest

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Plane is a started control plane.
type Plane struct {
	URL, Kubeconfig, CAFile, AuditLog, Bin string

	Dir     string         `json:"-"`
	Command *exec.Cmd      `json:"-"` // the supervisor
	Stdin   io.WriteCloser `json:"-"`
	Stderr  *bytes.Buffer  `json:"-"`
}

// Root is the project's folder.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

var build = sync.OnceValues(func() ([]byte, error) {
	return exec.Command(filepath.Join(Root(), "tests/controlplane/build.sh")).CombinedOutput()
})

// Program is the path of the command controlplane, built where it is not yet.
func Program(t *testing.T) string {
	t.Helper()
	if output, err := build(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, output)
	}
	return filepath.Join(Root(), "target/controlplane/current/controlplane")
}

// Start starts a control plane in a folder of its own; it is killed at the end of the test where it was not stopped.
func Start(t *testing.T, args ...string) *Plane {
	t.Helper()
	program := Program(t)
	p := &Plane{Dir: filepath.Join(t.TempDir(), "plane"), Stderr: &bytes.Buffer{}}
	p.Command = exec.Command(program, append([]string{"start", "--dir", p.Dir}, args...)...)
	p.Command.Stderr = p.Stderr
	stdin, err := p.Command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stdin = stdin
	stdout, err := p.Command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Command.Process.Kill() // fails when it was stopped
		p.AssertGone(t)              // before its folder is removed
	})
	if err := json.NewDecoder(stdout).Decode(p); err != nil {
		_ = p.Command.Wait()
		t.Fatalf("no description of the control plane: %v; its errors: %s", err, p.Stderr)
	}
	return p
}

// Stop asks it to end, and checks that it does so well and leaves nothing running.
func (p *Plane) Stop(t *testing.T) {
	t.Helper()
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := p.Command.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v; its errors: %s", err, p.Stderr)
	}
	p.AssertGone(t)
}

// AssertGone waits until no process of the control plane is left.
func (p *Plane) AssertGone(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for left := ProcessesOf(t, p.Dir); len(left) > 0; left = ProcessesOf(t, p.Dir) {
		if time.Now().After(deadline) {
			t.Fatalf("still running: %v", left)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
