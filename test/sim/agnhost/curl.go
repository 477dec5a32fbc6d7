package agnhost

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

// The exit codes of curl (curl.se, libcurl-errors).
const (
	curlBadOption  = 2
	curlBadURL     = 3
	curlNoHost     = 6
	curlNoConnect  = 7
	curlTimedOut   = 28
	curlConnecting = 300 * time.Second // its own limit
)

// curl asks for a page over HTTP: what listens in the lab answers every question.
func (c *Container) curl(ctx context.Context, args []string) int {
	flags := pflag.NewFlagSet("curl", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	silent, showError := flags.BoolP("silent", "s", false, ""), flags.BoolP("show-error", "S", false, "")
	connecting, whole := flags.Float64("connect-timeout", 0, ""), flags.Float64P("max-time", "m", 0, "")
	for name, short := range map[string]string{"noproxy": "", "output": "o"} {
		flags.StringP(name, short, "", "")
	}
	flags.BoolP("fail", "f", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		c.fail("curl: option: the lab's curl does not know %v", args)
		return curlBadOption
	}
	tell := func(code int, format string, args ...any) int {
		if !*silent || *showError {
			c.fail("curl: ("+strconv.Itoa(code)+") "+format, args...)
		}
		return code
	}
	target, err := url.Parse(flags.Arg(0))
	if err != nil || target.Hostname() == "" {
		return tell(curlBadURL, "URL using bad/illegal format or missing URL")
	}
	port, err := strconv.ParseUint(cmp.Or(target.Port(), map[string]string{"https": "443"}[target.Scheme], "80"), 10, 16)
	if err != nil {
		return tell(curlBadURL, "URL using bad/illegal format or missing URL")
	}
	limit := curlConnecting
	for _, given := range []float64{*connecting, *whole} {
		if given > 0 {
			limit = min(limit, time.Duration(given*float64(time.Second)))
		}
	}
	address, err := c.address(ctx, target.Hostname())
	if err != nil {
		return tell(curlNoHost, "Could not resolve host: %s", target.Hostname())
	}
	err = c.Cluster.Dial(ctx, c.Place, netip.AddrPortFrom(address, uint16(port)))
	switch {
	case err == nil:
		return 0
	case errors.Is(err, traffic.ErrRefused):
		return tell(curlNoConnect, "Failed to connect to %s port %d after 2042 ms: Could not connect to server",
			target.Hostname(), port)
	}
	if c.Clock.Sleep(ctx, limit) != nil {
		return curlTimedOut
	}
	return tell(curlTimedOut, "Connection timed out after %d milliseconds", limit.Milliseconds())
}
