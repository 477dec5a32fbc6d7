package controllers

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/fake"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// pools are MachineDeployments on a stage whose guests act by themselves. It keeps all that Cluster API ever made and said of
// them, also what is gone again, from the watches of its objects.
type pools struct {
	*stage
	watches []watch.Interface
	guests  map[string]*guest // by the name of the VM
	// speed is how many times faster than ours the guests' clocks run.
	speed int
	// first is what the guest of a pool's first machine does, later what those of its last ones do; where it is nil, the guest does
	// well.
	first map[string]behaviour
	later map[string]later

	// machines of each pool as they were last, in the order in which they were made.
	machines map[string][]*clusterv1.Machine
	// gone are the Machines that do not exist any more; noted is called after each change of a Machine.
	gone  map[types.UID]bool
	noted func(pool string)
	// told is what BootstrapConfigReady of a pool's first Machine was until somebody deleted that, changed when it became the
	// last of it, and said what its MachineDeployment had in MachinesReady until then.
	told, said map[string][]string
	changed    map[string]time.Time

	// lags are how late the CNI of a pool's first machine comes, lacks since when its Node lacks it, and lacked says that its pool
	// was told of a CNI that is not there.
	lags   map[string]time.Duration
	lacks  map[string]time.Time
	lacked map[string]bool
}

// guest is the Windows in a VM. It told us something at most once in half a second.
type guest struct {
	machine     string
	began, told time.Time
	steps       []string  // that it reported last, of which Cluster API should know one
	heard       time.Time // when Cluster API last did
	// joined says that its Node was made, and done that it reported that to the end.
	joined, done bool
}

// behaviour is what a guest reports at an age, by its own clock, and whether its Node is there.
type behaviour func(age time.Duration) (report string, joins bool)

// later is what the guests of a pool's machines do from a number on; the first machine has the number 0.
type later struct {
	from int
	does behaviour
}

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

// says is a guest that reports this and nothing else, and has no Node. An empty report is none.
func says(report string) behaviour {
	return func(time.Duration) (string, bool) { return report, false }
}

func newPools(t *testing.T, s *stage, speed int) *pools {
	t.Helper()
	p := &pools{
		stage: s, speed: speed, guests: map[string]*guest{}, first: map[string]behaviour{},
		later: map[string]later{}, gone: map[types.UID]bool{}, noted: func(string) {},
		machines: map[string][]*clusterv1.Machine{}, told: map[string][]string{}, said: map[string][]string{},
		changed: map[string]time.Time{}, lags: map[string]time.Duration{}, lacks: map[string]time.Time{}, lacked: map[string]bool{},
	}
	api := expect.Got(client.NewWithWatch(s.Management.Config,
		client.Options{Scheme: s.Client.Scheme(), Mapper: s.Client.RESTMapper()}))(t)
	for _, list := range []client.ObjectList{
		&clusterv1.MachineList{}, &clusterv1.MachineDeploymentList{}, &infrav1.WindowsMachineList{},
	} {
		w := expect.Got(api.Watch(t.Context(), list, client.InNamespace(s.Name)))(t)
		t.Cleanup(w.Stop)
		p.watches = append(p.watches, w)
	}
	t.Cleanup(func() { // all tests share a workload cluster, and some ask what comes before the first Windows Node
		expect.Fine(t, shared.Client.DeleteAllOf(context.Background(), &corev1.Node{},
			client.MatchingLabels{corev1.LabelOSStable: "windows"}))
	})
	options := s.options()
	options.Speed = speed
	s.process = s.Run(t, options)
	return p
}

// create makes a pool with its MachineHealthCheck. The function changes what is made of its templates.
func (p *pools) create(t *testing.T, name string, replicas int32, change func(*world.Machine)) {
	t.Helper()
	m := p.machine(name)
	m.Config.Spec.BootstrapDeadlineSeconds = int32(deadline.Seconds())
	if change != nil {
		change(m)
	}
	meta := metav1.ObjectMeta{Namespace: p.Name, Name: name}
	windows := &infrav1.WindowsMachineTemplate{ObjectMeta: *meta.DeepCopy()}
	windows.Spec.Template.Spec = m.Windows.Spec
	config := &bootstrapv1.WindowsBootstrapConfigTemplate{ObjectMeta: *meta.DeepCopy()}
	config.Spec.Template.Spec = m.Config.Spec
	deployment := &clusterv1.MachineDeployment{ObjectMeta: *meta.DeepCopy(), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: world.ClusterName, Replicas: &replicas, Template: clusterv1.MachineTemplateSpec{Spec: m.Core.Spec},
	}}
	deployment.Spec.Template.Spec.Bootstrap.ConfigRef.Kind += "Template"
	deployment.Spec.Template.Spec.InfrastructureRef.Kind += "Template"
	expect.OK(t, yaml.UnmarshalStrict(recipe(t, 1), deployment))
	for _, object := range []client.Object{windows, config, deployment, healthCheck(t, p.Name, name)} {
		expect.OK(t, p.Client.Create(t.Context(), object))
	}
}

// await has the guests act until nothing is missing any more. Their clock stands while Cluster API knows less of them than they
// told: on a busy machine its seconds would be minutes to them.
func (p *pools) await(t *testing.T, what string, missing func() string) {
	t.Helper()
	wait.Until(t, what, func() (any, bool) {
		p.read(t)
		p.act(t)
		p.bringCNI(t)
		p.clock.hold(p.behind())
		text := missing()
		return text, text == ""
	})
}

// read takes in what the watches have.
func (p *pools) read(t *testing.T) {
	t.Helper()
	for _, w := range p.watches {
		for more := true; more; {
			select {
			case event := <-w.ResultChan():
				p.note(t, event)
			default:
				more = false
			}
		}
	}
}

func (p *pools) note(t *testing.T, event watch.Event) {
	t.Helper()
	switch object := event.Object.(type) {
	case *clusterv1.Machine:
		pool := object.Labels[clusterv1.MachineDeploymentNameLabel]
		n := slices.IndexFunc(p.machines[pool], func(m *clusterv1.Machine) bool { return m.UID == object.UID })
		if n < 0 {
			n = len(p.machines[pool])
			p.machines[pool] = append(p.machines[pool], nil)
		}
		p.machines[pool][n] = object
		p.gone[object.UID] = event.Type == watch.Deleted
		ready := conditions.Get(object, clusterv1.MachineBootstrapConfigReadyCondition)
		if n == 0 && ready != nil && object.DeletionTimestamp.IsZero() {
			p.told[pool] = add(p.told[pool], string(ready.Status)+" "+ready.Reason)
			p.changed[pool] = ready.LastTransitionTime.Time
		}
		p.noted(pool)
	case *clusterv1.MachineDeployment:
		deleted := func(m *clusterv1.Machine) bool { return !m.DeletionTimestamp.IsZero() }
		if !slices.ContainsFunc(p.machines[object.Name], deleted) {
			said := conditions.GetMessage(object, clusterv1.MachineDeploymentMachinesReadyCondition)
			p.said[object.Name] = add(p.said[object.Name], said)
		}
	case *infrav1.WindowsMachine: // by a watch: its Machine may be replaced between two looks
		pool := object.Labels[clusterv1.MachineDeploymentNameLabel]
		p.lacked[pool] = p.lacked[pool] || conditions.GetReason(object, infrav1.CNIReadyCondition) == infrav1.CNINotReadyReason
	default:
		t.Fatalf("a watch ended: %+v", event)
	}
}

func add(all []string, text string) []string {
	if text == "" || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// act has the guest of each VM that runs do what it does.
func (p *pools) act(t *testing.T) {
	t.Helper()
	for _, name := range p.cloud.Names() {
		vm, _ := p.cloud.Get(name)
		g := p.guests[name]
		if g == nil {
			g = &guest{machine: vm.Owner.Name, began: p.clock.now(), heard: time.Now()}
			p.guests[name] = g
		}
		does := p.behaviour(vm)
		if !vm.On || does == nil || g.done || time.Since(g.told) < time.Second/2 {
			continue
		}
		g.told = time.Now()
		report, joins := does(p.clock.now().Sub(g.began) * time.Duration(p.speed))
		if joins && !g.joined {
			p.NewMachine(vm.Owner.Name).Join(t)
			g.joined = true
		}
		if joins && !p.hasNode(vm.Owner.Name) {
			continue // its report would be of a Node that Cluster API has not found
		}
		p.cloud.Update(name, func(vm *fake.VM) { vm.Report = report })
		g.done = joins
		g.note(report)
	}
}

var stepReported = regexp.MustCompile(`"step":"([^"]+)"`)

// note keeps the last steps that differ.
func (g *guest) note(report string) {
	found := stepReported.FindStringSubmatch(report)
	if len(found) == 0 || slices.Contains(g.steps, found[1]) {
		return
	}
	g.steps = append(g.steps, found[1])
	if late := len(g.steps) - stepsBehind; late > 0 {
		g.steps = g.steps[late:]
	}
}

// stepsBehind is how many reports of guests Cluster API may not know yet. They report each minute of their time.
const stepsBehind = 4

// patience is how long Cluster API may take to hear what a guest told; the shortest time of a guest that is over is 15 seconds.
const patience = 4 * time.Second

// behind says whether Cluster API lags: it has yet to hear what a guest told, or to find its Node.
func (p *pools) behind() bool {
	for name, g := range p.guests {
		vm, there := p.cloud.Get(name)
		machine := p.byName(g.machine)
		if !there || !vm.On || g.done || machine == nil || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		said := conditions.GetMessage(machine, clusterv1.MachineBootstrapConfigReadyCondition)
		knows := func(step string) bool { return strings.Contains(said, step+",") }
		if !g.joined && (len(g.steps) == 0 || slices.ContainsFunc(g.steps, knows)) {
			g.heard = time.Now()
		}
		if time.Since(g.heard) > patience {
			return true
		}
	}
	return false
}

// byName is a Machine of any pool, nil when there was none of the name.
func (p *pools) byName(name string) *clusterv1.Machine {
	for _, machines := range p.machines {
		for _, m := range machines {
			if m.Name == name {
				return m
			}
		}
	}
	return nil
}

// hasNode says whether Cluster API has found a Machine's Node.
func (p *pools) hasNode(machine string) bool {
	m := p.byName(machine)
	return m != nil && m.Status.NodeRef.IsDefined()
}

// behaviour is that of the guest in a VM; nil until the watch has shown its Machine.
func (p *pools) behaviour(vm fake.VM) behaviour {
	for pool, machines := range p.machines {
		n := slices.IndexFunc(machines, func(m *clusterv1.Machine) bool { return m.Name == vm.Owner.Name })
		switch {
		case n < 0:
		case n == 0 && p.first[pool] != nil:
			return p.first[pool]
		case p.later[pool].does != nil && n >= p.later[pool].from:
			return p.later[pool].does
		default:
			return well(time.Minute)
		}
	}
	return nil
}

// joined says which of the pools have not got a Node for their last Machine.
func (p *pools) joined(names ...string) string {
	var missing []string
	for _, name := range names {
		if all := p.machines[name]; len(all) == 0 || !all[len(all)-1].Status.NodeRef.IsDefined() {
			missing = append(missing, name)
		}
	}
	return strings.Join(missing, " ")
}

// joinedAgain says which of the pools have not got a second Machine with a Node.
func (p *pools) joinedAgain(names []string) string {
	for _, name := range names {
		if len(p.machines[name]) < 2 {
			return name
		}
	}
	return p.joined(names...)
}

// made is how many Machines each pool ever had.
func (p *pools) made() map[string]int {
	made := map[string]int{}
	for name, machines := range p.machines {
		made[name] = len(machines)
	}
	return made
}
