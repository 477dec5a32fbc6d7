package health

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/pages"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// deadline is the bootstrapDeadlineSeconds of all pools. It ends between the looks that are made each minute.
const deadline = 20*time.Minute + 30*time.Second

// pool is a MachineDeployment with its MachineHealthCheck, alone in a world, whose guests act by themselves. It keeps what
// Cluster API ever made of it, and wrote about it, also what is gone again.
type pool struct {
	*world
	guests   map[string]*guest // by the name of the VM
	replicas int
	// first is what the guest of the first machine does, later what those from the number from on do; nil: they do well.
	first, later behaviour
	from         int
	// lag is how long after its Node the CNI of the first machine comes; for ever when negative.
	lag time.Duration

	// restock ends the lack of VMs of the size that is sold out.
	restock func()

	// began is when the first VM was there.
	began time.Time
	// machines as they were last, in the order in which they were made, and which of them do not exist any more.
	machines []*clusterv1.Machine
	gone     map[types.UID]bool
	noted    func() // after each change of a Machine
	// ready is what BootstrapConfigReady of the first Machine was until somebody deleted that, changed when it became the last of
	// it, and shown what the MachineDeployment had in MachinesReady until then.
	ready, shown []string
	changed      time.Time
	// nodeFailed is when a Node last changed whether it is Ready, noCNI when the first machine first had CNINotReady.
	nodeFailed, cniNotReady time.Time
}

const poolName = "windows"

// inBubble plays a pool in a world of its own, by a clock of its own.
func inBubble(t *testing.T, play func(*testing.T, *pool)) {
	t.Helper()
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		p := &pool{world: w, guests: map[string]*guest{}, gone: map[types.UID]bool{}, noted: func() {}}
		w.loop.watch = p.note
		w.begin(t)
		play(t, p)
		if t.Failed() {
			for _, err := range w.loop.errors {
				t.Log(err)
			}
		}
		t.Logf("%d looks, %d errors", w.loop.looks, len(w.loop.errors))
	})
}

// change is made in what the machines of a pool are made of.
type change func(*infrav1.WindowsMachineSpec, *bootstrapv1.WindowsBootstrapConfigSpec)

// create makes the objects of a pool, as docs/health.md has them.
func (p *pool) create(t *testing.T, replicas int32, with change) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: poolName}
	windows := &infrav1.WindowsMachineTemplate{ObjectMeta: meta}
	windows.Spec.Template.Spec = infrav1.WindowsMachineSpec{
		IdentityRef: infrav1.IdentityReference{Kind: infrav1.IdentitySecret, Name: "cloud"},
		Azure: &infrav1.AzureVM{
			SubscriptionID: "00000000-0000-0000-0000-000000000000", ResourceGroup: "windows", Location: "westeurope",
			VMSize: "Standard_D4s_v5", Image: infrav1.AzureImage{ID: fake.Image},
		},
	}
	config := &bootstrapv1.WindowsBootstrapConfigTemplate{ObjectMeta: meta}
	config.Spec.Template.Spec.BootstrapDeadlineSeconds = int32(deadline.Seconds())
	if with != nil {
		with(&windows.Spec.Template.Spec, &config.Spec.Template.Spec)
	}
	deployment := &clusterv1.MachineDeployment{ObjectMeta: meta}
	expect.OK(t, yaml.UnmarshalStrict(recipe(t, 1), deployment))
	deployment.Spec.ClusterName, deployment.Spec.Replicas = clusterKey.Name, &replicas
	deployment.Spec.Template.Spec = clusterv1.MachineSpec{
		ClusterName: clusterKey.Name, Version: version,
		InfrastructureRef: reference(infrav1.GroupVersion.Group, "WindowsMachineTemplate"),
		Bootstrap:         clusterv1.Bootstrap{ConfigRef: reference(bootstrapv1.GroupVersion.Group, "WindowsBootstrapConfigTemplate")},
	}
	for _, object := range []client.Object{windows, config, deployment, healthCheck(t)} {
		expect.OK(t, p.management.Create(t.Context(), object))
	}
}

func reference(group, kind string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: poolName}
}

// healthCheck is the one of docs/health.md for the pool.
func healthCheck(t *testing.T) *clusterv1.MachineHealthCheck {
	t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	expect.OK(t, yaml.UnmarshalStrict(recipe(t, 0), check))
	check.Namespace, check.Name, check.Spec.ClusterName = namespace, poolName, clusterKey.Name
	check.Spec.Selector.MatchLabels = map[string]string{clusterv1.MachineDeploymentNameLabel: poolName}
	return check
}

// recipe is a block of YAML in docs/health.md: the MachineHealthCheck, and what the MachineDeployment has for it.
func recipe(t *testing.T, number int) []byte {
	t.Helper()
	return []byte(pages.YAML(t, "../../../docs/health.md")[number])
}

// pass lets a time pass.
func (p *pool) pass(t *testing.T, d time.Duration) {
	t.Helper()
	end := time.Now().Add(d)
	p.run(t, end, func() bool { return false })
}

// until lets the time pass until something is so.
func (p *pool) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	begin := time.Now()
	p.run(t, begin.Add(3*time.Hour), done)
	if !done() {
		t.Fatalf("%s did not come to pass in %s", what, time.Since(begin))
	}
}

// run has guests and controllers act at their times, until an end or until all is done.
func (p *pool) run(t *testing.T, end time.Time, done func() bool) {
	t.Helper()
	for {
		p.settle(t)
		if done() || !time.Now().Before(end) {
			return
		}
		next := p.loop.next(end)
		for _, g := range p.guests {
			for _, moment := range []time.Time{g.next, g.cni} {
				if moment.After(time.Now()) && moment.Before(next) {
					next = moment
				}
			}
		}
		p.loop.rest(next)
	}
}

// settle has all act until nothing is left to do now.
func (p *pool) settle(t *testing.T) {
	t.Helper()
	for range 1000 {
		synctest.Wait()
		acted := p.act(t)
		if !p.loop.pass(t.Context()) && !acted {
			return
		}
	}
	t.Fatal("the controllers do not come to rest")
}

// note keeps what becomes of the pool.
func (p *pool) note(before, now client.Object) {
	gone := now == nil
	if gone {
		now = before
	}
	switch object := now.(type) {
	case *clusterv1.Machine:
		n := slices.IndexFunc(p.machines, func(m *clusterv1.Machine) bool { return m.UID == object.UID })
		if n < 0 {
			n = len(p.machines)
			p.machines = append(p.machines, nil)
		}
		p.machines[n], p.gone[object.UID] = object, gone
		ready := conditions.Get(object, clusterv1.MachineBootstrapConfigReadyCondition)
		if n == 0 && ready != nil && object.DeletionTimestamp.IsZero() {
			p.ready = add(p.ready, string(ready.Status)+" "+ready.Reason)
			p.changed = ready.LastTransitionTime.Time
		}
		p.noted()
	case *clusterv1.MachineDeployment:
		if len(p.machines) == 0 || p.machines[0].DeletionTimestamp.IsZero() {
			p.shown = add(p.shown, conditions.GetMessage(object, clusterv1.MachineDeploymentMachinesReadyCondition))
		}
	case *infrav1.WindowsMachine:
		if conditions.GetReason(object, infrav1.CNIReadyCondition) == infrav1.CNINotReadyReason && p.cniNotReady.IsZero() {
			p.cniNotReady = time.Now()
		}
	}
}

func add(all []string, text string) []string {
	if text == "" || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// joined says whether the first Machine has a Node.
func (p *pool) joined() bool { return len(p.machines) > 0 && p.machines[0].Status.NodeRef.IsDefined() }

// deleting counts the Machines that are being deleted, staying those with a Node that are not.
func (p *pool) deleting() (count int) {
	for _, m := range p.machines {
		if !m.DeletionTimestamp.IsZero() && !p.gone[m.UID] {
			count++
		}
	}
	return count
}

func (p *pool) staying() (count int) {
	for _, m := range p.machines {
		if m.DeletionTimestamp.IsZero() && m.Status.NodeRef.IsDefined() {
			count++
		}
	}
	return count
}
