// Package health tests the MachineHealthCheck of docs/health.md: Cluster API's own controllers with ours, in hours that take no
// time. Controllers are called, not run, so that one clock rules all: that of the bubble.
package health

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

const (
	// bootstrapRule, unknownRule and notReadyRule are the times of the rules in docs/health.md.
	bootstrapRule, unknownRule, notReadyRule = 300 * time.Second, 300 * time.Second, 1800 * time.Second
	// late is how much later than its rule's time a Machine may be deleted. Cluster API looks a second after it.
	late = 2 * time.Second
	// allLimits are those of a guest, of its Node and of the rule, one after the other: longer than any rule.
	allLimits = deadline + 15*time.Minute + 10*time.Minute + bootstrapRule
	// soldOut is a size of which the cloud has no VM.
	soldOut = "Standard_D64s_v5"
)

// row is what happens in a pool of TestHealthCheck.
type row struct {
	reason   string
	replicas int32 // 1 when zero
	change   change
	first    behaviour     // of the first guest; nil: it does well
	lag      time.Duration // of the CNI
	// when something is so of the first machine, then something happens to it.
	when func(*pool) bool
	then func(*testing.T, *pool)
	// made is how many Machines the pool has made in the end, and rule which time the first had to become well again.
	made int
	rule time.Duration
	// ends is what BootstrapConfigReady of the first Machine is in the end. If it is False, it became so fails after the VM's start.
	ends  string
	fails time.Duration
	// sentence stood on the MachineDeployment while the pool had its first Machine.
	sentence string
	// mend brings what was missing, if that helps.
	mend func(*testing.T, *pool)
}

var healthPools = map[string]row{
	"waiting": {
		reason: "a new Machine would wait for capacity, too", replicas: 2, made: 2, ends: "Unknown WaitingForGuest",
		change: func(m *infrav1.WindowsMachineSpec, _ *bootstrapv1.WindowsBootstrapConfigSpec) {
			m.Azure.VMSize = soldOut
		},
		sentence: `InfrastructureReady: the cloud has no capacity for VMs of size "Standard_D64s_v5"`,
		mend:     func(_ *testing.T, p *pool) { p.restock() },
	},
	"slow": {
		reason: "a guest that reports is at work, whatever the rule's time is", first: well(deadline - time.Minute),
		made: 1, ends: "True Joined", sentence: "BootstrapConfigReady: Bootstrap 4/7 network, step minute-",
	},
	"failed": {
		reason: "the guest gave up", first: reports(gaveUp), made: 2, rule: bootstrapRule, ends: "False ImageVersionMismatch",
		sentence: `BootstrapConfigReady: Bootstrap 1/7 prepare failed after 9s: ` +
			`"the image has kubeadm 1.35, the Machine needs 1.36" (ImageVersionMismatch)`,
	},
	"silent": {
		reason: "nobody knows what the guest does", first: reports(""), made: 2, rule: bootstrapRule, ends: "False GuestSilent",
		fails:    deadline + 15*time.Minute,
		sentence: "BootstrapConfigReady: the guest has not reported within its limit of 20m30s and the 15m that Windows gets to start",
	},
	"overdue": {
		reason: "the guest has fallen silent", first: reports(working), made: 2, rule: bootstrapRule, ends: "False BootstrapOverdue",
		fails: deadline - 2*time.Minute + 15*time.Minute, // it had worked for 2 minutes when it reported
		sentence: "BootstrapConfigReady: Bootstrap 4/11 network, step hns-network, 2m of at most 20m30s; the guest has not " +
			"reported since",
	},
	"nodeless": {
		reason: "the guest reports success, but Cluster API finds no Node", first: reports(succeeded), made: 2, rule: bootstrapRule,
		ends: "False NodeMissing", fails: 10 * time.Minute,
		sentence: "BootstrapConfigReady: Bootstrap succeeded after 0s of at most 20m30s, but Cluster API found no Node",
	},
	"invalid": {
		reason: "a new Machine has the same config", made: 1, ends: "Unknown ConfigInvalid",
		change: func(_ *infrav1.WindowsMachineSpec, c *bootstrapv1.WindowsBootstrapConfigSpec) {
			c.Kubelet.Configuration.Raw = []byte(`{"cgroupsPerQOS":true}`)
		},
		sentence: "BootstrapConfigReady: WindowsBootstrapConfig spec.kubelet.configuration",
	},
	"sourceless": {
		reason: "a new Machine lacks the same Secret", made: 1, ends: "Unknown WaitingForSources",
		change: func(_ *infrav1.WindowsMachineSpec, c *bootstrapv1.WindowsBootstrapConfigSpec) {
			c.Custom.Files = []bootstrapv1.CustomFile{{
				Path:        `C:\etc\app.key`,
				ContentFrom: bootstrapv1.ContentSource{Secret: bootstrapv1.KeyReference{Name: "app", Key: "key"}},
			}}
		},
		sentence: "BootstrapConfigReady: the config refers to",
	},
	"unpaid": {
		reason: "a new Machine lacks the same credentials", made: 1, ends: "Unknown WaitingForGuest",
		change: func(m *infrav1.WindowsMachineSpec, _ *bootstrapv1.WindowsBootstrapConfigSpec) {
			m.IdentityRef.Name = "nobody"
		},
		sentence: "InfrastructureReady: ",
	},
	"off": {
		reason: "somebody switched the VM off while it bootstrapped, and can switch it on again", first: well(deadline),
		when: bootstraps, then: func(t *testing.T, p *pool) { p.power(t, false) }, made: 1, ends: "Unknown WaitingForVM",
		sentence: "InfrastructureReady: VM ", mend: func(t *testing.T, p *pool) { p.power(t, true) },
	},
	"vanished": {
		reason: "the VM was removed while it bootstrapped, and a Machine gets no second one", first: well(deadline),
		when: bootstraps, then: func(t *testing.T, p *pool) { p.cloud.Drop(p.vm(t)) }, made: 2, rule: bootstrapRule,
		ends: "False VMVanished", sentence: "BootstrapConfigReady: VM ",
	},
	"gone": {
		reason: "the VM was removed after its Node had joined: the rule for guests leaves it to those for Nodes",
		when:   (*pool).joined, then: func(t *testing.T, p *pool) { p.cloud.Drop(p.vm(t)) },
		made: 1, ends: "True Joined", sentence: "InfrastructureReady: VM ",
	},
	"lost": {
		reason: "the same, and the workload cluster misses the kubelet: a rule for Nodes replaces it",
		when:   (*pool).joined, then: func(t *testing.T, p *pool) {
			p.cloud.Drop(p.vm(t))
			p.missKubelets(t, p.machines[0])
		},
		made: 2, rule: unknownRule, ends: "True Joined", sentence: "InfrastructureReady: VM ",
	},
	"cni-late": {
		reason: "the CNI's image is pulled for 400 s from the Node's registration: a new Machine would wait as long",
		lag:    400 * time.Second, made: 1, ends: "True Joined", sentence: "cni plugin not initialized",
	},
	"cni-never": {
		reason: "the Node stays without its CNI, which its WindowsMachine shows before it is replaced", lag: -1,
		made: 2, rule: notReadyRule, ends: "True Joined", sentence: "cni plugin not initialized",
	},
}

const gaveUp = `{"version":1,"state":"Failed","reason":"ImageVersionMismatch","elapsed":9,` +
	`"phase":{"index":1,"of":7,"name":"prepare"},"message":"the image has kubeadm 1.35, the Machine needs 1.36"}`

// TestHealthCheck runs Cluster API's own MachineHealthCheck, with the rules and times of docs/health.md, over pools in which all
// goes wrong that can. It replaces the machines whose guest will not bring a Node any more, when the time of the rule is over,
// and leaves alone those that a new Machine would not help.
func TestHealthCheck(t *testing.T) {
	t.Parallel()
	for name, row := range healthPools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, row.play)
		})
	}
}

func (r row) play(t *testing.T, p *pool) {
	p.restock = p.cloud.Exhaust(soldOut)
	p.first, p.lag = r.first, r.lag
	p.create(t, max(1, r.replicas), r.change)
	if r.when != nil {
		p.until(t, "the first machine to be where something happens to it", func() bool { return r.when(p) })
		r.then(t, p)
	}
	p.pass(t, allLimits)
	expect.Same(t, "machines made", r.made, len(p.machines))
	r.checkStory(t, p)
	r.checkTimes(t, p)
	if r.mend != nil {
		r.mend(t, p)
		p.pass(t, deadline)
		expect.Same(t, "machines made in the end", r.made, len(p.machines))
	}
	if r.rule != 0 || r.mend != nil {
		expect.Same(t, "machines with a Node in the end", max(1, int(r.replicas)), p.staying())
	}
}

// checkStory compares what the first Machine and the MachineDeployment had in their conditions.
func (r row) checkStory(t *testing.T, p *pool) {
	t.Helper()
	if len(p.ready) == 0 || p.ready[len(p.ready)-1] != r.ends {
		t.Errorf("%s: BootstrapConfigReady of the first Machine was %q and not in the end %q", r.reason, p.ready, r.ends)
	}
	if shown := strings.Join(p.shown, "\n"); !strings.Contains(shown, r.sentence) {
		t.Errorf("%s: the MachineDeployment did not have\n%s\nbut\n%s", r.reason, r.sentence, shown)
	}
}

// checkTimes compares when the first Machine became unhealthy and was deleted with the limits and the rule.
func (r row) checkTimes(t *testing.T, p *pool) {
	t.Helper()
	since := p.nodeFailed
	if strings.HasPrefix(r.ends, "False ") {
		since = p.changed
	}
	if after := since.Sub(p.began); r.fails != 0 && after != r.fails {
		t.Errorf("%s: the first guest was given up %s after its VM's start, want %s", r.reason, after, r.fails)
	}
	switch deleted := p.machines[0].DeletionTimestamp; {
	case r.rule == 0 && !deleted.IsZero(), r.rule != 0 && deleted.IsZero():
		t.Errorf("%s: the first Machine was deleted at %s", r.reason, deleted)
	case r.rule != 0 && (deleted.Sub(since) < r.rule || deleted.Sub(since) > r.rule+late):
		t.Errorf("%s: the first Machine was deleted at %s, unhealthy since %s; the rule has %s", r.reason, deleted, since, r.rule)
	}
	if r.lag < 0 {
		expect.Same(t, "time from the Node without a CNI until its machine shows it", 15*time.Minute, p.cniNotReady.Sub(p.nodeFailed))
	} else if !p.cniNotReady.IsZero() {
		t.Errorf("%s: a WindowsMachine had CNINotReady at %s", r.reason, p.cniNotReady)
	}
}

// bootstraps says whether the first guest is at work.
func bootstraps(p *pool) bool {
	return len(p.ready) > 0 && p.ready[len(p.ready)-1] == "Unknown Bootstrapping"
}

// vm is the name of the first machine's VM.
func (p *pool) vm(t *testing.T) string {
	t.Helper()
	return p.windows(t, p.machines[0].Name).Status.ComputerName
}

func (p *pool) power(t *testing.T, on bool) {
	t.Helper()
	p.cloud.Update(p.vm(t), func(vm *fake.VM) { vm.On = on })
}
