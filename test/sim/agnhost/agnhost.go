// Package agnhost plays the image of the Kubernetes project for tests of networks, as far as pods of the lab need it: its
// programs netexec, connect and pause (kubernetes v1.36.3, test/images/agnhost), and what exec asks of a container.
package agnhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

// version is of test/images/agnhost/VERSION.
const version = "2.63.0"

// Clock is the node's.
type Clock interface {
	Sleep(ctx context.Context, d time.Duration) error
}

// Container is a container of the image.
type Container struct {
	Cluster *traffic.Cluster
	Place   traffic.Place
	Clock   Clock
	// HostProcess containers are processes of the node.
	HostProcess bool
	Hostname    string
	Stdout      io.Writer
	Stderr      io.Writer
	// Started is called when a program runs.
	Started func()
}

// StartError is a program that the runtime does not start.
type StartError struct{ Why string }

func (u StartError) Error() string { return u.Why }

// Command is what the runtime starts for the command and the args of a container: the image has an entry point and arguments.
func Command(command, args []string) []string {
	switch {
	case len(command) > 0:
		return append(append([]string{}, command...), args...)
	case len(args) > 0:
		return append([]string{"/agnhost"}, args...)
	}
	return []string{"/agnhost", "pause"}
}

// Run runs a command until it ends or ctx does. The error is StartError.
func (c *Container) Run(ctx context.Context, argv []string) (code int, err error) {
	if len(argv) == 0 {
		return 0, StartError{"no command specified"}
	}
	switch name := program(argv[0]); {
	case c.Place.Host.Windows && strings.TrimSuffix(name, ".exe") == "cmd":
		if len(argv) < 3 || !strings.EqualFold(argv[1], "/c") {
			return 0, StartError{"the lab's cmd.exe plays /C COMMAND alone"}
		}
		c.Started()
		return c.cmd(ctx, argv[2:]), nil
	case c.HostProcess: // hcsshim v0.15.0, internal/jobcontainers/jobcontainer.go: it starts "cmd /c" with the command line
		c.Started()
		return c.cmd(ctx, argv), nil
	case name == "agnhost":
		c.Started()
		return c.agnhost(ctx, argv[1:]), nil
	}
	if code, is := c.tool(ctx, argv); is {
		return code, nil
	}
	return 0, c.unstartable(argv)
}

// tool is a program that is not the image's.
func (c *Container) tool(ctx context.Context, argv []string) (code int, is bool) {
	name := program(argv[0])
	if c.Place.Host.Windows {
		name = strings.TrimSuffix(name, ".exe")
	}
	switch name {
	case "hostname":
		c.Started()
		fmt.Fprintln(c.Stdout, c.Hostname)
	case "curl":
		c.Started()
		code = c.curl(ctx, argv[1:])
	case "ver":
		if !c.Place.Host.Windows {
			return 0, false
		}
		c.Started()
		fmt.Fprintln(c.Stdout, "\nMicrosoft Windows")
	default:
		return 0, false
	}
	return code, true
}

func program(name string) string {
	return path.Base(strings.ReplaceAll(strings.ToLower(name), `\`, "/"))
}

// unstartable has the words of the platform's CreateProcess, or of runc.
func (c *Container) unstartable(argv []string) error {
	if c.Place.Host.Windows {
		return StartError{fmt.Sprintf("hcs::System::CreateProcess %s: The system cannot find the file specified.: unknown",
			strings.Join(argv, " "))}
	}
	return StartError{fmt.Sprintf("exec: %q: executable file not found in $PATH: unknown", argv[0])}
}

// cmd is cmd.exe /C with commands that && joins. In a HostProcess container the image's file, which has no extension, has to be
// copied before cmd starts it (kubernetes v1.36.3, test/e2e/windows/host_process.go: "Figure out why we need to copy agnhost as
// agnhost.exe").
func (c *Container) cmd(ctx context.Context, args []string) (code int) {
	copied := map[string]bool{}
	for part := range strings.SplitSeq(strings.Join(args, " "), "&&") {
		argv := strings.Fields(part)
		if len(argv) == 0 {
			return 1
		}
		name := program(argv[0])
		tool, is := c.tool(ctx, argv)
		switch {
		case is:
			code = tool
		case name == "copy":
			copied[program(argv[len(argv)-1])] = true
			fmt.Fprintln(c.Stdout, "        1 file(s) copied.")
		case copied[name] || copied[name+".exe"], name == "agnhost" && !c.HostProcess:
			code = c.agnhost(ctx, argv[1:])
		default:
			code = c.fail("'%s' is not recognized as an internal or external command,\noperable program or batch file.", argv[0])
		}
		if code != 0 {
			return code
		}
	}
	return 0
}

func (c *Container) agnhost(ctx context.Context, args []string) int {
	if len(args) == 0 {
		return c.fail("Error: a command is needed")
	}
	switch args[0] {
	case "connect":
		return c.connect(ctx, args[1:])
	case "netexec":
		return c.netexec(ctx, args[1:])
	case "pause":
		fmt.Fprintln(c.Stdout, "Paused")
		<-ctx.Done()
		return 2
	case "--version", "-v":
		fmt.Fprintln(c.Stdout, "app version "+version)
		return 0
	}
	return c.fail("Error: unknown command %q for \"app\"", args[0])
}

func (c *Container) fail(format string, args ...any) int {
	fmt.Fprintf(c.Stderr, format+"\n", args...)
	return 1
}

// netexec is its HTTP server, as far as others see that it listens.
func (c *Container) netexec(ctx context.Context, args []string) int {
	flags := pflag.NewFlagSet("netexec", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	port, _ := flags.Uint16("http-port", 8080, ""), flags.Int("udp-port", 8081, "")
	if err := flags.Parse(args); err != nil {
		return c.fail("Error: %v", err)
	}
	end, err := c.Cluster.Listen(c.Place, *port, "")
	if err != nil {
		return c.fail("%v", err)
	}
	defer end()
	fmt.Fprintf(c.Stderr, "Started HTTP server on port %d\n", *port)
	<-ctx.Done()
	return 0
}

// connect is connect/connect.go: it prints the kind of what went wrong, and ends with 1.
func (c *Container) connect(ctx context.Context, args []string) int {
	flags := pflag.NewFlagSet("connect", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	timeout, protocol := flags.Duration("timeout", 0, ""), flags.String("protocol", "tcp", "")
	if err := flags.Parse(args); err != nil {
		return c.fail("Error: %v", err)
	}
	if flags.NArg() != 1 {
		return c.fail("Error: accepts 1 arg(s), received %d", flags.NArg())
	}
	if *protocol != "tcp" && *protocol != "" {
		return c.fail("Unsupported protocol\n%s", *protocol)
	}
	target := flags.Arg(0)
	host, portText, err := net.SplitHostPort(target)
	if err != nil {
		return c.fail("UNKNOWN: %v", err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return c.fail("DNS: lookup tcp/%s: unknown port", portText)
	}
	address, err := c.address(ctx, host)
	if err != nil {
		return c.fail("DNS: %s", c.lookedUp(host, err))
	}
	return c.dial(ctx, netip.AddrPortFrom(address, uint16(port)), *timeout)
}

func (c *Container) dial(ctx context.Context, to netip.AddrPort, timeout time.Duration) int {
	err := c.Cluster.Dial(ctx, c.Place, to)
	windows := c.Place.Host.Windows
	switch {
	case err == nil:
		return 0
	case errors.Is(err, traffic.ErrRefused) && windows:
		// connect.go compares with syscall.ECONNREFUSED, which on Windows is a number of Go's own and not WSAECONNREFUSED.
		return c.fail("OTHER: dial tcp %s: connectex: No connection could be made because the target machine actively refused it.", to)
	case errors.Is(err, traffic.ErrRefused):
		return c.fail("REFUSED")
	case errors.Is(err, traffic.ErrSilence):
		if c.Clock.Sleep(ctx, cmp.Or(timeout, ownTimeout(windows))) != nil {
			return 2 // it was ended by then
		}
		return c.fail("TIMEOUT")
	}
	return c.fail("OTHER: dial tcp %s: %v", to, err)
}

// ownTimeout is the system's: net.ipv4.tcp_syn_retries of 6, or Windows' two repetitions.
func ownTimeout(windows bool) time.Duration {
	if windows {
		return 21 * time.Second
	}
	return 127 * time.Second
}

// waitForDNS is how long a resolver waits: Go's own on Linux asks twice for 5 s for each suffix, Windows' asks for 11 s in all.
const waitForDNS = 10 * time.Second

// address is that of a host. It takes the resolver's time to find that nobody answers.
func (c *Container) address(ctx context.Context, host string) (netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return address, nil
	}
	address, err := c.Cluster.Resolve(ctx, c.Place, host)
	if errors.Is(err, traffic.ErrSilence) {
		names := 1
		if !c.Place.Host.Windows {
			names += len(c.Place.Search)
		}
		if c.Clock.Sleep(ctx, time.Duration(names)*waitForDNS) != nil {
			return netip.Addr{}, ctx.Err()
		}
	}
	return address, err
}

// lookedUp is the error of net.ResolveTCPAddr: on Linux Go's own resolver says it, on Windows that of the system.
func (c *Container) lookedUp(host string, err error) string {
	server := ""
	if !c.Place.Host.Windows && c.Place.Nameserver.IsValid() {
		server = " on " + netip.AddrPortFrom(c.Place.Nameserver, 53).String()
	}
	why := err.Error()
	switch {
	case errors.Is(err, traffic.ErrNoSuchHost):
	case c.Place.Host.Windows:
		why = "getaddrinfow: This is usually a temporary error during hostname resolution and means that the local server did not " +
			"receive a response from an authoritative server."
	case errors.Is(err, traffic.ErrRefused):
		why = "read udp: read: connection refused"
	default:
		why = "read udp: i/o timeout"
	}
	return "lookup " + host + server + ": " + why
}
