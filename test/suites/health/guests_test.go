package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

const (
	succeeded = `{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"}}`
	working   = `{"version":1,"state":"Running","phase":{"index":4,"of":11,"name":"network"},"step":"hns-network",` +
		`"elapsed":120,"durations":{"prepare":7}}`
)

// guest is the Windows in a VM.
type guest struct {
	machine     string
	began, next time.Time // next is when it acts again
	// joined says that its Node was made, and done that it reported that to the end.
	joined, done bool
	cni          time.Time // when the CNI of its Node comes; zero when nothing more comes
}

// behaviour is what a guest reports at an age, and whether its Node is there.
type behaviour func(age time.Duration) (report string, joins bool)

// well is a guest that works for a while, reports it every minute, and brings its Node.
func well(takes time.Duration) behaviour {
	return func(age time.Duration) (string, bool) {
		if age >= takes {
			return succeeded, true
		}
		return fmt.Sprintf(`{"version":1,"state":"Running","phase":{"index":4,"of":7,"name":"network"},"step":"minute-%d",`+
			`"elapsed":%d}`, int(age.Minutes()), int(age.Seconds())), false
	}
}

// reports is a guest that reports this and nothing else, and has no Node. An empty report is none.
func reports(report string) behaviour {
	return func(time.Duration) (string, bool) { return report, false }
}

// act has the guest of each VM that runs do what it does at this time, and says whether one did something.
func (p *pool) act(t *testing.T) (acted bool) {
	t.Helper()
	for _, name := range p.cloud.Names() {
		vm, _ := p.cloud.Get(name)
		g := p.guests[name]
		if g == nil {
			g = &guest{machine: vm.Owner.Name, began: time.Now(), next: time.Now()}
			p.guests[name] = g
			if p.began.IsZero() {
				p.began = g.began
			}
		}
		if !g.cni.IsZero() && !g.cni.After(time.Now()) {
			p.setNode(t, g.machine, corev1.ConditionTrue)
			g.cni, acted = time.Time{}, true
		}
		if vm.On && !g.done && !g.next.After(time.Now()) {
			p.report(t, name, g)
			acted = true
		}
	}
	return acted
}

// report has a guest act: its Node comes first, and it reports once Cluster API has looked for that.
func (p *pool) report(t *testing.T, name string, g *guest) {
	t.Helper()
	report, joins := p.behaviourOf(g.machine)(time.Since(g.began))
	if joins && !g.joined {
		p.join(t, g)
		return
	}
	p.cloud.Update(name, func(vm *fake.VM) { vm.Report = report })
	g.done = joins
	g.next = g.began.Add(time.Since(g.began).Truncate(time.Minute) + time.Minute)
}

// behaviourOf is that of a Machine's guest.
func (p *pool) behaviourOf(machine string) behaviour {
	n := slices.IndexFunc(p.machines, func(m *clusterv1.Machine) bool { return m.Name == machine })
	switch {
	case n == 0 && p.first != nil:
		return p.first
	case p.later != nil && n >= p.from:
		return p.later
	}
	return well(time.Minute)
}

// join does what the guest's kubelet does: the node registers itself, with the machine's name and provider ID.
func (p *pool) join(t *testing.T, g *guest) {
	t.Helper()
	windows := p.windows(t, g.machine)
	kubelet := nodes.Kubelet{Now: time.Now()}
	if p.lag != 0 && g.machine == p.machines[0].Name {
		kubelet.NotReady, p.nodeFailed = nodes.NoNetwork, time.Now()
		if p.lag > 0 {
			g.cni = time.Now().Add(p.lag)
		}
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: windows.Status.ComputerName, Labels: map[string]string{corev1.LabelOSStable: "windows"}},
		Spec: corev1.NodeSpec{
			ProviderID: windows.Spec.ProviderID, Taints: []corev1.Taint{clusterv1.NodeUninitializedTaint},
		},
		Status: corev1.NodeStatus{
			Conditions: kubelet.Conditions(),
			NodeInfo:   corev1.NodeSystemInfo{OperatingSystem: "windows", KubeletVersion: version},
		},
	}
	expect.OK(t, p.workload.Create(t.Context(), node))
	g.joined = true
}

// setNode changes the Ready condition of a Machine's Node.
func (p *pool) setNode(t *testing.T, machine string, ready corev1.ConditionStatus) {
	t.Helper()
	node := &corev1.Node{}
	key := client.ObjectKey{Name: p.windows(t, machine).Status.ComputerName}
	expect.OK(t, p.workload.Get(t.Context(), key, node))
	c := &node.Status.Conditions[len(node.Status.Conditions)-1] // Ready
	c.Status, c.Message, c.LastTransitionTime = ready, "", metav1.Now()
	expect.OK(t, p.workload.Status().Update(t.Context(), node))
	p.nodeFailed = time.Now()
}

// missKubelets does what the controller manager of the workload cluster does when kubelets are silent.
func (p *pool) missKubelets(t *testing.T, machines ...*clusterv1.Machine) {
	t.Helper()
	for _, m := range machines {
		p.setNode(t, m.Name, corev1.ConditionUnknown)
	}
}

func (p *pool) windows(t *testing.T, machine string) *infrav1.WindowsMachine {
	t.Helper()
	windows := &infrav1.WindowsMachine{}
	expect.OK(t, p.management.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: machine}, windows))
	return windows
}
