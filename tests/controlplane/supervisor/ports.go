package supervisor

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ports are loopback ports no other process can be given while they are reserved: each is bound, but not listened on,
// with SO_REUSEPORT, and only the child that sets SO_REUSEPORT too (by flag) can listen on it.
type ports struct {
	numbers []int
	sockets []int
}

func reservePorts(count int) (*ports, error) {
	p := &ports{}
	for range count {
		if err := p.reserve(); err != nil {
			p.release()
			return nil, fmt.Errorf("reserve a port of 127.0.0.1: %w", err)
		}
	}
	return p, nil
}

func (p *ports) reserve() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p.sockets = append(p.sockets, socket)
	// The port is chosen before SO_REUSEPORT is set: the kernel would share one that another reserved this way.
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return err
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		return err
	}
	inet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return errors.New("the kernel answered with another address family")
	}
	p.numbers = append(p.numbers, inet.Port)
	return nil
}

func (p *ports) release() {
	for _, socket := range p.sockets {
		_ = unix.Close(socket)
	}
	p.sockets = nil
}
