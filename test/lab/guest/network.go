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

	"github.com/capwin/cluster-api-provider-windows/test/lab/cni"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
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

// connect makes a client that has the network of the guest, and takes certificates for valid by its time.
func connect(
	m *windows.Machine, config *rest.Config, dial func(context.Context, string, string) (net.Conn, error),
) (kubernetes.Interface, error) {
	secured, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	if secured != nil {
		secured.Time = m.Time
	}
	transport, err := rest.HTTPWrappersForConfig(config,
		&http.Transport{DialContext: dial, TLSClientConfig: secured, IdleConnTimeout: time.Minute})
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfigAndClient(config, &http.Client{Transport: transport, Timeout: 10 * time.Second})
}

func (g *Simulated) cni() func(*windows.Machine) error {
	if g.CNI != nil {
		return g.CNI
	}
	return anyCNI
}

// anyCNI is that of a cluster whose CNI is not known.
func anyCNI(m *windows.Machine) error {
	if cni.NotReady(m) == "" {
		return nil
	}
	return m.Put(cni.Folder+`\50-lab.conf`, []byte(`{"cniVersion":"0.3.0","name":"lab","type":"lab"}`))
}
