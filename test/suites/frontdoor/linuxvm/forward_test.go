package linuxvm

import (
	"io"
	"net"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// An address leads to the first one that answers, and a connection ends when what it leads to is not behind it any more.
func TestFront(t *testing.T) {
	listen := func(greeting string) net.Listener {
		listener := expect.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = connection.Write([]byte(greeting)) // the test reads it
			}
		}()
		return listener
	}
	one, two := listen("1"), listen("2")
	t.Cleanup(func() { _ = two.Close() })
	f := expect.Got(newFront(t.Context(), "127.0.0.1:0"))(t)
	t.Cleanup(f.close)
	dial := func() (net.Conn, string) {
		connection := expect.Got(net.Dial("tcp", f.listener.Addr().String()))(t)
		t.Cleanup(func() { _ = connection.Close() })
		said := make([]byte, 1)
		count, _ := io.ReadFull(connection, said) // an end without a word is an answer, too
		return connection, string(said[:count])
	}
	_, said := dial()
	expect.Same(t, "answer with nothing behind it", "", said)
	f.leadTo(one.Addr().String(), two.Addr().String())
	open, said := dial()
	expect.Same(t, "answer of both", "1", said)
	expect.OK(t, one.Close())
	_, said = dial()
	expect.Same(t, "answer once the first is gone", "2", said)
	f.leadTo(two.Addr().String())
	_, err := open.Read(make([]byte, 1))
	if err == nil {
		t.Error("a connection to what is not behind the address goes on")
	}
}
