package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

var (
	errCut     = errors.New("a socket operation was attempted to an unreachable network")
	errBlocked = errors.New("an attempt was made to access a socket in a way forbidden by its access permissions")
)

// dialer is how a program of the guest makes connections: nil is the usual way.
func (f Faults) dialer(program string) func(context.Context, string, string) (net.Conn, error) {
	switch {
	case f.Unreachable:
		return refuse(errCut)
	case slices.Contains(f.Blocked, program):
		return refuse(errBlocked)
	case f.Redirect != "":
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, f.Redirect)
		}
	}
	return nil
}

func refuse(reason error) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, _, address string) (net.Conn, error) {
		return nil, fmt.Errorf("dial tcp %s: connectex: %w", address, reason)
	}
}

func connect(
	m *windows.Machine, config *rest.Config, dial func(context.Context, string, string) (net.Conn, error),
) (kubernetes.Interface, error) {
	return connectFor(m, config, dial, 10*time.Second)
}

// connectFor makes a client that has the network of the guest, and takes certificates for valid by its time. One that watches
// has no time limit.
func connectFor(
	m *windows.Machine, config *rest.Config, dial func(context.Context, string, string) (net.Conn, error), limit time.Duration,
) (kubernetes.Interface, error) {
	secured, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	if secured != nil {
		secured.Time = m.Time
	}
	transport, err := rest.HTTPWrappersForConfig(config,
		&http.Transport{DialContext: dial, TLSClientConfig: secured, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true})
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfigAndClient(config, &http.Client{Transport: transport, Timeout: limit})
}
