package controllers

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/fake"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// The times of TestHealthCheck. The guests' clocks run haste times faster than ours, and the rules' times are shorter, too.
const (
	haste    = 60
	shorter  = 30
	ruleTime = 300 * time.Second / shorter
	deadline = 20 * time.Minute
	// allLimits is the deadline, 15 minutes for a silent guest and 10 minutes for a missing Node.
	allLimits = (deadline + 15*time.Minute + 10*time.Minute) / haste
)

// soldOut is a size of which the cloud has no VM.
const soldOut = "Standard_D64s_v5"

// pool is one MachineDeployment of TestHealthCheck.
type pool struct {
	reason   string
	replicas int32 // 1 when zero
	change   func(*world.Machine)
	first    behaviour // of the first guest; nil: it does well
	// ends is what BootstrapConfigReady of the first Machine is in the end, made how many Machines the pool has made by then.
	ends string
	made int
	// sentence stood on the MachineDeployment while the pool had its first Machine.
	sentence string
	// lag is how long after its Node the CNI of the first Machine comes, in the time of the rules; for ever when negative.
	lag time.Duration
}

var healthPools = map[string]pool{
	"waiting": {
		reason: "a new Machine would wait for capacity, too", replicas: 2, made: 2, ends: "Unknown WaitingForGuest",
		change:   func(m *world.Machine) { m.Windows.Spec.Azure.VMSize = soldOut },
		sentence: `InfrastructureReady: the cloud has no capacity for VMs of size "Standard_D64s_v5"`,
	},
	"slow": {
		reason: "a guest that reports is at work, whatever the rule's time is", first: well(deadline - time.Minute),
		made: 1, ends: "True Joined", sentence: "BootstrapConfigReady: Bootstrap 4/7 network, step minute-",
	},
	"failed": {
		reason: "the guest gave up", first: says(`{"version":1,"state":"Failed","reason":"ImageVersionMismatch","elapsed":9,` +
			`"phase":{"index":1,"of":7,"name":"prepare"},"message":"the image has kubeadm 1.35, the Machine wants 1.36"}`),
		made: 2, ends: "False ImageVersionMismatch", sentence: `BootstrapConfigReady: Bootstrap 1/7 prepare failed after 9s: ` +
			`"the image has kubeadm 1.35, the Machine wants 1.36" (ImageVersionMismatch)`,
	},
	"silent": {
		reason: "nobody knows what the guest does", first: says(""), made: 2, ends: "False GuestSilent",
		sentence: "BootstrapConfigReady: the guest has not reported within its limit of 20m and the 15m that Windows gets to start",
	},
	"overdue": {
		reason: "the guest has fallen silent", first: says(working), made: 2, ends: "False BootstrapOverdue",
		sentence: "BootstrapConfigReady: Bootstrap 4/11 network, step hns-network, 2m of at most 20m; the guest has not reported since",
	},
	"nodeless": {
		reason: "the guest reports success, but Cluster API finds no Node", first: says(succeeded), made: 2, ends: "False NodeMissing",
		sentence: "BootstrapConfigReady: Bootstrap succeeded after 0s of at most 20m, but Cluster API found no Node",
	},
	"invalid": {
		reason: "a new Machine has the same config", made: 1, ends: "Unknown ConfigInvalid",
		change: func(m *world.Machine) {
			m.Config.Spec.Kubelet.Configuration.Raw = []byte(`{"cgroupsPerQOS":true}`)
		},
		sentence: "BootstrapConfigReady: WindowsBootstrapConfig spec.kubelet.configuration",
	},
	"sourceless": {
		reason: "a new Machine lacks the same Secret", made: 1, ends: "Unknown WaitingForSources",
		change: func(m *world.Machine) {
			m.Config.Spec.Custom.Files = []bootstrapv1.CustomFile{{
				Path:        `C:\etc\app.key`,
				ContentFrom: bootstrapv1.ContentSource{Secret: bootstrapv1.KeyReference{Name: "app", Key: "key"}},
			}}
		},
		sentence: "BootstrapConfigReady: the config refers to",
	},
	"unpaid": {
		reason: "a new Machine lacks the same credentials", made: 1, ends: "Unknown WaitingForGuest",
		change:   func(m *world.Machine) { m.Windows.Spec.IdentityRef.Name = "nobody" },
		sentence: "InfrastructureReady: ",
	},
	"off": {
		reason: "somebody switched the VM off while it bootstrapped, and can switch it on again", first: well(haste * allLimits),
		made: 1, ends: "Unknown WaitingForVM", sentence: "InfrastructureReady: VM ",
	},
	"vanished": {
		reason: "the VM was removed while it bootstrapped, and a Machine gets no second one", first: well(haste * allLimits),
		made: 2, ends: "False VMVanished", sentence: "BootstrapConfigReady: VM ",
	},
	"gone": {
		reason: "the VM was removed after its Node had joined: the rule for guests leaves it to those for Nodes",
		made:   1, ends: "True Joined", sentence: "InfrastructureReady: VM ",
	},
	"lost": {
		reason: "the same, and the workload cluster misses the kubelet: a rule for Nodes replaces it",
		made:   2, ends: "True Joined", sentence: "InfrastructureReady: VM ",
	},
	"cni-late": {
		reason: "the CNI's image is pulled for 400 s from the Node's registration: a new Machine would wait as long",
		lag:    400 * time.Second, made: 1, ends: "True Joined", sentence: "cni plugin not initialized",
	},
	"cni-never": {
		reason: "the Node stays without its CNI, which is told before it is replaced", lag: -time.Hour,
		made: 2, ends: "True Joined", sentence: "cni plugin not initialized",
	},
}

// TestHealthCheck runs Cluster API's own MachineHealthCheck, with the rules of docs/health.md, over pools in which all goes wrong
// that can. It replaces the machines whose guest will not bring a Node any more, when the time of the rule is over, and leaves
// alone those that a new Machine would not help.
//
//nolint:paralleltest // because its clock runs so fast that the work of other tests would make guests look silent
func TestHealthCheck(t *testing.T) {
	p := newPools(t, newStage(t, world.Start{Credentials: password}), haste)
	release := p.cloud.Exhaust(soldOut)
	want := map[string]int{}
	for name, pool := range healthPools {
		p.first[name], p.lags[name], want[name] = pool.first, pool.lag/shorter, pool.made
		if pool.lag == 0 {
			p.create(t, name, max(1, pool.replicas), pool.change)
		}
	}
	p.await(t, "machines to take from", func() string {
		for _, name := range []string{"off", "vanished"} {
			if !slices.Contains(p.told[name], "Unknown Bootstrapping") {
				return name
			}
		}
		return p.joined("gone", "lost")
	})
	p.cloud.Update(p.vm(t, "off"), func(vm *fake.VM) { vm.On = false })
	for _, name := range []string{"vanished", "gone", "lost"} {
		p.cloud.Drop(p.vm(t, name))
	}
	p.missKubelets(t, p.machines["lost"][0])

	var replaced []string
	for name, pool := range healthPools {
		if pool.made > max(1, int(pool.replicas)) {
			replaced = append(replaced, name)
		}
	}
	nodeless := slices.DeleteFunc(slices.Clone(replaced), func(name string) bool { return healthPools[name].lag != 0 })
	p.await(t, "new nodes for those that will not come", func() string {
		return p.joinedAgain(nodeless) + p.joined("slow")
	})
	t.Logf("the clock of the guests was held for %s", time.Since(p.clock.now()).Round(time.Second))
	p.clock.catchUp()
	for name, pool := range healthPools {
		if pool.lag != 0 { // only now: the rule for Nodes goes by a clock that nobody holds while Cluster API has much to do
			p.create(t, name, 1, pool.change)
		}
	}
	p.await(t, "a new node for that without a CNI", func() string {
		p.clock.catchUp() // the 15 minutes of a CNI and the rule begin at the same moment, and end by the same clock
		return p.joinedAgain([]string{"cni-never"}) + p.joined("cni-late")
	})
	p.await(t, "the end of all limits and of the rule", func() string {
		waiting := p.machines["waiting"]
		if len(waiting) < 2 {
			return "both machines"
		}
		if left := waiting[1].CreationTimestamp.Add(allLimits + ruleTime).Sub(p.clock.now()); left > 0 {
			return left.String()
		}
		return ""
	})
	expect.Same(t, "machines made per pool", want, p.made())
	p.checkStories(t)
	for _, name := range replaced {
		if name != "lost" && name != "cni-never" {
			p.checkRuleTime(t, name)
		}
	}
	if !p.lacked["cni-never"] {
		t.Error("nobody was told of the CNI that did not come")
	}

	if t.Failed() {
		return // its machines are others by now
	}
	release()
	p.cloud.Update(p.vm(t, "off"), func(vm *fake.VM) { vm.On = true })
	for _, m := range p.machines["waiting"] {
		p.process.Reconcile(t, world.Machines, client.ObjectKeyFromObject(m))
	}
	p.await(t, "nodes of those that waited", func() string { return p.joined("waiting", "off") })
	expect.Same(t, "machines made per pool in the end", want, p.made())
}

// healthCheck is the one of docs/health.md for a pool, with shorter times.
func healthCheck(t *testing.T, namespace, pool string) *clusterv1.MachineHealthCheck {
	t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	expect.OK(t, yaml.UnmarshalStrict(recipe(t, 0), check))
	check.Namespace, check.Name, check.Spec.ClusterName = namespace, pool, world.ClusterName
	check.Spec.Selector.MatchLabels = map[string]string{clusterv1.MachineDeploymentNameLabel: pool}
	for _, rule := range check.Spec.Checks.UnhealthyMachineConditions {
		*rule.TimeoutSeconds /= shorter
	}
	for _, rule := range check.Spec.Checks.UnhealthyNodeConditions {
		*rule.TimeoutSeconds /= shorter
	}
	return check
}

// recipe is a block of YAML in docs/health.md: the MachineHealthCheck, and what the MachineDeployment has for it.
func recipe(t *testing.T, number int) []byte {
	t.Helper()
	page := expect.Got(os.ReadFile("../../docs/health.md"))(t)
	blocks := strings.Split(string(page), "```yaml\n")
	if len(blocks) < number+2 {
		t.Fatalf("docs/health.md has %d blocks of YAML", len(blocks)-1)
	}
	text, _, _ := strings.Cut(blocks[number+1], "```\n")
	return []byte(text)
}

// vm is the name of the VM of a pool's first machine.
func (p *pools) vm(t *testing.T, name string) string {
	t.Helper()
	return p.NewMachine(p.machines[name][0].Name).Load(t).Windows.Status.ComputerName
}

// missKubelets does what the controller manager of the workload cluster does when kubelets are silent.
func (p *pools) missKubelets(t *testing.T, machines ...*clusterv1.Machine) {
	t.Helper()
	for _, m := range machines {
		setNode(t, p, p.NewMachine(m.Name).Load(t).Node, corev1.ConditionUnknown, "")
	}
}

// bringCNI has the Nodes of pools' first machines say that they have no CNI, until it comes.
func (p *pools) bringCNI(t *testing.T) {
	t.Helper()
	for name, lag := range p.lags {
		if lag == 0 || len(p.machines[name]) == 0 || p.joined(name) != "" && p.lacks[name].IsZero() {
			continue
		}
		now := p.NewMachine(p.machines[name][0].Name).Load(t)
		if now.Node == nil || now.Windows == nil {
			continue
		}
		switch began := p.lacks[name]; {
		case began.IsZero():
			p.lacks[name] = time.Now()
			setNode(t, p, now.Node, corev1.ConditionFalse, "container runtime network not ready: NetworkReady=false "+
				"reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")
		case lag > 0 && time.Since(began) >= lag && now.Node.Status.Conditions[0].Status == corev1.ConditionFalse:
			setNode(t, p, now.Node, corev1.ConditionTrue, "")
		}
	}
}

func setNode(t *testing.T, p *pools, node *corev1.Node, ready corev1.ConditionStatus, message string) {
	t.Helper()
	world.ChangeStatus(t, p.Client, node, func(n *corev1.Node) {
		c := &n.Status.Conditions[0]
		c.Status, c.Message, c.LastTransitionTime = ready, message, metav1.Now()
	})
}

// checkStories compares what the pools' first Machines and MachineDeployments said.
func (p *pools) checkStories(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(healthPools)) {
		pool, told, said := healthPools[name], p.told[name], strings.Join(p.said[name], "\n")
		if len(told) == 0 || told[len(told)-1] != pool.ends {
			t.Errorf("%s (%s): BootstrapConfigReady of the first Machine was %q and not in the end %q", name, pool.reason, told, pool.ends)
		}
		if !strings.Contains(said, pool.sentence) {
			t.Errorf("%s (%s): the MachineDeployment did not say\n%s\nbut\n%s", name, pool.reason, pool.sentence, said)
		}
	}
}

// checkRuleTime compares when a pool's first Machine was deleted with how long its condition had been False by then.
func (p *pools) checkRuleTime(t *testing.T, name string) {
	t.Helper()
	deleted, since := p.machines[name][0].DeletionTimestamp, p.changed[name]
	if deleted.IsZero() || deleted.Sub(since) < ruleTime {
		t.Errorf("%s: the first Machine was deleted at %v, unhealthy since %v; the rule says %s", name, deleted, since, ruleTime)
	}
}
