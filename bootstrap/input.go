package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/version"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/containerd"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/kubelet"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/network"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/windows"
)

// node is what was read of an Input and found good: plain values, defaults filled in.
type node struct {
	machine         plan.Machine
	cloud           cloud
	deadlineSeconds int
	token           string
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
	// joinConfiguration is the text of the file that kubeadm join reads.
	joinConfiguration string
}

// defaultDeadlineSeconds is half an hour.
const defaultDeadlineSeconds = 1800

// computerName is a name that Windows, DNS and Kubernetes all accept.
var computerName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$`)

// bootstrapToken is the form of a token that kubeadm accepts.
var bootstrapToken = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

func readNode(in Input) (*node, error) {
	if err := tooEarly(in); err != nil {
		return nil, err
	}
	n := &node{
		machine: plan.Machine{
			Namespace: in.Machine.Namespace, Name: in.Machine.Name, UID: string(in.Machine.UID),
			Node: in.WindowsMachine.Status.ComputerName, Cluster: in.Cluster.Name,
		},
		cloud:           cloudOf(in.WindowsMachine.Spec),
		deadlineSeconds: deadlineSeconds(in.Config.Spec),
		token:           in.Token,
		version:         in.Machine.Spec.Version,
	}
	for _, read := range []func(*node, Input) error{
		(*node).readMachine, (*node).readKubelet, (*node).readCustom, (*node).readWindows, (*node).readNetwork,
		(*node).readContainerd,
	} {
		if err := read(n, in); err != nil {
			return nil, err
		}
	}
	var err error
	n.joinConfiguration, err = joinConfiguration(n)
	return n, err
}

// readMachine reads what the other parts need: adapters, version and cluster.
func (n *node) readMachine(in Input) error {
	var err error
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
		Version: n.version, Minor: n.minor, Size: sizeOf(in.WindowsMachine.Spec),
		NodeIP: n.adapters.NodeIP(in.Cluster.Spec.ClusterNetwork.Pods),
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
	n.custom, err = readCustom(in.Config.Spec.Custom, in.Sources)
	return err
}

func (n *node) readWindows(in Input) error {
	spec := in.Config.Spec
	names, err := n.clusterNames(in)
	if err != nil {
		return err
	}
	n.windows, err = windows.Read(windows.Input{
		Spec: spec.Windows, PageFile: spec.PageFile, Sources: in.Sources, NodeName: n.machine.Node,
		OnAzure: n.cloud.isAzure, AzureVM: in.WindowsMachine.Spec.Azure,
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
		Spec: in.Config.Spec.Network, ClusterNetwork: in.Cluster.Spec.ClusterNetwork, Adapters: n.adapters,
		NodeName: n.machine.Node, OnAzure: n.cloud.isAzure,
		MaxPods: n.kubelet.MaxPods, DelayedStart: n.kubelet.Start == plan.StartDelayedAuto,
		DSRByDefault: kubelet.GateOn(network.DSRGate, nil, n.minor),
	})
	return err
}

func (n *node) readContainerd(in Input) error {
	var err error
	n.containerd, err = containerd.Read(containerd.Input{
		Spec: in.Config.Spec.Containerd, Sources: in.Sources, DeadlineSeconds: n.deadlineSeconds,
		Proxied: windows.HasProxy(in.Config.Spec.Windows.Proxy),
	})
	return err
}

// tooEarly refuses what is not a mistake of the user: our own controllers fill these fields in before they render.
func tooEarly(in Input) error {
	if in.Cluster == nil || in.Machine == nil || in.WindowsMachine == nil || in.Config == nil {
		return errors.New("render: Cluster, Machine, WindowsMachine and WindowsBootstrapConfig must be there")
	}
	spec, name := in.WindowsMachine.Spec, in.WindowsMachine.Status.ComputerName
	for _, must := range []struct {
		holds bool
		say   string
	}{
		{in.Machine.UID != "", "the Machine has no UID"},
		{computerName.MatchString(name), "the WindowsMachine has no status.computerName that Windows accepts"},
		{spec.ProviderID != "", "the WindowsMachine has no spec.providerID"},
		{(spec.VSphere == nil) != (spec.Azure == nil), "the WindowsMachine does not name one cloud"},
		// The sentence does not show the token, which is a secret.
		{bootstrapToken.MatchString(in.Token), "the bootstrap token is not of the form id.secret"},
	} {
		if !must.holds {
			return fmt.Errorf("render %s/%s: %s", in.Machine.Namespace, in.Machine.Name, must.say)
		}
	}
	return nil
}

// Deadline is how long a guest may take from its first boot until it has joined; the time of reboots does not count.
func Deadline(spec bootstrapv1.WindowsBootstrapConfigSpec) time.Duration {
	return time.Duration(deadlineSeconds(spec)) * time.Second
}

func deadlineSeconds(spec bootstrapv1.WindowsBootstrapConfigSpec) int {
	return int(cmp.Or(spec.DeadlineSeconds, defaultDeadlineSeconds))
}

// oldestMinor is the oldest 1.x whose kubeadm and kubelet accept what we render.
const oldestMinor = 30

func readMinor(text string) (uint64, error) {
	const field = "Machine spec.version"
	if text == "" {
		return 0, step.Invalid(field, "must be set; use the Kubernetes version of the image, such as v1.36.3")
	}
	parsed, err := version.ParseTolerantImageTag(text)
	if err != nil {
		return 0, step.Invalid(field, "%q is not a version; use one such as v1.36.3", text)
	}
	if parsed.Major != 1 || parsed.Minor < oldestMinor {
		return 0, step.Invalid(field, "%q is not supported; use v1.%d.0 or a later v1", text, oldestMinor)
	}
	return parsed.Minor, nil
}

func readEndpoint(field string, endpoint clusterv1.APIEndpoint) (clusterv1.APIEndpoint, error) {
	if !endpoint.IsValid() {
		return endpoint, step.Invalid(field,
			"host or port is missing; set them, or wait until the cluster's infrastructure sets them")
	}
	name := validation.IsDNS1123Subdomain(strings.ToLower(endpoint.Host)) == nil
	if !name && validation.IsValidIP(nil, endpoint.Host) != nil {
		return endpoint, step.Invalid(field,
			"host %q is neither a DNS name nor an IP address; use one without scheme, port and brackets",
			endpoint.Host)
	}
	if endpoint.Port < 1 || endpoint.Port > 65535 {
		return endpoint, step.Invalid(field, "port %d is not valid; use 1 to 65535", endpoint.Port)
	}
	return endpoint, nil
}
