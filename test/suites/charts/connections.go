package charts

import (
	"net"
	"sync"
)

// connections is a listener of connections that somebody else has accepted.
type connections struct {
	at     net.Addr
	handed chan net.Conn
	closed chan struct{}
	close  sync.Once
}

func newConnections(address net.Addr) *connections {
	return &connections{at: address, handed: make(chan net.Conn), closed: make(chan struct{})}
}

// hand says whether the connection was taken; none is once the listener is closed.
func (c *connections) hand(one net.Conn) bool {
	select {
	case c.handed <- one:
		return true
	case <-c.closed:
		return false
	}
}

// Accept returns what was handed over.
func (c *connections) Accept() (net.Conn, error) {
	select {
	case one := <-c.handed:
		return one, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (c *connections) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// Addr is where clients have connected to.
func (c *connections) Addr() net.Addr { return c.at }
