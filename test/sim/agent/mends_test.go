package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// mends are what plans have for the sake of one CNI. Without it, the node ends as people saw theirs end.
var mends = []struct {
	name, golden string
	daemon       cni.Daemon
	without      func(p *plan.Plan)
	world        func(w *world)
	// symptom is in what is wrong after the first start of Windows, or only after a later one.
	symptom string
	later   bool
	// wrong is what people see, beside a daemon that fails and a kubelet that is not ready.
	wrong func(s *stage) string
}{
	{
		name: "flannel names its interface, which must have no vSwitch", golden: "network-overlay-flannel", daemon: flanneld,
		without: withOurVSwitch("Overlay"), symptom: "HNS POST /networks: 0x80070057",
	},
	{
		name: "Calico makes its own External, and removes ours below the kubelet", golden: "network-overlay-calico",
		daemon: cni.Calico("Overlay"), without: withOurVSwitch("Overlay"), wrong: cutConnections,
		symptom: "the vSwitch of the node's connections was removed after the join",
	},
	{
		name: "Calico's vSwitch drops what pools have given", golden: "network-overlay-calico-static", daemon: cni.Calico("Overlay"),
		without: dropped("-behind-cni"), wrong: cutOff, symptom: "vEthernet (node) has routes [] and name servers []",
	},
	{
		name: "also at each later start", golden: "network-overlay-calico-static", daemon: cni.Calico("Overlay"),
		without: laterWithout("-behind-cni"), wrong: cutOff, later: true,
		symptom: "vEthernet (node) has routes [] and name servers []",
	},
	{
		name: "so does flannel's", golden: "network-overlay-flannel-two-adapters", daemon: flanneld,
		without: dropped("-behind-cni"), wrong: cutOff, symptom: "vEthernet (storage) has routes [] and name servers []",
	},
	{
		name: "pods reach Azure's own addresses behind Calico", golden: "network-azure-overlay-calico", daemon: cni.Calico("Overlay"),
		without: dropped("metadata-routes-behind-cni"), wrong: noMetadata, symptom: "no route to 169.254.169.254/32",
	},
	{
		name: "Azure keeps a port of UDP for its hosts", golden: "network-azure-overlay-calico", daemon: cni.Calico("Overlay"),
		without: dropped("azure-port-excluded"), wrong: lostAnswers, symptom: "no answer comes to UDP port 65330",
	},
	{
		name: "Calico's BGP restarts a router", golden: "network-l2bridge-calico", daemon: cni.Calico("L2Bridge"),
		without: dropped("router", "router-running"), symptom: "Restart-Service : Service RemoteAccess cannot be started",
	},
	{
		name: "Azure CNI needs a MAC for remote ARP", golden: "network-azure-l2bridge-azurecni", daemon: cni.AzureVNet,
		without: dropped("remote-arp"), symptom: "pods get no answer from outside",
	},
	{
		name: "Azure CNI asks for IPv6 only with ipv6Mode", golden: "network-azure-l2bridge-dual-stack", daemon: cni.AzureVNet,
		without: editedFile("cni-configuration", `"ipv6Mode":"ipv6nat",`), wrong: onlyIPv4, symptom: "the pod has no IPv6 address",
	},
	{
		name: "azure-vnet-ipamv6 reads the Node", golden: "network-azure-l2bridge-dual-stack", daemon: cni.AzureVNet,
		without: dropped("ipam-kubeconfig"), symptom: `azure-vnet-ipamv6: stat c:\k\config`,
	},
	{
		name: "azure-vnet believes its file more than HNS", golden: "network-azure-l2bridge-azurecni", daemon: cni.AzureVNet,
		without: laterWithout("stale-network-files"), later: true, symptom: "azure-vnet.json has a network that HNS does not have",
	},
	{
		name: "Antrea needs Hyper-V's cmdlets", golden: "network-transparent-antrea", daemon: cni.Antrea,
		without: dropped("network-features"), symptom: "Get-VMNetworkAdapter is not recognized",
	},
	{
		name: "Antrea needs the firewall off", golden: "network-transparent-antrea", daemon: cni.Antrea,
		without: dropped("firewall-off"), symptom: "tunnels do not pass Windows' firewall",
	},
	{
		name: "Antrea's network must go at each start, by its own script", golden: "network-transparent-antrea", daemon: cni.Antrea,
		without: laterWithout("run-prepare-antrea"), later: true,
		symptom: "the Open vSwitch Extension of antrea-hnsnetwork is disabled",
	},
	{
		name: "Antrea's vSwitch drops what pools have given", golden: "network-transparent-antrea-static", daemon: cni.Antrea,
		without: dropped("-behind-cni"), wrong: cutOff, symptom: "br-int has routes [] and name servers []",
	},
	{
		name: "its end does so at each later start", golden: "network-transparent-antrea-static", daemon: cni.Antrea,
		without: laterWithout("-before-cni", "-behind-cni"), wrong: cutOff, later: true,
		symptom: "br-int has routes [] and name servers []",
	},
	{
		name: "endpoints outlive their pods", golden: "network-l2bridge-flannel", daemon: flanneld,
		without: laterWithout("stale-networks"), later: true, wrong: ghosts, symptom: "endpoint pod0_cbr0 has no pod",
	},
	{
		name: "HNS picks any adapter that is free", golden: "network-l2bridge-flannel", daemon: flanneld, world: withSecondAdapter,
		without: withoutAdapterName, wrong: notOn("Ethernet0 2", "External"), symptom: "External is on Ethernet1",
	},
	{
		name: "azure-vnet names none that has a vSwitch", golden: "network-azure-l2bridge-azurecni-several", daemon: cni.AzureVNet,
		world: withSecondAdapter, without: editedFile("cni-configuration", `"adapterName":"node",`), wrong: notOn("node", "azure"),
		symptom: "azure is on Ethernet1",
	},
}

// Each mend is needed: with it the CNI's daemon and the node do well, also after a later start; without it they do not.
func TestMendsAreNeeded(t *testing.T) {
	t.Parallel()
	for _, mend := range mends {
		t.Run(mend.name, func(t *testing.T) {
			t.Parallel()
			golden := mustRead(t, mend.golden)
			for _, mended := range []bool{true, false} {
				p := expect.Got(plan.Decode(golden))(t)
				if !mended {
					mend.without(p)
				}
				v := networkWorld(expect.Got(p.Encode())(t))
				delete(v.World.Files, `C:\etc\cni\net.d\99-mine.conf`)
				if !strings.HasSuffix(mend.golden, "two-adapters") {
					v.World.Adapters = v.World.Adapters[:1]
				}
				if mend.world != nil {
					mend.world(&v.World)
				}
				s := newStage(t, v)
				c := s.withCNI(mend.daemon)
				s.live()
				first := c.wrong(mend.wrong)
				c.startAgain()
				all := []string{first, c.wrong(mend.wrong)}
				switch {
				case mended && strings.Join(all, "") != "":
					t.Errorf("the plan has it, and is wrong all the same: %q", all)
				case !mended && mend.later && (first != "" || !strings.Contains(all[1], mend.symptom)):
					t.Errorf("without it a later start ends with %q, want %q", all, mend.symptom)
				case !mended && !mend.later && !strings.Contains(first, mend.symptom):
					t.Errorf("without it the node ends with %q, want %q", first, mend.symptom)
				}
			}
		})
	}
}

// flanneld is the service as the plan has made it for nssm.exe, until it has told the addresses of the node's pods, and a pod.
func flanneld(m *windows.Machine) error {
	const key = windows.ServicesKey + `\flanneld\Parameters`
	flags, _, err := m.ReadRegistry(key, "AppParameters")
	environment, _, failed := m.ReadRegistry(key, "AppEnvironmentExtra")
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	call := &windows.Call{
		Machine: m, Argv: append([]string{"flanneld.exe"}, windows.SplitArguments(flags.Text)...), Env: map[string]string{},
	}
	for _, line := range environment.List {
		name, value, _ := strings.Cut(line, "=")
		call.Env[name] = value
	}
	api := fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: call.Env["NODE_NAME"]}, Spec: corev1.NodeSpec{PodCIDR: "10.244.3.0/24"},
	})
	connect := func(string, string) (kubernetes.Interface, error) { return api, nil }
	daemon, err := cni.StartFlanneld(context.Background(), call, connect)
	if err != nil {
		return err
	}
	return cni.RunPod(m, daemon.Network(), nil)
}

// played is a node whose CNI runs its daemon each time when the kubelet starts.
type played struct {
	*stage
	daemon cni.Daemon
	failed string
}

func (s *stage) withCNI(daemon cni.Daemon) *played {
	c := &played{stage: s, daemon: daemon}
	scripted := s.Machine.Intercept
	s.Machine.Intercept = func(call *windows.Call) windows.Program {
		line := strings.Join(call.Argv, " ")
		if strings.HasPrefix(line, kubeadmPath+" join") {
			s.Effect("joined behind " + s.externalID())
		}
		if strings.HasSuffix(line, "-prepare-antrea.ps1") {
			expect.OK(s.t, cni.PrepareAntrea(s.Machine))
		}
		if line == startFlanneld || line == "sc.exe start kubelet" && !c.hasFlanneld() {
			c.run()
		}
		return scripted(call)
	}
	return c
}

// hasFlanneld tells that the daemon is a service of the node.
func (c *played) hasFlanneld() bool {
	_, there, err := c.Machine.ReadRegistry(windows.ServicesKey+`\flanneld`, "ImagePath")
	return err == nil && there
}

func (c *played) run() {
	c.failed = ""
	if err := c.daemon(c.Machine); err != nil {
		c.failed = err.Error()
	}
}

// startAgain is a later start of Windows, which starts the kubelet itself unless the plan does.
func (c *played) startAgain() {
	c.t.Helper()
	c.bootAgain()
	start, _, err := c.Machine.ReadRegistry(windows.ServicesKey+`\kubelet`, "Start")
	expect.OK(c.t, err)
	if start.Number == 2 {
		c.run()
	}
	c.start()
}

// wrong is all that is wrong with the node, when the kubelet has started once more what failed.
func (c *played) wrong(more func(*stage) string) string {
	c.t.Helper()
	if c.failed != "" {
		c.run()
	}
	all := []string{c.failed, cni.NotReady(c.Machine)}
	report := c.end()
	if report.State != plan.StateSucceeded || report.Boot != nil && report.Boot.State != plan.StateSucceeded {
		all = append(all, report.Message, fmt.Sprint(report.Boot))
	}
	if more != nil {
		all = append(all, more(c.stage))
	}
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), "; ")
}

// dropped leaves steps out, those of the bootstrap and those of every boot, by their names or the ends of them.
func dropped(names ...string) func(*plan.Plan) {
	return func(p *plan.Plan) { drop(p.Phases, names); drop(p.EveryBoot, names); drop(p.Background, names) }
}

// laterWithout leaves steps out of every boot alone.
func laterWithout(names ...string) func(*plan.Plan) {
	return func(p *plan.Plan) { drop(p.EveryBoot, names) }
}

func drop(phases []plan.Phase, names []string) {
	for i := range phases {
		phases[i].Steps = slices.DeleteFunc(phases[i].Steps, func(one plan.Step) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(one.Base().Name, name) })
		})
	}
}

// withOurVSwitch makes the network External before the join, on the adapter of the default route.
func withOurVSwitch(kind string) func(*plan.Plan) {
	return func(p *plan.Plan) {
		at := slices.IndexFunc(p.Phases, func(phase plan.Phase) bool { return phase.Name == "network" })
		subnet := map[string]any{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}
		p.Phases[at].Steps = append(p.Phases[at].Steps, &plan.HNSNetwork{
			Common:  plan.Common{Name: "external-network"},
			Request: plan.Tree{"Name": "External", "Type": kind, "Subnets": []any{subnet}, "NetworkAdapterName": "Ethernet0 2"},
		})
	}
}

func withoutAdapterName(p *plan.Plan) {
	for _, phase := range slices.Concat(p.Phases, p.EveryBoot) {
		for _, one := range phase.Steps {
			if network, ok := one.(*plan.HNSNetwork); ok {
				delete(network.Request, "NetworkAdapterName")
			}
		}
	}
}

// editedFile takes a text out of a file.
func editedFile(name, text string) func(*plan.Plan) {
	return func(p *plan.Plan) {
		for _, phase := range slices.Concat(p.Phases, p.EveryBoot) {
			for _, one := range phase.Steps {
				if file, ok := one.(*plan.File); ok && file.Name == name {
					file.Text = plan.Text(strings.ReplaceAll(file.Text.String(), text, ""))
				}
			}
		}
	}
}

// lostAnswers are those to a port of the host that Windows itself has used.
func lostAnswers(s *stage) string {
	lost := ""
	expect.OK(s.t, s.Machine.Setup(func(all *windows.State) {
		ports := windows.PortRange{Start: 65330, Count: 1}
		if !slices.Contains(all.ExcludedPorts["ipv4 udp"], ports) {
			lost = "no answer comes to UDP port 65330"
		}
	}))
	return lost
}

func withSecondAdapter(w *world) {
	w.Adapters = append(w.Adapters, worldAdapter{Index: 12, MAC: "00-50-56-00-00-02", Name: "Ethernet1"})
	w.Addresses = append(w.Addresses, worldAddress{Index: 12, Address: "10.7.0.5/24", Origin: "Dhcp"})
}
