package cni

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// kubeProxy is a start of kube-proxy.exe, from its flags or its file.
type kubeProxy struct {
	HostnameOverride string
	ClientConnection struct{ Kubeconfig string }
	Winkernel        struct{ NetworkName, SourceVip string }

	MetricsBindAddress string

	call *windows.Call
}

// KubeProxy is kube-proxy.exe of a version (kubernetes v1.36.3: cmd/kube-proxy/app, pkg/proxy/winkernel/proxier.go). What it
// makes of Services is in policies.go.
func KubeProxy(version string, connect Connect) windows.Program {
	return func(ctx context.Context, call *windows.Call) int {
		p, err := readKubeProxy(call, version)
		if p == nil && err == nil {
			return 0 // it has told its version
		}
		if err == nil {
			if call.Service != "" {
				call.Running()
			}
			err = p.run(ctx, connect)
		}
		if err != nil && ctx.Err() == nil {
			return call.Fail("E0101 run.go: command failed: %v", err)
		}
		return 0
	}
}

func readKubeProxy(call *windows.Call, version string) (*kubeProxy, error) {
	set := flag.NewFlagSet("kube-proxy", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	tell, service := set.Bool("version", false, ""), set.Bool("windows-service", false, "")
	file, host := set.String("config", "", ""), set.String("hostname-override", "", "")
	kubeconfig, vip := set.String("kubeconfig", "", ""), set.String("source-vip", "", "")
	for _, other := range []string{"v", "proxy-mode", "enable-dsr", "feature-gates"} {
		set.String(other, "", "")
	}
	if err := set.Parse(call.Argv[1:]); err != nil {
		return nil, err
	}
	if *tell {
		call.Print("Kubernetes %s", version)
		return nil, nil
	}
	if call.Service != "" && !*service {
		return nil, errors.New("the service did not respond to the start or control request in a timely fashion (1053)")
	}
	p := &kubeProxy{call: call, HostnameOverride: *host}
	p.ClientConnection.Kubeconfig, p.Winkernel.SourceVip = *kubeconfig, *vip
	if *file == "" {
		return p, nil
	}
	text, err := call.Machine.ReadFile(*file)
	if err == nil {
		err = yaml.Unmarshal(text, p)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to load kube-proxy config file, path: %s, error: %w", *file, err)
	}
	return p, nil
}

func (p *kubeProxy) run(ctx context.Context, connect Connect) error {
	client, err := connect(p.ClientConnection.Kubeconfig, "kube-proxy.exe")
	if err != nil {
		return err
	}
	name := cmp.Or(p.HostnameOverride, strings.ToLower(p.call.Machine.ComputerName()))
	if err := p.findNode(ctx, client, name); err != nil {
		return err
	}
	network := cmp.Or(p.Winkernel.NetworkName, p.call.Env["KUBE_NETWORK"])
	if network == "" {
		return errors.New("Environment variable KUBE_NETWORK and network-flag not initialized") //nolint:staticcheck // its words
	}
	m, kind := p.call.Machine, ""
	if err := forgetServices(m); err != nil {
		return err
	}
	err = until(ctx, m, func() (bool, error) {
		kind, err = networkType(m, network)
		return kind != "", err
	})
	if err != nil {
		return err
	}
	isOverlay := strings.EqualFold(kind, "Overlay")
	if isOverlay && p.Winkernel.SourceVip == "" {
		return errors.New("source-vip flag not set")
	}
	if isOverlay { // the network may be there before what others tell it
		if err := m.Clock.Sleep(ctx, 10*time.Second); err != nil {
			return err
		}
	}
	defer p.serveHealth()()
	rules := &proxier{machine: m, client: client, network: network, tell: p.call.Fail}
	if isOverlay {
		rules.sourceVIP = p.Winkernel.SourceVip
	}
	stop := m.ServePage("http://"+cmp.Or(p.MetricsBindAddress, "127.0.0.1:10249")+"/metrics", rules.metrics)
	defer stop()
	return rules.run(ctx)
}

// healthPort is where kube-proxy answers questions for its health: as a pipe's, one program at a time can have its name.
const healthPort = "tcp:10256"

// serveHealth takes the port. Where another program has it, kube-proxy says so and works all the same
// (cmd/kube-proxy/app/server.go, serveHealthz: bindAddressHardFail is off). Nobody asks here, so it does not try again.
func (p *kubeProxy) serveHealth() (end func()) {
	m := p.call.Machine
	if taken, err := m.PipeAnswers(healthPort); err != nil || taken {
		p.call.Fail("E0101 healthz server failed: listen tcp 0.0.0.0:10256: bind: Only one usage of each socket address (protocol/" +
			"network address/port) is normally permitted.")
		return func() {}
	}
	m.OpenPipe(healthPort)
	return func() { m.ClosePipe(healthPort) }
}

// findNode waits for the Node of its name: with another name kube-proxy would take no endpoint for its own.
func (p *kubeProxy) findNode(ctx context.Context, client kubernetes.Interface, name string) error {
	told := ""
	return until(ctx, p.call.Machine, func() (bool, error) {
		_, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil && err.Error() != told {
			told = err.Error()
			p.call.Fail("E0101 failed to retrieve node info: %v", err)
		}
		return err == nil, nil
	})
}
