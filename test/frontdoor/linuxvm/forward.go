package linuxvm

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// front is an address before the API servers of a control plane. Connections end when nothing is behind it.
type front struct {
	listener net.Listener

	mu     sync.Mutex
	behind string
	open   map[net.Conn]bool
}

// newFront listens at an address until close.
func newFront(ctx context.Context, address string) (*front, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen in front of the control plane: %w", err)
	}
	f := &front{listener: listener, open: map[net.Conn]bool{}}
	go f.accept()
	return f, nil
}

// leadTo changes what is behind the address.
func (f *front) leadTo(behind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.behind == behind {
		return
	}
	f.behind = behind
	for connection := range f.open {
		_ = connection.Close() // that is the end of it
	}
}

func (f *front) close() {
	_ = f.listener.Close() // it only ends accept
	f.leadTo("nothing")
}

func (f *front) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.pass(client)
	}
}

func (f *front) pass(client net.Conn) {
	defer f.keep(client)()
	f.mu.Lock()
	behind := f.behind
	f.mu.Unlock()
	server, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer f.keep(server)()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{server, client}, {client, server}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // either end may break it
			done <- struct{}{}
		}()
	}
	<-done
}

func (f *front) keep(connection net.Conn) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[connection] = true
	return func() {
		_ = connection.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, connection)
	}
}
