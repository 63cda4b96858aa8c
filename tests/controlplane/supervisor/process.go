package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a child with its log file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed after the child was reaped
	err  error         // how it ended; valid after done
}

// startProcess must be called from the main thread (see Main). A child that ends is sent to exited.
func startProcess(dir, program string, args []string, exited chan<- *process) (*process, error) {
	name := filepath.Base(program)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	p.cmd = exec.Command(program, args...)
	p.cmd.Dir = dir
	// Nothing of the caller's environment: no proxy, no KUBECONFIG, no Go settings.
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:   true,            // Ctrl-C reaches the supervisor only, which stops the children in order
		Pdeathsig: syscall.SIGKILL, // none outlives a killed supervisor
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
		exited <- p
	}()
	return p, nil
}

// stop asks the child to end and kills it after the timeout.
func (p *process) stop(timeout time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not end within %s of SIGTERM and was killed; its log: %s", p.name, timeout, p.log)
	}
}

// failure tells how the child ended, with the end of its log.
func (p *process) failure() error {
	<-p.done
	text, _ := os.ReadFile(p.log)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	tail := bytes.Join(lines[max(0, len(lines)-10):], []byte("\n"))
	return fmt.Errorf("%s ended by itself (%v); end of %s:\n%s", p.name, p.err, p.log, tail)
}
