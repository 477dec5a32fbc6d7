package cni

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// kubeProxy is a start of kube-proxy.exe, from its flags or its file.
type kubeProxy struct {
	HostnameOverride string
	ClientConnection struct{ Kubeconfig string }
	Winkernel        struct{ NetworkName, SourceVip string }

	MetricsBindAddress string

	call *windows.Call
}

// KubeProxy is kube-proxy.exe of a version (kubernetes v1.36.3: cmd/kube-proxy/app, pkg/proxy/winkernel/proxier.go).
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
	err = until(ctx, m, func() (bool, error) {
		kind, err = networkType(m, network)
		return kind != "", err
	})
	if err != nil {
		return err
	}
	if strings.EqualFold(kind, "Overlay") && p.Winkernel.SourceVip == "" {
		return errors.New("source-vip flag not set")
	}
	if err := forgetServices(m); err != nil {
		return err
	}
	rules := &proxier{machine: m, client: client, network: network, tell: p.call.Fail}
	if strings.EqualFold(kind, "Overlay") {
		rules.sourceVIP = p.Winkernel.SourceVip
	}
	stop := m.ServePage("http://"+cmp.Or(p.MetricsBindAddress, "127.0.0.1:10249")+"/metrics", rules.metrics)
	defer stop()
	return rules.run(ctx)
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

// proxier keeps the policies of HNS like the Services and their endpoints.
type proxier struct {
	machine            *windows.Machine
	client             kubernetes.Interface
	network, sourceVIP string
	// tell writes to the log.
	tell func(format string, args ...any) int
	// synced is when the rules were set last, in seconds.
	synced atomic.Int64
}

func proxy(ctx context.Context, m *windows.Machine, client kubernetes.Interface, network string) error {
	return (&proxier{machine: m, client: client, network: network}).run(ctx)
}

// run keeps the rules once all informers have synced.
func (p *proxier) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(p.client, 0)
	services, slicesOf := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	cidrs := factory.Networking().V1().ServiceCIDRs().Informer()
	synced := []cache.InformerSynced{services.Informer().HasSynced, slicesOf.Informer().HasSynced, cidrs.HasSynced}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	err := until(ctx, p.machine, func() (bool, error) {
		return !slices.ContainsFunc(synced, func(has cache.InformerSynced) bool { return !has() }), nil
	})
	var written map[string][]string
	for err == nil {
		wanted, failed := endpoints(services.Lister().List, slicesOf.Lister().List)
		same := p.synced.Load() > 0 && maps.EqualFunc(written, wanted, slices.Equal)
		if err = failed; err == nil && !same && p.hasSourceVIP() {
			written, err = wanted, write(p.machine, p.network, wanted)
			p.synced.Store(p.machine.Clock.Now().Unix())
		}
		if err == nil {
			err = p.machine.Clock.Sleep(ctx, time.Second)
		}
	}
	return err
}

// hasSourceVIP makes the endpoint of the source VIP in a VXLAN, unless one of its network has the address. Without it kube-proxy
// sets no rules, and tries again (proxier.go, syncProxyRules).
func (p *proxier) hasSourceVIP() bool {
	if p.sourceVIP == "" {
		return true
	}
	all, err := p.machine.HNSCall("GET", "/endpoints", "")
	isIt := func(e map[string]any) bool { return e["IPAddress"] == p.sourceVIP && e["VirtualNetwork"] == p.network }
	if err == nil && !slices.ContainsFunc(all, isIt) {
		err = makeEndpoint(p.machine, "", map[string]any{"IPAddress": p.sourceVIP, "VirtualNetwork": p.network})
	}
	if err != nil {
		p.tell("E0101 Source Vip endpoint creation failed: %v", err)
	}
	return err == nil
}

// metrics are the page of kube-proxy, as far as plans read it: the time is there once the rules were set.
func (p *proxier) metrics() string {
	const name = "kubeproxy_sync_proxy_rules_last_timestamp_seconds"
	page := "# HELP " + name + " [ALPHA] The last time proxy rules were successfully synced\n# TYPE " + name + " gauge\n"
	if at := p.synced.Load(); at > 0 {
		page += fmt.Sprintf("%s{ip_family=\"IPv4\"} %.9e\n", name, float64(at))
	}
	return page
}

// endpoints are the ready ones of each Service's address.
func endpoints(
	services func(labels.Selector) ([]*corev1.Service, error), list func(labels.Selector) ([]*discoveryv1.EndpointSlice, error),
) (map[string][]string, error) {
	all, err := services(labels.Everything())
	parts, failed := list(labels.Everything())
	wanted := map[string][]string{}
	for _, service := range all {
		if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
			continue
		}
		for _, part := range parts {
			if part.Namespace != service.Namespace || part.Labels[discoveryv1.LabelServiceName] != service.Name {
				continue
			}
			for _, one := range part.Endpoints {
				if one.Conditions.Ready == nil || *one.Conditions.Ready {
					wanted[service.Spec.ClusterIP] = append(wanted[service.Spec.ClusterIP], one.Addresses...)
				}
			}
		}
		slices.Sort(wanted[service.Spec.ClusterIP])
	}
	return wanted, errors.Join(err, failed)
}
