package lab_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// The pools of TestCloudController.
const (
	shownPool  = "shown"
	hiddenPool = "hidden"
)

// TestCloudController: Calico has made its vSwitch before vSphere's cloud controller manager sees the Node. The Node gets its
// address and loses the taint all the same, because the bootstrap has told VMware Tools not to hide the adapter of the vSwitch.
// In an image whose tools cannot be told, they hide it: the Node keeps the taint, and the machine says why, and what mends it.
func TestCloudController(t *testing.T) {
	stories.Begin(t)
	j := &joins{guests: &sync.Map{}, worlds: map[string]func(*guest.Simulated){
		hiddenPool: func(g *guest.Simulated) { g.Without = []string{step.ToolboxProgram} },
	}}
	ctx, l := started(t, lab.Options{Guest: j.world, CloudControllerLater: true})
	j.story = &story{T: t, lab: l}
	calico := mode{mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNICalico, daemons: pods.CalicoBGP, proxied: true}
	for _, pool := range []string{shownPool, hiddenPool} {
		j.must(l.ApplyMachine(ctx, lab.Pool{Name: pool, Replicas: 1, Config: calico.config(), NetworkInterfaces: calico.networks()}))
	}
	for pool, reported := range map[string]int{shownPool: 1, hiddenPool: 0} {
		j.awaitVSwitch(ctx, pool, reported)
	}
	j.must(l.StartCloudController(ctx))
	j.awaitInitialized(ctx, shownPool)
	j.assertHidden(ctx)
	j.unhide(ctx)
	j.must(l.Workload.RestartCloudController(ctx))
	j.awaitInitialized(ctx, hiddenPool)
}

// awaitVSwitch waits until a Node is Ready behind a vSwitch, and the vCenter shows so many of its adapters. No cloud controller
// manager has seen it.
func (j *joins) awaitVSwitch(ctx context.Context, pool string, reported int) {
	j.Helper()
	computer := ""
	j.until("the Node of pool "+pool+" behind its vSwitch", func() (any, bool) {
		machine := j.machine(ctx, pool)
		if machine == nil {
			return "no machine", false
		}
		computer = machine.Status.ComputerName
		node := j.node(ctx, machine)
		if node == nil || !ready(*node) {
			return fmt.Sprintf("%+v", machine.Status.Conditions), false
		}
		state, err := j.state(computer)
		if err != nil {
			return err, false
		}
		behind := slices.ContainsFunc(state.Adapters, func(a windows.Adapter) bool { return a.Virtual })
		shown := j.lab.VCenter.Owner(j.T).Read(computer, "guest.net").Guest.Net
		return []any{shown, behind}, behind && len(shown) == reported && cloudTaint(*node)
	}, func() { j.showGuest(computer) })
}

// initialized says whether Cluster API and vSphere's cloud controller manager have taken their taints off and the node is Ready.
// Azure's is no more than a stand-in, and the lab tells it of an address a minute later.
func initialized(n corev1.Node) bool {
	return ready(n) && (!cloudTaint(n) || strings.HasPrefix(n.Spec.ProviderID, "azure://"))
}

// cloudTaint says whether the Node waits for its cloud controller manager.
func cloudTaint(node corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == "node.cloudprovider.kubernetes.io/uninitialized"
	})
}

// awaitInitialized waits until the cloud controller manager has given a Node its address, that of its kubelet's --node-ip, and
// what it knows of the VM.
func (j *joins) awaitInitialized(ctx context.Context, pool string) {
	j.Helper()
	j.until("the Node of pool "+pool+" to be initialized", func() (any, bool) {
		node := j.node(ctx, j.machine(ctx, pool))
		if node == nil {
			return "no node", false
		}
		told := node.Annotations["alpha.kubernetes.io/provided-node-ip"]
		addressed := slices.Contains(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: told})
		kind := node.Labels[corev1.LabelInstanceTypeStable]
		return []any{node.Spec, node.Status.Addresses, node.Labels},
			!cloudTaint(*node) && told != "" && addressed && strings.HasPrefix(kind, "vsphere-vm.cpu-")
	}, j.showCloudController)
}

// showCloudController logs the end of what the cloud controller manager has printed.
func (j *joins) showCloudController() {
	j.Helper()
	text, err := j.lab.Workload.CloudControllerPrinted()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	j.Logf("cloud controller manager (%v)\n%s", err, strings.Join(lines[max(0, len(lines)-40):], "\n"))
}

// assertHidden: the cloud controller manager has looked at the VM and found no address; the machine says so.
func (j *joins) assertHidden(ctx context.Context) {
	j.Helper()
	machine := j.machine(ctx, hiddenPool)
	j.until("the cloud controller manager to look at the hidden VM", func() (any, bool) {
		text, err := j.lab.Workload.CloudControllerPrinted()
		j.must(err)
		refused := fmt.Sprintf("error discovering node %s: VM GuestNicInfo is empty", machine.Status.ComputerName)
		// What it knows of VMs is all that it asks about a Ready Node from now on.
		unknown := fmt.Sprintf("cannot find node with providerID %s in nodeUUIDMap", machine.Spec.ProviderID)
		return []string{refused, unknown}, strings.Contains(text, refused) && strings.Contains(text, unknown)
	}, j.showCloudController)
	if node := j.node(ctx, machine); node == nil || !cloudTaint(*node) {
		j.Errorf("the Node of a VM without an address is initialized: %+v", node)
	}
	j.awaitDetail(ctx, "VMware Tools report no address of the VM")
	j.until("the bootstrap to warn of VMware Tools", func() (any, bool) {
		reported := j.machine(ctx, hiddenPool).Status.Bootstrap
		if reported == nil {
			return nil, false
		}
		return reported.Warnings, len(reported.Warnings) == 1 && strings.HasPrefix(reported.Warnings[0], "vmware-tools: ")
	}, func() {})
}

// awaitDetail waits until the hidden machine says something of its VM, or nothing.
func (j *joins) awaitDetail(ctx context.Context, begin string) {
	j.Helper()
	j.until(fmt.Sprintf("VMRunning to say %q", begin), func() (any, bool) {
		running := conditions.Get(j.machine(ctx, hiddenPool), infrav1.VMRunningCondition)
		matches := running.Message == begin || begin != "" && strings.HasPrefix(running.Message, begin)
		return running, running.Status == "True" && matches
	}, func() {})
}

// unhide does what the machine says, up to the restart of the service, which is one of Windows here.
func (j *joins) unhide(ctx context.Context) {
	j.Helper()
	computer := j.machine(ctx, hiddenPool).Status.ComputerName
	conf := filepath.Join(j.lab.GuestsDir(), computer, "C", "ProgramData", "VMware", "VMware Tools", "tools.conf")
	text, err := os.ReadFile(conf)
	j.must(err)
	j.must(os.WriteFile(conf, []byte(strings.Replace(string(text), "exclude-nics=vEthernet*", "exclude-nics=none", 1)), 0o600))
	j.must(j.guest(hiddenPool).Restart(ctx))
	j.awaitDetail(ctx, "")
}
