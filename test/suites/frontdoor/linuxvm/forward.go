package linuxvm

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
)

// front is an address before the servers of a control plane. Connections end when what they lead to is not behind it any more.
type front struct {
	listener net.Listener

	mu     sync.Mutex
	behind []string
	// open are the connections of both sides, with what they lead to.
	open map[net.Conn]string
}

// newFront listens at an address until close.
func newFront(ctx context.Context, address string) (*front, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen in front of the control plane: %w", err)
	}
	f := &front{listener: listener, open: map[net.Conn]string{}}
	go f.accept()
	return f, nil
}

// leadTo changes what is behind the address: the first one that answers is taken.
func (f *front) leadTo(behind ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind = behind
	for connection, to := range f.open {
		if !slices.Contains(behind, to) {
			_ = connection.Close() // that is the end of it
		}
	}
}

func (f *front) close() {
	_ = f.listener.Close() // it only ends accept
	f.leadTo()
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
	server, to := f.dial()
	if server == nil {
		_ = client.Close() // nobody is there
		return
	}
	defer f.keep(client, to)()
	defer f.keep(server, to)()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{server, client}, {client, server}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // either end may break it
			done <- struct{}{}
		}()
	}
	<-done
}

func (f *front) dial() (server net.Conn, to string) {
	f.mu.Lock()
	behind := f.behind
	f.mu.Unlock()
	for _, to := range behind {
		if server, err := net.Dial("tcp", to); err == nil {
			return server, to
		}
	}
	return nil, ""
}

func (f *front) keep(connection net.Conn, to string) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[connection] = to
	return func() {
		_ = connection.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, connection)
	}
}
