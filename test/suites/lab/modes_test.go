package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// leftovers are of the node that the image was made of.
func leftovers(g *guest.Simulated) {
	g.Files = map[string]string{
		`C:\k\SourceVip.json`: "old", `C:\run\flannel\subnet.env`: "old", cni.Folder + `\10-azure.conflist`: "{}",
		`C:\Windows\System32\azure-vnet.json`: "old",
	}
	g.Image = func(s *windows.State) {
		s.HNS = []map[string]any{
			{"kind": "networks", "ID": "nat", "Name": "nat", "Type": "NAT"},
			{"kind": "networks", "ID": "old", "Name": "azure", "Type": "Overlay", "ManagementIP": "10.9.9.9"},
			{"kind": "endpoints", "ID": "old-ep", "Name": "0123-eth0"},
		}
		s.Adapters = append(s.Adapters, windows.Adapter{Index: 77, MAC: "00-50-56-01-02-03", Name: "node", Hidden: true})
	}
}

// bring puts the programs of a CNI that has no DaemonSet into the image.
func bring(g *guest.Simulated, programs ...string) {
	for _, name := range programs {
		g.Files[`C:\opt\cni\bin\`+name+`.exe`] = "a plug-in"
	}
}

// modePools are a machine for every mode.
func (j *joins) modePools() []lab.Pool {
	var pools []lab.Pool
	for _, m := range modes {
		pools = append(pools, lab.Pool{
			Name: m.pool(), Replicas: 1, Config: m.config(), NetworkInterfaces: m.networks(),
		})
		j.worlds[m.pool()] = func(g *guest.Simulated) {
			leftovers(g)
			bring(g, m.programs...)
		}
	}
	return pools
}

// assertModes waits for the nodes, looks at their Windows, starts all once more, and looks again.
func (j *joins) assertModes(ctx context.Context) {
	for _, m := range modes {
		j.assertJoined(ctx, m, 1)
	}
	before := map[string]map[string]string{}
	for _, m := range modes {
		before[m.pool()] = j.networkIDs(ctx, m)
		j.must(j.guest(m.pool()).Restart(ctx))
	}
	for _, m := range modes {
		j.assertJoined(ctx, m, 2)
		after := j.networkIDs(ctx, m)
		if id := before[m.pool()][m.external]; after[m.external] != id {
			j.Errorf("%s: the external network was made anew at a boot, which cuts all connections", m.pool())
		}
		for _, name := range []string{m.network, m.theirs} {
			if id := before[m.pool()][name]; m.booted && after[name] == id && name != "" {
				j.Errorf("%s: the network %s was not made anew at a boot", m.pool(), name)
			}
		}
	}
}

// assertJoined waits until the node of a mode is Ready since this start of its Windows, and all is as it has to be.
func (j *joins) assertJoined(ctx context.Context, m mode, starts int) {
	j.Helper()
	computer := ""
	j.until(m.pool()+" to join", func() (any, bool) {
		machine := j.machine(ctx, m.pool())
		if machine == nil {
			return "no machine", false
		}
		computer = machine.Status.ComputerName
		missing := j.notJoined(ctx, m, machine, starts)
		return missing, missing == ""
	}, func() { j.showGuest(computer) })
}

// notJoined says what is missing.
func (j *joins) notJoined(ctx context.Context, m mode, machine *infrav1.WindowsMachine, starts int) string {
	j.Helper()
	node := j.node(ctx, machine)
	switch {
	case machine.Status.Phase != infrav1.PhaseRunning:
		return fmt.Sprintf("the machine is %s: %+v", machine.Status.Phase, machine.Status.Conditions)
	case node == nil || !initialized(*node):
		return "the node is not Ready"
	case node.Status.NodeInfo.BootID < strconv.Itoa(starts+rebootsOfImage):
		return "the kubelet has not told of this start"
	}
	switch told := machine.Status.Bootstrap; {
	case told == nil || told.State != string(plan.StateSucceeded) || len(told.Warnings) > 0:
		return fmt.Sprintf("the bootstrap is told as %+v", told)
	case starts > 1 && m.booted && !conditions.IsTrue(machine, infrav1.LastBootSucceededCondition):
		return fmt.Sprintf("every boot is told as %+v", conditions.Get(machine, infrav1.LastBootSucceededCondition))
	}
	return cmp.Diff(m.wanted(machine, node), j.have(machine, node))
}

// rebootsOfImage: cloudbase-init names the computer, which takes a start of its own.
const rebootsOfImage = 1

// wanted is the end of a mode, one thing on a line.
func (m mode) wanted(machine *infrav1.WindowsMachine, node *corev1.Node) []string {
	lines := []string{
		"node-ip " + internalIP(machine), "address " + internalIP(machine), "pods of a /24 true",
		"cni " + m.configuration, "network nat of NAT", "adapter " + m.adapter(),
	}
	for _, name := range []string{m.external, m.theirs, m.network} {
		if name != "" {
			lines = append(lines, "network "+name+" of "+m.kind)
		}
	}
	if m.kind != "" {
		virtual := "vEthernet (" + m.adapter() + ")"
		if m.cni == bootstrapv1.CNIAntrea {
			virtual = "br-int" // which the agent has renamed
		}
		lines = append(lines, "adapter "+virtual)
	}
	if m.stale {
		lines = append(lines, "network azure of Overlay", "endpoint 0123-eth0", "cni 10-azure.conflist", "stale SourceVip.json",
			"stale azure-vnet.json")
	}
	for _, endpoint := range m.endpoints {
		lines = append(lines, "endpoint "+endpoint)
	}
	if m.ours {
		lines = append(lines, "cni is for "+m.network)
	}
	if m.pooled {
		lines = append(lines, staticLine(internalIP(machine)+"/24", "203.0.113.2", pooledRoutes...))
	}
	if m.taken != "" {
		lines = append(lines, "host-local keeps "+podPrefix(node)+m.taken)
	}
	if m.proxied {
		lines = append(lines, "kube-proxy of "+machine.Status.ComputerName+" in "+m.network)
	}
	switch {
	case m.vip:
		lines = append(lines, "kube-proxy has "+podPrefix(node)+".254", "endpoint "+podPrefix(node)+".254")
	case slices.Contains(m.endpoints, "VIPEndpoint"):
		lines = append(lines, "kube-proxy has VIPEndpoint")
	}
	slices.Sort(lines)
	return lines
}

// have is what is there of the same things.
func (j *joins) have(machine *infrav1.WindowsMachine, node *corev1.Node) []string {
	j.Helper()
	lines := []string{
		"node-ip " + node.Annotations["alpha.kubernetes.io/provided-node-ip"],
		fmt.Sprintf("pods of a /24 %t", strings.HasSuffix(node.Spec.PodCIDR, ".0/24")),
	}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			lines = append(lines, "address "+address.Address)
		}
	}
	state, err := j.state(machine.Status.ComputerName)
	if err != nil {
		return []string{err.Error()}
	}
	for _, adapter := range state.Adapters {
		if !adapter.Hidden {
			lines = append(lines, "adapter "+adapter.Name)
		}
	}
	lines = append(lines, staticLines(state)...)
	lines = append(lines, hnsLines(state)...)
	lines = append(lines, j.filesOf(machine.Status.ComputerName)...)
	for _, item := range state.HNS { // HNS chooses the address
		index := slices.Index(lines, fmt.Sprintf("kube-proxy has %v", item["IPAddress"]))
		if index >= 0 && item["Name"] == "VIPEndpoint" {
			lines[index] = "kube-proxy has VIPEndpoint"
		}
	}
	slices.Sort(lines)
	return lines
}

func hnsLines(state *windows.State) []string {
	var lines []string
	for _, item := range state.HNS {
		switch item["kind"] {
		case "networks":
			lines = append(lines, fmt.Sprintf("network %v of %v", item["Name"], item["Type"]))
		case "endpoints":
			if item["Name"] == "" { // kube-proxy gives its own none
				item["Name"] = item["IPAddress"]
			}
			lines = append(lines, fmt.Sprintf("endpoint %v", item["Name"]))
		}
	}
	return lines
}

func internalIP(machine *infrav1.WindowsMachine) string {
	for _, address := range machine.Status.Addresses {
		if address.Type == clusterv1.MachineInternalIP {
			return address.Address
		}
	}
	return ""
}

func podPrefix(node *corev1.Node) string { return strings.TrimSuffix(node.Spec.PodCIDR, ".0/24") }

// filesOf a guest that say how its pods are connected.
func (j *joins) filesOf(computer string) []string {
	disk := filepath.Join(j.lab.GuestsDir(), computer, "C")
	var lines []string
	entries, _ := os.ReadDir(filepath.Join(disk, "etc", "cni", "net.d")) // a folder that is not there is seen by the lines that lack
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == "" {
			continue // a CNI's login
		}
		lines = append(lines, "cni "+entry.Name())
		var config struct {
			Name         string
			Capabilities any
		}
		if readJSON(filepath.Join(disk, "etc", "cni", "net.d", entry.Name()), &config) == nil && config.Capabilities != nil {
			lines = append(lines, "cni is for "+config.Name)
		}
	}
	for _, path := range []string{"k/SourceVip.json", "Windows/System32/azure-vnet.json"} {
		if text, err := os.ReadFile(filepath.Join(disk, filepath.FromSlash(path))); err == nil && string(text) == "old" {
			lines = append(lines, "stale "+filepath.Base(path))
		}
	}
	kept, _ := filepath.Glob(filepath.Join(disk, "var", "lib", "cni", "networks", "*", "*.2")) // the pattern is good
	for _, path := range kept {
		lines = append(lines, "host-local keeps "+filepath.Base(path))
	}
	var proxy struct {
		HostnameOverride string
		Winkernel        struct{ NetworkName, SourceVip string }
	}
	if readJSON(filepath.Join(disk, "etc", "kube-proxy", "config.conf"), &proxy) == nil {
		lines = append(lines, "kube-proxy of "+proxy.HostnameOverride+" in "+proxy.Winkernel.NetworkName)
		if proxy.Winkernel.SourceVip != "" {
			lines = append(lines, "kube-proxy has "+proxy.Winkernel.SourceVip)
		}
	}
	return lines
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// report is the last one that a guest has sent.
func (j *joins) report(computer string) (*plan.Report, error) {
	text, err := os.ReadFile(filepath.Join(j.lab.GuestsDir(), computer, "report.json"))
	if err != nil {
		return nil, err
	}
	return plan.DecodeReport(text)
}

// networkIDs are those of HNS, by name.
func (j *joins) networkIDs(ctx context.Context, m mode) map[string]string {
	j.Helper()
	ids := map[string]string{}
	wait.Eventually(j, "the networks of "+m.pool(), func(context.Context) error {
		state, err := j.state(j.machine(ctx, m.pool()).Status.ComputerName)
		if err != nil {
			return err
		}
		for _, item := range state.HNS {
			if item["kind"] == "networks" {
				ids[fmt.Sprint(item["Name"])] = fmt.Sprint(item["ID"])
			}
		}
		return nil
	})
	return ids
}
