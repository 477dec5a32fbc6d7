package cni

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// proxier is kube-proxy at work. It believes that the policies which it has made are there, whatever others do with them.
type proxier struct {
	machine            *windows.Machine
	client             kubernetes.Interface
	network, sourceVIP string
	// tell writes to the log.
	tell func(format string, args ...any) int
	// synced is when the rules were set last, in seconds.
	synced atomic.Int64
	// id is that of the network in HNS for which made are the policies, by the Service's address.
	id   string
	made map[string]policy
}

// policy is one of HNS, and the pods for which it was made.
type policy struct {
	item item
	pods []string
}

// providerMark is between a pod's address and that of the node to which a VXLAN sends its packets.
const providerMark = "@"

func proxy(ctx context.Context, m *windows.Machine, client kubernetes.Interface, network string) error {
	return (&proxier{machine: m, client: client, network: network}).run(ctx)
}

// run keeps the policies of HNS like the Services and their endpoints, once all informers have synced.
func (p *proxier) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(p.client, 0)
	services, parts := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	cidrs := factory.Networking().V1().ServiceCIDRs().Informer()
	synced := []cache.InformerSynced{services.Informer().HasSynced, parts.Informer().HasSynced, cidrs.HasSynced}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	err := until(ctx, p.machine, func() (bool, error) {
		return !slices.ContainsFunc(synced, func(has cache.InformerSynced) bool { return !has() }), nil
	})
	for err == nil {
		wanted, failed := readyPods(services.Lister().List, parts.Lister().List)
		if err = failed; err == nil && p.hasSourceVIP() {
			if err = p.sync(wanted); err == nil && p.id != "" {
				p.synced.Store(p.machine.Clock.Now().Unix())
			}
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
	all, err := list(p.machine, endpoints)
	isIt := func(e item) bool { return e.text("IPAddress") == p.sourceVIP && e.text("VirtualNetwork") == p.network }
	if err == nil && !slices.ContainsFunc(all, isIt) {
		_, err = makeEndpoint(p.machine, "", p.network, map[string]any{"IPAddress": p.sourceVIP})
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

// nodePort is what stands for the address of a policy of a NodePort, which has none in HNS: it is for each address of the node.
func nodePort(port int32) string { return fmt.Sprintf(":%d", port) }

// readyPods are those of each Service's address, and of each NodePort.
func readyPods(
	services func(labels.Selector) ([]*corev1.Service, error), list func(labels.Selector) ([]*discoveryv1.EndpointSlice, error),
) (map[string][]string, error) {
	all, err := services(labels.Everything())
	parts, failed := list(labels.Everything())
	wanted := map[string][]string{}
	for _, service := range all {
		address := service.Spec.ClusterIP
		if address == "" || address == corev1.ClusterIPNone {
			continue
		}
		ready := readyOf(service, parts)
		wanted[address] = ready
		for _, port := range service.Spec.Ports {
			if port.NodePort > 0 && len(ready) > 0 {
				wanted[nodePort(port.NodePort)] = ready
			}
		}
	}
	return wanted, errors.Join(err, failed)
}

// readyOf are the ready pods of a Service.
func readyOf(service *corev1.Service, parts []*discoveryv1.EndpointSlice) (ready []string) {
	for _, part := range parts {
		if part.Namespace != service.Namespace || part.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		for _, one := range part.Endpoints {
			if one.Conditions.Ready == nil || *one.Conditions.Ready {
				ready = append(ready, one.Addresses...)
			}
		}
	}
	slices.Sort(ready)
	return ready
}

// sync writes what has changed. In a network that was made anew it writes all, but not while there is none.
func (p *proxier) sync(wanted map[string][]string) error {
	in, err := find(p.machine, networks, "Name", p.network)
	if err != nil {
		return err
	}
	if in.text("ID") != p.id {
		for address := range p.made {
			err = errors.Join(err, p.forget(address))
		}
		p.id, p.made = in.text("ID"), map[string]policy{}
	}
	if p.id == "" || err != nil {
		return err
	}
	for _, address := range slices.Sorted(maps.Keys(p.made)) {
		if !slices.Equal(p.made[address].pods, wanted[address]) {
			err = errors.Join(err, p.forget(address))
		}
	}
	for address, pods := range wanted {
		if _, done := p.made[address]; !done && len(pods) > 0 {
			err = errors.Join(err, p.write(in, address, pods))
		}
	}
	return err
}

// forget removes a policy, unless another kube-proxy has.
func (p *proxier) forget(address string) error {
	had := p.made[address].item
	delete(p.made, address)
	still, err := find(p.machine, policies, "ID", had.text("ID"))
	if err != nil || still == nil {
		return err
	}
	return remove(p.machine, policies, still)
}

// write makes a Service's policy: the network in which packets are changed, and this start of Windows. Each pod elsewhere gets an
// endpoint, which in a VXLAN names the node that is known to have it now, or else this one.
func (p *proxier) write(in item, address string, pods []string) error {
	backends := slices.Clone(pods)
	for i, pod := range pods {
		if !strings.EqualFold(in.text("Type"), "Overlay") {
			continue
		}
		parsed, err := netip.ParseAddr(pod)
		if err != nil {
			return err
		}
		carrier, err := provider(p.machine, in, parsed)
		if err != nil {
			return err
		}
		if carrier == "" {
			carrier = in.text("ManagementIP")
		}
		backends[i] += providerMark + carrier
	}
	made, err := p.create(address, strings.Join(backends, " "))
	if err == nil {
		p.made[address] = policy{made, pods}
	}
	return err
}

// create takes a policy that is there and the same (pkg/proxy/winkernel/hns.go, getLoadBalancer).
func (p *proxier) create(address, backends string) (item, error) {
	have, err := policyOf(p.machine, address)
	if err == nil && have.text("Network") == p.network && have.text("Endpoints") == backends {
		return have, nil
	}
	return create(p.machine, policies, map[string]any{
		"ServiceVIP": address, "Network": p.network, "Endpoints": backends, "Boot": p.machine.Boots(),
	}, nil)
}

// forgetServices is what each kube-proxy does when it starts, also with those of another one (pkg/proxy/winkernel/proxier.go,
// DeleteAllHnsLoadBalancerPolicy).
func forgetServices(m *windows.Machine) error {
	all, err := list(m, policies)
	for _, one := range all {
		if err == nil {
			err = remove(m, policies, one)
		}
	}
	return err
}
