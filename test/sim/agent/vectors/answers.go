package vectors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// scripted is the world's program for a call, or nil.
func (s *Stage) scripted(call *windows.Call) windows.Program {
	if s.OnCall != nil {
		s.OnCall(call)
	}
	for _, one := range s.World.Commands {
		matches := len(call.Argv) >= len(one.Argv) && slices.Equal(call.Argv[:len(one.Argv)], one.Argv)
		if one.Times != nil && *one.Times == 0 || !matches {
			continue
		}
		if one.Times != nil {
			*one.Times--
		}
		return one.run
	}
	return nil
}

func (c *Command) run(ctx context.Context, call *windows.Call) int {
	for path, text := range c.Writes {
		if err := call.Machine.Put(path, []byte(text)); err != nil {
			return call.Fail("%v", err)
		}
	}
	if c.Argv[0] == "shutdown.exe" && c.Exit != 5 {
		call.Machine.AskReboot() // another has asked for it
	}
	_, _ = fmt.Fprint(call.Stdout, c.Out)
	_, _ = fmt.Fprint(call.Stderr, c.Err)
	seconds := c.Seconds
	if c.Hangs {
		seconds = 1 << 30
	}
	if err := call.Machine.Clock.Sleep(ctx, time.Duration(seconds)*time.Second); err != nil {
		return -1
	}
	return c.Exit
}

// HTTPS is part of windows.Network.
func (s *Stage) HTTPS(_ context.Context, server windows.Server) (bool, string) {
	answer, _ := atServer(s.World.TLS, server)
	return s.answers(answer), ""
}

// Date is part of windows.Network: the machine's own date is right here, the server's is ahead or behind.
func (s *Stage) Date(_ context.Context, server windows.Server) time.Time {
	clock, known := atServer(s.World.Clocks, server)
	if !known || !server.Insecure {
		return time.Time{}
	}
	if clock.Until > 0 && s.Clock.Now().Sub(epoch) >= time.Duration(clock.Until)*time.Second {
		clock.Ahead = 0
	}
	// Half a second more: the machine looks at its own date a moment later, and the whole seconds stay what they are.
	more := 500 * time.Millisecond
	if clock.Ahead < 0 {
		more = -more
	}
	return s.Machine.Time().Add(-time.Duration(clock.Ahead)*time.Second - more)
}

// atServer is what a world has for a server. Names of hosts have no case.
func atServer[V any](servers map[string]V, server windows.Server) (found V, ok bool) {
	for name, one := range servers {
		if strings.EqualFold(name, fmt.Sprintf("%s:%d", server.Host, server.Port)) {
			return one, true
		}
	}
	return found, false
}

// answers: true, false, or the second of the clock from which on it does.
func (s *Stage) answers(value any) bool {
	if from, ok := value.(float64); ok {
		return s.Clock.Now().Sub(epoch) >= time.Duration(from)*time.Second
	}
	yes, _ := value.(bool)
	return yes
}

// Web is part of windows.Network.
func (s *Stage) Web(_ context.Context, method, url string, _ []byte) ([]byte, error) {
	if method == "POST" && strings.HasSuffix(url, "/provisioning/health") {
		return nil, nil
	}
	return nil, errors.New("no such page")
}
