package addons

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// Calico is what a cluster's Calico has of the settings without which its operator makes no DaemonSet for Windows
// (tigera/operator 40788b9b, pkg/controller/installation: windows_controller.go, validation.go; Calico's own tests have them too:
// projectcalico/calico 87c15906, process/testing/aso/install-calico.sh).
type Calico struct {
	// OwnKinds: there is no server of Calico's API, and the definitions of its own serve instead. Configured: there is an
	// IPAMConfiguration of the name default, of which StrictAffinity is a value.
	OwnKinds                   bool
	Configured, StrictAffinity bool
	// Endpoint: the operator knows the API server's address.
	Endpoint bool
	// Installation is the spec of the operator's; nil if there is none.
	Installation *Installation
	// IPPools are those that the cluster has. PoolsHidden: this user may not list them.
	IPPools     []bootstrap.IPPool
	PoolsHidden bool
}

// Installation is the part of operator.tigera.io/v1 Installation that matters here.
type Installation struct {
	ServiceCIDRs []string `json:"serviceCIDRs"`
	CNI          struct {
		IPAM struct {
			Type string `json:"type"`
		} `json:"ipam"`
	} `json:"cni"`
	CalicoNetwork struct {
		WindowsDataplane string   `json:"windowsDataplane"`
		BGP              string   `json:"bgp"`
		IPPools          []IPPool `json:"ipPools"`
	} `json:"calicoNetwork"`
}

// IPPool is one of an Installation.
type IPPool struct {
	CIDR          string `json:"cidr"`
	Encapsulation string `json:"encapsulation"`
	BlockSize     int    `json:"blockSize"`
	NodeSelector  string `json:"nodeSelector"`
}

// How Calico sends the packets of pods in each mode. With BGP on, its Windows nodes take BGP, whatever the pools have
// (tigera/operator 40788b9b, pkg/render/windows.go, getWindowsBackend).
var backends = map[bootstrapv1.NetworkMode]struct{ bgp, encapsulation string }{
	bootstrapv1.NetworkOverlay:  {"Disabled", "VXLAN"},
	bootstrapv1.NetworkL2Bridge: {"Enabled", "None"},
}

// kubeadmServices are the Services of a cluster that does not say others.
const kubeadmServices = "10.96.0.0/12"

// IPAMKind is a kind of IPAMConfigurations.
type IPAMKind struct {
	// Group is where an API server has the kind, and Resource its name for kubectl: with the version where that takes the name
	// without it for a short one of the other kind.
	Group, Resource, kind string
}

// IPAMKinds are that of Calico's API, which its own pages patch, and the one behind it.
var IPAMKinds = []IPAMKind{
	{
		"/apis/projectcalico.org/v3", "ipamconfigurations.projectcalico.org",
		"apiVersion: projectcalico.org/v3\nkind: IPAMConfiguration",
	},
	{
		"/apis/crd.projectcalico.org/v1", "ipamconfigs.v1.crd.projectcalico.org",
		"apiVersion: crd.projectcalico.org/v1\nkind: IPAMConfig",
	},
}

func (c *Calico) ipam() IPAMKind {
	if c != nil && c.OwnKinds {
		return IPAMKinds[1]
	}
	return IPAMKinds[0]
}

// Settings are the commands that give a cluster's Calico what it needs for Windows nodes, as a script for a shell; of a cluster
// that was asked, those for what is missing.
func Settings(pools []Pool, cluster Cluster, installed *Calico) (string, error) {
	var calico []Pool
	for _, p := range pools {
		if p.Network.CNI == bootstrapv1.CNICalico {
			if err := p.checkPair(); err != nil {
				return "", err
			}
			calico = append(calico, p)
		}
	}
	if len(calico) == 0 {
		return "", fmt.Errorf("%s: the settings are Calico's; name it with --mode Overlay (or L2Bridge) and --cni Calico, or write "+
			"it into spec.network", pools[0].pair())
	}
	err := disagree("the mode of Calico", calico, func(p Pool) string { return string(p.Network.Mode) })
	if err != nil {
		return "", err
	}
	if installed != nil && installed.Installation == nil {
		return "", errors.New("the cluster has no Installation \"default\" of operator.tigera.io; install Calico by its operator first")
	}
	s := settings{mode: calico[0].Network.Mode, cluster: cluster, installed: installed}
	if err := s.check(); err != nil {
		return "", err
	}
	return s.script(), nil
}

type settings struct {
	mode      bootstrapv1.NetworkMode
	cluster   Cluster
	installed *Calico
	text      strings.Builder
}

// hostName is a name or an address. It becomes part of a script, and an untrusted object may have any text there.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?$`)

func (s *settings) check() error {
	if s.cluster.Host == "" && (s.installed == nil || !s.installed.Endpoint) {
		return errors.New("the address of the API server is missing, and Calico's Windows nodes need it; give it with --endpoint, " +
			"such as 10.0.0.10:6443")
	}
	if s.cluster.Host != "" && !hostName.MatchString(s.cluster.Host) {
		return fmt.Errorf("the host %q of the API server is neither a name nor an address; correct spec.controlPlaneEndpoint.host of "+
			"the Cluster, or --endpoint", s.cluster.Host)
	}
	for _, cidr := range append(append([]string{}, s.cluster.Pods...), s.cluster.Services...) {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			return fmt.Errorf("%q is not a network; write a CIDR, such as 10.96.0.0/12", cidr)
		}
	}
	return nil
}

func (s *settings) script() string {
	s.say("What Calico's operator needs before it makes its DaemonSet for Windows.")
	s.say("Run this against the cluster of the pool, not against the management cluster.")
	start := s.text.Len()
	s.affinity()
	s.endpoint()
	s.installation()
	s.pools()
	if s.text.Len() == start {
		s.say("Nothing is missing.")
	}
	return s.text.String()
}

func (s *settings) say(text string) { fmt.Fprintf(&s.text, "# %s\n", text) }

// patch is a command that changes one object of the whole cluster.
func (s *settings) patch(resource, kind string, patch any) {
	text, _ := json.Marshal(patch) // of texts and numbers
	fmt.Fprintf(&s.text, "kubectl patch %s default --type %s --patch '%s'\n", resource, kind, text)
}

// affinity: without it Linux nodes take addresses out of the blocks of Windows nodes, and the operator makes nothing.
func (s *settings) affinity() {
	if s.installed != nil && s.installed.StrictAffinity {
		return
	}
	s.say("Addresses of a Windows node's block are its own.")
	if s.installed != nil && !s.installed.Configured {
		s.apply(s.installed.ipam().kind + "\nmetadata:\n  name: default\nspec:\n  autoAllocateBlocks: true\n  strictAffinity: true\n")
		return
	}
	s.patch(s.installed.ipam().Resource, "merge", map[string]any{"spec": map[string]any{"strictAffinity": true}})
}

func (s *settings) apply(manifest string) {
	fmt.Fprintf(&s.text, "kubectl apply -f - <<'EOF'\n%sEOF\n", manifest)
}

// endpoint: the operator reads the ConfigMap of this name in its own namespace (pkg/controller/utils/utils.go,
// GetK8sServiceEndPoint).
func (s *settings) endpoint() {
	if s.installed != nil && s.installed.Endpoint {
		return
	}
	s.say("Pods of the host have no kube-proxy that leads to the API server yet.")
	s.apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kubernetes-services-endpoint\n"+
		"  namespace: tigera-operator\ndata:\n  KUBERNETES_SERVICE_HOST: %q\n  KUBERNETES_SERVICE_PORT: %q\n",
		s.cluster.Host, strconv.Itoa(int(s.cluster.Port))))
}

func (s *settings) installation() {
	spec, network := map[string]any{}, map[string]any{}
	existing := Installation{}
	if s.installed != nil {
		existing = *s.installed.Installation
	}
	if len(existing.ServiceCIDRs) == 0 {
		services := s.cluster.Services
		if len(services) == 0 {
			s.say("The Cluster sets no network of its Services; " + kubeadmServices + " is kubeadm's default.")
			services = []string{kubeadmServices}
		}
		spec["serviceCIDRs"] = services
	}
	if existing.CalicoNetwork.WindowsDataplane != "HNS" {
		network["windowsDataplane"] = "HNS"
	}
	if bgp := backends[s.mode].bgp; existing.CalicoNetwork.BGP != bgp {
		s.say("Mode " + string(s.mode) + " needs BGP " + strings.ToLower(bgp) + ", on the Linux nodes as well.")
		network["bgp"] = bgp
	}
	if len(network) > 0 {
		spec["calicoNetwork"] = network
	}
	if len(spec) > 0 {
		s.patch("installations.operator.tigera.io", "merge", map[string]any{"spec": spec})
	}
}

// pools: Windows has no IPIP. In Overlay a pool has VXLAN, and none in L2Bridge. The operator writes its defaults into the
// Installation, so that a pool is there to be changed.
func (s *settings) pools() {
	wanted := backends[s.mode].encapsulation
	pools := []IPPool{{}}
	if s.installed != nil {
		pools = s.installed.Installation.CalicoNetwork.IPPools
	} else if len(s.cluster.Pods) > 0 {
		pools[0].CIDR = s.cluster.Pods[0]
	}
	for i, pool := range pools {
		if pool.Encapsulation == wanted || isSix(pool.CIDR) {
			continue
		}
		if s.installed == nil {
			s.say("The first pool of addresses; if there are several for IPv4, do the same with the others.")
		}
		var patch []map[string]any
		path := fmt.Sprintf("/spec/calicoNetwork/ipPools/%d/", i)
		if pool.CIDR != "" { // the patch is refused if the pool is another one
			patch = append(patch, map[string]any{"op": "test", "path": path + "cidr", "value": pool.CIDR})
		}
		s.patch("installations.operator.tigera.io", "json",
			append(patch, map[string]any{"op": "add", "path": path + "encapsulation", "value": wanted}))
	}
}

func isSix(cidr string) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Addr().Is6()
}

// endpoint is host and port; empty if they are not known.
func (c Cluster) endpoint() string {
	if c.Host == "" {
		return ""
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}
