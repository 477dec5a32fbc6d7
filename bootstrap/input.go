package bootstrap

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/version"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// node is an Input that has been read and found good: plain values, defaults filled in.
type node struct {
	machine    plan.Machine
	providerID string
	cloud      cloud
	// cpus and memoryMiB are 0 when only the node will know.
	cpus, memoryMiB int

	// version is the Machine's, minor its second number: 36 of v1.36.3.
	version   string
	minor     uint64
	endpoint  clusterv1.APIEndpoint
	authority authority
	token     string
	// discovery is the kubeconfig by which kubeadm finds the cluster; where it is empty, the token does.
	discovery string

	// spec is the user's, for the parts of a plan; network is the Cluster's.
	spec    bootstrapv1.WindowsBootstrapConfigSpec
	network clusterv1.ClusterNetwork
	// azure is the VM's spec, when it is on Azure.
	azure *infrav1.AzureVM
	// networks counts what the VM's adapters are said to be on; 0 when that is the template's. adapters are those of them
	// with addresses of pools.
	networks int
	adapters []adapter
	// sources are the Secrets and ConfigMaps that the spec refers to: "secret/NAME/KEY" or "configmap/NAME/KEY".
	sources map[string][]byte

	labels          []string // name=value, sorted
	taints          []corev1.Taint
	kubelet         kubelet
	reservations    reservations
	deadlineSeconds int
}

// The defaults of WindowsBootstrapConfig.
const (
	defaultMaxPods         = 110
	defaultDeadlineSeconds = 1800
)

// computerName is what Windows, DNS and Kubernetes all take for a name.
var computerName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$`)

// bootstrapToken is what kubeadm takes for a token.
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
		providerID:      in.WindowsMachine.Spec.ProviderID,
		cloud:           cloudOf(in.WindowsMachine.Spec),
		spec:            in.Config.Spec,
		network:         in.Cluster.Spec.ClusterNetwork,
		azure:           in.WindowsMachine.Spec.Azure,
		sources:         in.Sources,
		version:         in.Machine.Spec.Version,
		token:           in.Token,
		deadlineSeconds: orDefault(in.Config.Spec.DeadlineSeconds, defaultDeadlineSeconds),
	}
	if vm := in.WindowsMachine.Spec.VSphere; vm != nil {
		n.cpus, n.memoryMiB, n.networks = int(vm.CPUs), int(vm.MemoryMiB), len(vm.Networks)
	}
	var err error
	if n.adapters, err = readAdapters(in.WindowsMachine); err != nil {
		return nil, err
	}
	if n.minor, err = readMinor(n.version); err != nil {
		return nil, err
	}
	if err = n.discover(in); err != nil {
		return nil, err
	}
	if n.labels, err = readLabels(in.Config.Spec.Node.Labels); err != nil {
		return nil, err
	}
	if n.taints, err = readTaints(in.Config.Spec.Node.Taints); err != nil {
		return nil, err
	}
	if n.kubelet, err = readKubelet(in.Config.Spec.Kubelet, n.minor); err != nil {
		return nil, err
	}
	n.kubelet.flags = append(n.kubelet.flags, n.nodeIP()...)
	if n.reservations, err = readReservations(in.Config.Spec.Reservations); err != nil {
		return nil, err
	}
	return n, n.leavesSomething()
}

// tooEarly refuses what no user can write: our own controllers make it before they render.
func tooEarly(in Input) error {
	if in.Cluster == nil || in.Machine == nil || in.WindowsMachine == nil || in.Config == nil {
		return errors.New("render: Cluster, Machine, WindowsMachine and WindowsBootstrapConfig must be there")
	}
	for _, must := range []struct {
		holds bool
		say   string
	}{
		{in.Machine.UID != "", "the Machine has no UID"},
		{computerName.MatchString(in.WindowsMachine.Status.ComputerName), "the WindowsMachine has no status.computerName that Windows takes"},
		{in.WindowsMachine.Spec.ProviderID != "", "the WindowsMachine has no spec.providerID"},
		{(in.WindowsMachine.Spec.VSphere == nil) != (in.WindowsMachine.Spec.Azure == nil), "the WindowsMachine does not name one cloud"},
		{bootstrapToken.MatchString(in.Token), "the bootstrap token is not of the form id.secret"}, // without the token: it is a secret
	} {
		if !must.holds {
			return fmt.Errorf("render %s/%s: %s", in.Machine.Namespace, in.Machine.Name, must.say)
		}
	}
	return nil
}

func orDefault(value int32, fallback int) int {
	if value == 0 {
		return fallback
	}
	return int(value)
}

// Deadline is how long a guest may take from its first boot until it has joined, down time not counted.
func Deadline(spec bootstrapv1.WindowsBootstrapConfigSpec) time.Duration {
	return time.Duration(orDefault(spec.DeadlineSeconds, defaultDeadlineSeconds)) * time.Second
}

// oldestMinor is the oldest 1.x whose kubeadm and kubelet take what is rendered here.
const oldestMinor = 30

func readMinor(text string) (uint64, error) {
	const field = "Machine spec.version"
	if text == "" {
		return 0, invalid(field, "it is empty; write the Kubernetes version that the image carries, such as v1.36.3")
	}
	parsed, err := version.ParseTolerantImageTag(text)
	if err != nil {
		return 0, invalid(field, "%q is not a version; write one such as v1.36.3", text)
	}
	if parsed.Major != 1 || parsed.Minor < oldestMinor {
		return 0, invalid(field, "%q is not supported; write v1.%d.0 or a later v1", text, oldestMinor)
	}
	return parsed.Minor, nil
}

func readEndpoint(field string, endpoint clusterv1.APIEndpoint) (clusterv1.APIEndpoint, error) {
	if !endpoint.IsValid() {
		return endpoint, invalid(field, "host or port is missing; write them, or wait until the cluster's infrastructure has")
	}
	name := validation.IsDNS1123Subdomain(strings.ToLower(endpoint.Host)) == nil
	if !name && validation.IsValidIP(nil, endpoint.Host) != nil {
		return endpoint, invalid(field, "host %q is neither a DNS name nor an IP address; write one without scheme, port and brackets",
			endpoint.Host)
	}
	if endpoint.Port < 1 || endpoint.Port > 65535 {
		return endpoint, invalid(field, "port %d is none; write 1 to 65535", endpoint.Port)
	}
	return endpoint, nil
}
