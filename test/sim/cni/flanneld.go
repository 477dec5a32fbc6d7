package cni

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// flannelDomain begins the names of annotations.
const flannelDomain = "flannel.alpha.coreos.com/"

// Connect is how a program of a node speaks to the cluster of a kubeconfig.
type Connect func(kubeconfig, program string) (kubernetes.Interface, error)

// flanneldFlags are those of flanneld that are played; any other ends it, as flag's own code does.
type flanneldFlags struct {
	subnetMgr, masquerade              bool
	kubeconfig, netConf, subnet, iface string
}

// netConf is net-conf.json (flannel-io/flannel cdf76059, pkg/subnet/config.go).
type netConf struct {
	Network string
	Backend json.RawMessage
}

type backend struct {
	Type, Name         string
	VNI, Port          int
	GBP, DirectRouting bool
}

// Flanneld is flanneld.exe (flannel-io/flannel cdf76059: main.go, pkg/subnet/kube/kube.go, pkg/backend/vxlan/vxlan_windows.go,
// pkg/backend/hostgw/hostgw_windows.go): what they refuse ends it with their words.
func Flanneld(connect Connect) windows.Program {
	return func(ctx context.Context, call *windows.Call) int {
		daemon, err := StartFlanneld(ctx, call, connect)
		if err == nil {
			err = daemon.Follow(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return call.Fail("E0101 main.go: %v", err)
		}
		return 0
	}
}

// Flannel is a flanneld whose network is there.
type Flannel struct {
	machine *windows.Machine
	client  kubernetes.Interface
	plan    *backend
	node    string
}

// Network is the name of its network.
func (f *Flannel) Network() string { return f.plan.name() }

// StartFlanneld is what flanneld does until it has written the file with the node's subnet.
func StartFlanneld(ctx context.Context, call *windows.Call, connect Connect) (*Flannel, error) {
	flags, err := readFlanneldFlags(call.Argv[1:])
	if err != nil {
		return nil, err
	}
	return flags.start(ctx, call, connect)
}

// Follow tells HNS or the host where the pods of other nodes are, as those have written it into their annotations, until ctx ends
// (pkg/backend/vxlan/vxlan_network_windows.go and pkg/backend/route_network_windows.go, handleSubnetEvents).
func (f *Flannel) Follow(ctx context.Context) error {
	return follow(ctx, f.machine, f.client, f.leases, func(peers []peer) error {
		if f.plan.Type == "host-gw" {
			return setRoutes(f.machine, f.plan.name(), peers)
		}
		return setRemoteSubnets(ctx, f.machine, f.plan.name(), peers)
	})
}

// leases are the other nodes of the same backend. A VXLAN wants the MAC of theirs (pkg/subnet/kube/kube.go, nodeToLease).
func (f *Flannel) leases(nodes []*corev1.Node) []peer {
	var all []peer
	for _, node := range nodes {
		has := func(name string) string { return node.Annotations[flannelDomain+name] }
		prefix, err := podCIDR(node)
		if err != nil || node.Name == f.node || has("kube-subnet-manager") != "true" || has("backend-type") != f.plan.Type {
			continue
		}
		var data struct {
			VNI     int
			VtepMAC string
		}
		err = json.Unmarshal([]byte(has("backend-data")), &data)
		if f.plan.Type == "vxlan" && (err != nil || data.VNI < 4096 || data.VtepMAC == "") {
			continue
		}
		all = append(all, peer{prefix, has("public-ip")})
	}
	return all
}

func readFlanneldFlags(argv []string) (*flanneldFlags, error) {
	f, set := &flanneldFlags{}, flag.NewFlagSet("flanneld", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.BoolVar(&f.subnetMgr, "kube-subnet-mgr", false, "")
	set.BoolVar(&f.masquerade, "ip-masq", false, "")
	set.StringVar(&f.kubeconfig, "kubeconfig-file", "", "")
	set.StringVar(&f.netConf, "net-config-path", "/etc/kube-flannel/net-conf.json", "")
	set.StringVar(&f.subnet, "subnet-file", "/run/flannel/subnet.env", "")
	set.StringVar(&f.iface, "iface", "", "")
	set.Int("v", 0, "")
	if err := set.Parse(argv); err != nil {
		return nil, err
	}
	if !f.subnetMgr {
		return nil, errors.New("Failed to create SubnetManager: no etcd endpoint answers") //nolint:staticcheck // flannel says it so
	}
	return f, nil
}

func (f *flanneldFlags) start(ctx context.Context, call *windows.Call, connect Connect) (*Flannel, error) {
	m, node := call.Machine, call.Env["NODE_NAME"]
	client, err := connect(f.kubeconfig, "flanneld.exe")
	if err != nil {
		//nolint:staticcheck // because flannel says it so
		return nil, fmt.Errorf("Failed to create SubnetManager: fail to create kubernetes config: %w", err)
	}
	if node == "" {
		//nolint:staticcheck // because flannel says it so
		return nil, errors.New("Failed to create SubnetManager: env variables POD_NAME and POD_NAMESPACE must be set")
	}
	conf, plan, err := readNetConf(m, f.netConf)
	if err != nil {
		return nil, err
	}
	if _, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil {
		return nil, fmt.Errorf("error waiting for nodeController to sync state: %w", err)
	}
	adapter, err := adapterOf(m, f.iface)
	if err != nil {
		return nil, err
	}
	prefix, err := f.acquireLease(ctx, client, node, conf, plan)
	if err != nil {
		return nil, fmt.Errorf("failed to acquire lease: %w", err)
	}
	if err := plan.makeNetwork(m, prefix, adapter); err != nil {
		return nil, fmt.Errorf("error registering network: %w", err)
	}
	text := fmt.Sprintf("FLANNEL_NETWORK=%s\nFLANNEL_SUBNET=%s/%d\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=%t\n",
		conf.Network, prefix.Addr().Next(), prefix.Bits(), f.masquerade)
	if err := m.Put(f.subnet, []byte(text)); err != nil {
		return nil, fmt.Errorf("failed to write subnet file: %w", err)
	}
	return &Flannel{m, client, plan, node}, nil
}

func readNetConf(m *windows.Machine, file string) (*netConf, *backend, error) {
	text, err := m.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to read net conf: open %s: The system cannot find the file specified", file)
	}
	conf, plan := &netConf{}, &backend{VNI: 4096, Port: 4789}
	if err := json.Unmarshal(text, conf); err != nil {
		return nil, nil, fmt.Errorf("error parsing subnet config: %w", err)
	}
	if _, err := netip.ParsePrefix(conf.Network); err != nil {
		return nil, nil, fmt.Errorf("error parsing subnet config: %w", err)
	}
	if err := json.Unmarshal(conf.Backend, plan); err != nil {
		return nil, nil, fmt.Errorf("error decoding VXLAN backend config: %w", err)
	}
	return conf, plan, plan.refused()
}

// refused is what the backends for Windows refuse.
func (b *backend) refused() error {
	const wrong = "invalid VXLAN backend config. "
	switch {
	case b.Type == "host-gw":
		return nil
	case b.Type != "vxlan":
		return fmt.Errorf("unknown backend type: %s", b.Type)
	case b.VNI < 4096:
		return fmt.Errorf(wrong+"VNI [%d] must be greater than or equal to 4096 on Windows", b.VNI)
	case b.Port != 4789:
		return fmt.Errorf(wrong+"Port [%d] is not supported on Windows. Omit the setting to default to port 4789", b.Port)
	case b.DirectRouting:
		return errors.New(wrong + "DirectRouting is not supported on Windows")
	case b.GBP:
		return errors.New(wrong + "GBP is not supported on Windows")
	}
	return nil
}

// adapterOf is the interface of --iface: an address, or a name.
func adapterOf(m *windows.Machine, iface string) (string, error) {
	if iface == "" {
		return mainAdapter(m)
	}
	addresses, err := m.NetAddresses()
	adapters, failed := m.NetAdapters()
	if err := errors.Join(err, failed); err != nil {
		return "", err
	}
	for _, adapter := range adapters {
		if adapter.Name == iface {
			return adapter.Name, nil
		}
		for _, address := range addresses {
			prefix, err := netip.ParsePrefix(address.Address)
			if err == nil && address.Index == adapter.Index && prefix.Addr().String() == iface {
				return adapter.Name, nil
			}
		}
	}
	//nolint:staticcheck // because flannel says it so
	return "", fmt.Errorf("Failed to find any valid interface to use: error looking up interface %s", iface)
}

// acquireLease takes the node's pod CIDR, and tells the other nodes in annotations.
func (f *flanneldFlags) acquireLease(
	ctx context.Context, client kubernetes.Interface, name string, conf *netConf, plan *backend,
) (netip.Prefix, error) {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return netip.Prefix{}, err
	}
	prefix, err := podCIDR(node)
	if err != nil {
		return netip.Prefix{}, err
	}
	if whole, err := netip.ParsePrefix(conf.Network); err != nil || !whole.Contains(prefix.Addr()) {
		return netip.Prefix{}, errors.Join(err, fmt.Errorf("subnet %q specified in the flannel net config doesn't contain %q PodCIDR "+
			"of the %q node", conf.Network, prefix, name))
	}
	data := "null"
	if plan.Type == "vxlan" {
		data = fmt.Sprintf(`{"VNI":%d,"VtepMAC":"00:15:5d:00:00:01"}`, plan.VNI)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		flannelDomain + "backend-type": plan.Type, flannelDomain + "public-ip": f.iface, flannelDomain + "backend-data": data,
		flannelDomain + "kube-subnet-manager": "true",
	}}})
	if err == nil {
		_, err = client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	return prefix, err
}

func podCIDR(node *corev1.Node) (netip.Prefix, error) {
	if node.Spec.PodCIDR == "" {
		return netip.Prefix{}, fmt.Errorf("node %q pod cidr not assigned", node.Name)
	}
	return netip.ParsePrefix(node.Spec.PodCIDR)
}

func (b *backend) name() string {
	switch {
	case b.Name != "":
		return b.Name
	case b.Type == "host-gw":
		return "cbr0"
	}
	return fmt.Sprintf("flannel.%d", b.VNI)
}

// makeNetwork makes the backend's network in HNS, unless it is there. host-gw names no adapter to HNS, and attaches the host to
// the second address of the node's pods. VXLAN names that of --iface, also one that has a vSwitch, and its network ends with this
// start of Windows (EnableNonPersistent).
func (b *backend) makeNetwork(m *windows.Machine, prefix netip.Prefix, adapter string) error {
	kind, more := "L2Bridge", map[string]any{}
	if b.Type == "vxlan" {
		kind, more = "Overlay", map[string]any{"NetworkAdapterName": adapter, "Flags": 8}
	}
	there, err := hasNetwork(m, b.name())
	if err == nil && !there {
		err = makeNetwork(m, b.name(), kind, prefix, more)
	}
	if err == nil && b.Type == "host-gw" {
		err = makeHostEndpoint(m, b.name(), afterGateway(prefix).String())
	}
	return err
}

// until looks once a second of the node's clock until something holds.
func until(ctx context.Context, m *windows.Machine, holds func() (bool, error)) error {
	for {
		if good, err := holds(); good || err != nil {
			return err
		}
		if err := m.Clock.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}
