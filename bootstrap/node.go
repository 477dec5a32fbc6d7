package bootstrap

import (
	"cmp"
	"time"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/containerd"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/kubelet"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/network"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/windows"
)

// node is what was read of an Input and found good: plain values, defaults filled in.
type node struct {
	machine         plan.Machine
	cloud           cloud
	deadlineSeconds int
	token           string
	now             time.Time
	// version is the Machine's, minor its second number: 36 of v1.36.3.
	version string
	minor   uint64

	cluster    cluster
	adapters   network.Adapters
	kubelet    kubelet.Kubelet
	custom     custom
	windows    windows.Windows
	network    *network.Network
	containerd containerd.Containerd
	// joinConfiguration is what kubeadm join reads, reportKubeconfig what the guest reports with, if it has an object for that.
	joinConfiguration, reportKubeconfig string
}

// defaultDeadlineSeconds is half an hour.
const defaultDeadlineSeconds = 1800

func readNode(in Input) (*node, error) {
	if err := tooEarly(in); err != nil {
		return nil, err
	}
	n := &node{
		machine: plan.Machine{
			Namespace: in.Machine.Namespace, Name: in.Machine.Name, UID: string(in.Machine.UID),
			Node: in.WindowsMachine.Status.ComputerName, Cluster: in.Cluster.Name,
		},
		deadlineSeconds: deadlineSeconds(in.Config.Spec),
		token:           in.Token,
		now:             in.Now,
		version:         in.Machine.Spec.Version,
	}
	for _, read := range []func(*node, Input) error{
		(*node).checkSize, (*node).readMachine, (*node).readReports, (*node).readKubelet, (*node).readCustom, (*node).readWindows,
		(*node).readNetwork, (*node).readContainerd,
	} {
		if err := read(n, in); err != nil {
			return nil, err
		}
	}
	var err error
	n.joinConfiguration, err = joinConfiguration(n)
	return n, err
}

func (*node) checkSize(in Input) error { return CheckSize(in.Config.Spec, in.Sources) }

// readMachine reads what the other parts need: cloud, adapters, version and cluster.
func (n *node) readMachine(in Input) error {
	var err error
	if n.cloud, err = cloudOf(in.WindowsMachine.Spec); err != nil {
		return err
	}
	if n.adapters, err = network.ReadAdapters(in.WindowsMachine); err != nil {
		return err
	}
	if n.minor, err = readMinor(n.version); err != nil {
		return err
	}
	n.cluster, err = readCluster(in)
	return err
}

func (n *node) readKubelet(in Input) error {
	var err error
	n.kubelet, err = kubelet.Read(kubelet.Input{
		Spec: in.Config.Spec.Kubelet, Node: in.Config.Spec.Node, Reservations: in.Config.Spec.Reservations,
		NodeName: n.machine.Node, ProviderID: in.WindowsMachine.Spec.ProviderID,
		Version: n.version, Minor: n.minor, Size: sizeOf(in.WindowsMachine.Spec), OwnLabels: ServiceLabels(in.Config.Spec),
		Machine: in.WindowsMachine,
	})
	return err
}

// sizeOf is zero on Azure and wherever the template decides.
func sizeOf(spec infrav1.WindowsMachineSpec) kubelet.Size {
	if spec.VSphere == nil {
		return kubelet.Size{}
	}
	return kubelet.Size{CPUs: int(spec.VSphere.CPUs), MemoryMiB: int(spec.VSphere.MemoryMiB)}
}

func (n *node) readCustom(in Input) error {
	var err error
	if n.custom, err = readCustom(in.Config.Spec.Custom, in.Sources, n.deadlineSeconds); err != nil {
		return err
	}
	return n.custom.checkKubeletStart(n.kubelet.Start)
}

func (n *node) readWindows(in Input) error {
	spec := in.Config.Spec
	names, err := n.clusterNames(in)
	if err != nil {
		return err
	}
	n.windows, err = windows.Read(windows.Input{
		Spec: spec.Windows, Sources: in.Sources, NodeName: n.machine.Node,
		CloudConfigFile: spec.Node.CloudConfigFile,
		OnAzure:         n.cloud.isAzure, Placement: in.WindowsMachine.Status.Azure, VM: in.WindowsMachine.Spec.Azure,
		HyperV: spec.Containerd.HyperVIsolation == bootstrapv1.HyperVIsolationEnabled, ClusterNames: names,
	})
	return err
}

// clusterNames are the cluster's own names and ranges, which are reached without a proxy. If there is no proxy, the
// Cluster's network is not read for it.
func (n *node) clusterNames(in Input) ([]string, error) {
	if !windows.HasProxy(in.Config.Spec.Windows.Proxy) {
		return nil, nil
	}
	domain, cidrs, err := network.InCluster(in.Cluster.Spec.ClusterNetwork)
	return append([]string{"." + domain, n.machine.Node, n.cluster.endpoint.Host}, cidrs...), err
}

func (n *node) readNetwork(in Input) error {
	var err error
	n.network, err = network.Read(network.Input{
		Spec: in.Config.Spec.Network, ClusterNetwork: in.Cluster.Spec.ClusterNetwork,
		Endpoint: in.Cluster.Spec.ControlPlaneEndpoint.Host, Adapters: n.adapters,
		NodeName: n.machine.Node, OnAzure: n.cloud.isAzure,
		MaxPods: n.kubelet.MaxPods, DelayedStart: n.kubelet.Start == plan.StartDelayedAuto,
		DSRByDefault: kubelet.GateOn(network.DSRGate, nil, n.minor), AddressGiven: n.kubelet.HasNodeIP(),
		Minor: n.minor, RotatesLogs: kubelet.RotatesLogs(n.minor),
		NoCloudProvider: !n.kubelet.HasCloudProvider(), Nested: containerd.Nested(in.WindowsMachine.Spec.VSphere), Block: in.Block,
	})
	if err == nil {
		n.kubelet.NodeIP = n.network.NodeIP()
	}
	return err
}

func (n *node) readContainerd(in Input) error {
	var err error
	n.containerd, err = containerd.Read(containerd.Input{
		Spec: in.Config.Spec.Containerd, Sources: in.Sources, DeadlineSeconds: n.deadlineSeconds, VM: in.WindowsMachine.Spec.VSphere,
		Proxied: windows.HasProxy(in.Config.Spec.Windows.Proxy), Root: windows.ContainerdRoot(in.Config.Spec.Windows.DataDrive),
		Minor: n.minor, OwnCNI: n.network.HasOwnCNI(),
	})
	return err
}

// Deadline is how long a guest may take from its first boot until it has joined; the time of reboots does not count.
func Deadline(spec bootstrapv1.WindowsBootstrapConfigSpec) time.Duration {
	return time.Duration(deadlineSeconds(spec)) * time.Second
}

func deadlineSeconds(spec bootstrapv1.WindowsBootstrapConfigSpec) int {
	return int(cmp.Or(spec.BootstrapDeadlineSeconds, defaultDeadlineSeconds))
}
