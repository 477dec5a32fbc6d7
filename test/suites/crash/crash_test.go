package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

var shared *world.World

// atOnce is how many lives are lived at the same time: they wait more than they work.
const atOnce = 8

func TestMain(m *testing.M) { world.Main(m, &shared, atOnce) }

// place is where one machine at a time lives. Each place has a vCenter of its own: a clone that one machine's test holds would
// be in the way of all others.
type place struct {
	*world.Namespace
	vcenter *vcenter.VCenter
	// gate is that of the life that is lived here, for one process that lives all of them.
	gate *atomic.Pointer[world.Gate]
	// ahead is by how much the manager's clock is ahead of those of the API servers, and others are VMs that are not ours.
	ahead  time.Duration
	others []string
	// prepare is called with the gate of each process, before that starts.
	prepare func(*world.Gate)
}

func newPlace(t *testing.T) place {
	t.Helper()
	return place{Namespace: shared.Namespace(t, world.Start{}), vcenter: vcenter.New(t)}
}

// scenario is a way that a machine's life may take.
type scenario struct {
	name string
	slow bool // clones take until they are released
	live func(*testing.T, *run)
	// effects are all that our controllers change in the world meanwhile. The list is pinned: an effect that is missing here
	// was not tried, one that has gone needs no trying.
	effects []string
}

// untilReady is what both scenarios begin with.
var untilReady = []string{
	"management PATCH windowsmachines providerID #1",
	"management PATCH windowsmachines/status Ready=WaitingForBootstrapData #1",
	"management PATCH windowsbootstrapconfigs finalizers #1",
	"workload POST secrets #1",
	"management POST secrets #1",
	"management PATCH windowsbootstrapconfigs/status Ready=WaitingForGuest #1",
	"vcenter Login #1",
	"management PATCH windowsmachines annotations,finalizers #1",
	"management PATCH secrets finalizers #1",
	"vcenter CloneVM_Task #1",
	"management PATCH windowsmachines/status Ready=Provisioning #1",
}

// untilGone is what both end with.
var untilGone = []string{
	"workload DELETE secrets #1",
	"management PATCH windowsbootstrapconfigs finalizers #2",
	"management PATCH windowsmachines/status Ready=Deleting #1",
	"vcenter PowerOffVM_Task #1",
	"vcenter Destroy_Task #1",
	"management PATCH secrets finalizers #2",
	"management PATCH windowsmachines finalizers #1",
}

var scenarios = []scenario{
	{
		name: "live", live: live,
		effects: slices.Concat(untilReady, []string{
			"management PATCH windowsmachines/status Ready=Running, guest=WaitingForGuest #1",
			"management PATCH windowsmachines/status Ready=Running, guest=WaitingForNode #1",
			"management PATCH windowsbootstrapconfigs/status Ready=WaitingForNode #1",
			"vcenter ReconfigVM_Task #1",
			"management PATCH windowsmachines/status Ready=Running, guest=Joined #1",
			"management PATCH windowsmachines/status Ready=Running, guest=Joined #2",
			"management PATCH windowsbootstrapconfigs/status Ready=Joined #1",
		}, untilGone),
	},
	{name: "stillborn", slow: true, live: stillborn, effects: slices.Concat(untilReady, untilGone,
		[]string{"management PATCH windowsmachines/status Ready=Deleting #2"})}, // the first one tells of the clone
}

// live is a machine that becomes a node and is deleted.
func live(t *testing.T, r *run) {
	r.claimed(t)
	r.joinedAndGone(t)
}

// stillborn is a machine that is deleted while its VM is being made.
func stillborn(t *testing.T, r *run) {
	r.claimed(t)
	name := r.machine.Load(t).Windows.Status.ComputerName
	r.deleteWhileCreating(t)
	r.gone(t)
	r.look(t, name, 0, "cloned removed")
}

// crashesOfALife is how often a life's process is killed. With -every-fault it is once.
const crashesOfALife = 3

// TestCrash kills the process before and after each effect of each scenario, with a clock that is not that of the API servers.
func TestCrash(t *testing.T) {
	if shared == nil {
		t.Skip("needs real servers")
	}
	places := newMatrix(t).places
	for _, ahead := range proved.Clocks() {
		t.Run("clock "+ahead.String(), func(t *testing.T) {
			m := &matrix{ahead: ahead, places: places}
			m.crash(t)
			m.counts.tell(t, "crash matrix, clock "+ahead.String())
		})
	}
	for range atOnce {
		noData(t, <-places)
	}
}

func (m *matrix) crash(t *testing.T) {
	effects, crashes, lives := 0, 0, 0
	for _, s := range scenarios {
		m.reference(t, s)
		effects += len(s.effects)
	}
	t.Run("plans", func(t *testing.T) {
		for _, s := range scenarios {
			for _, plans := range crashPlans(s.effects) {
				lives++
				crashes += len(plans)
				m.try(t, s, plans)
			}
		}
	})
	fmt.Fprintf(os.Stderr, "effects tried: %d, crashes before and after: %d, lives: %d, violations: %d\n",
		effects, crashes, lives, m.counts.violations.Load())
	if effects != 44 || crashes != 88 {
		t.Errorf("the matrix has %d effects and %d crashes and not 44 and 88", effects, crashes)
	}
}

// crashPlans say where the processes of each life are killed. What is far apart in the list follows one upon the other, whatever
// two controllers do at the same time.
func crashPlans(effects []string) (all [][]world.Plan) {
	ofALife := crashesOfALife
	if *everyFault {
		ofALife = 1
	}
	for _, after := range []bool{false, true} {
		for _, some := range deal(effects, ofALife) {
			var plans []world.Plan
			for _, effect := range some {
				plans = append(plans, world.Plan{Effect: effect, After: after})
			}
			all = append(all, plans)
		}
	}
	return all
}

// deal spreads what is to be tried over lives, so that neighbours come to different ones.
func deal(all []string, ofALife int) [][]string {
	lives := make([][]string, (len(all)+ofALife-1)/ofALife)
	for i, one := range all {
		lives[i%len(lives)] = append(lives[i%len(lives)], one)
	}
	return lives
}

// ofRecord begins the names of writes of the VM's record alone. How many there are hangs on where the looks come: its reference
// and the accepted deletion are each written with the next change of a condition, or alone if a look comes before that.
const ofRecord = "management PATCH windowsmachines/status vsphere #"

// isRepeated says that an effect writes a condition of the same reason once more, with another message. How often that happens
// hangs on where the looks come, too. The tests that count calls bound it.
func isRepeated(effect string) bool {
	return strings.Contains(effect, "/status Ready=") && !strings.HasSuffix(effect, " #1")
}

// reference is a run without a crash: it says what the effects are.
func (m *matrix) reference(t *testing.T, s scenario) {
	t.Run("reference "+s.name, func(t *testing.T) {
		r := m.begin(t, s.slow)
		defer m.counts.add(t, r)
		s.live(t, r)
		want, have := slices.Sorted(slices.Values(s.effects)), slices.Sorted(slices.Values(r.Effects()))
		have = slices.DeleteFunc(have, func(effect string) bool {
			return strings.HasPrefix(effect, ofRecord) || isRepeated(effect) && !slices.Contains(want, effect)
		})
		if m.ahead.Abs() > time.Minute { // what is told of times differs, and is told again
			want, have = lasting(want), lasting(have)
		}
		expect.Same(t, "the effects are other ones than those that are pinned", want, have)
	})
}

// try lives a life with crashes in it. On a busy machine one telling may take the place of two, so that an effect does not come
// about: then there is another life.
func (m *matrix) try(t *testing.T, s scenario, plans []world.Plan) {
	t.Run(s.name+fmt.Sprint(plans), func(t *testing.T) {
		t.Parallel()
		hit := false
		for life := 0; !hit && life < 3 && !t.Failed(); life++ {
			t.Run("life", func(t *testing.T) { hit = m.hits(t, s, plans) })
		}
		if !hit {
			t.Error("an effect did not come about in three lives")
		}
	})
}

// hits says whether each crash of a life came about.
func (m *matrix) hits(t *testing.T, s scenario, plans []world.Plan) bool {
	r := m.begin(t, s.slow, plans...)
	defer m.counts.add(t, r)
	s.live(t, r)
	once(t, r.Effects(), "workload POST secrets", "management POST secrets", "vcenter CloneVM_Task")
	if s.name == "live" {
		once(t, r.Effects(), "vcenter ReconfigVM_Task")
	}
	return r.Hit()
}

// noData checks that no bootstrap Secret is left. Kubernetes removes them when their configs have gone; it takes half a minute
// to learn of our kinds, which no run waits for.
func noData(t *testing.T, at place) {
	t.Helper()
	wait.Eventually(t, "no bootstrap Secret in "+at.Name, func(ctx context.Context) error {
		var secrets corev1.SecretList
		if err := shared.Client.List(ctx, &secrets, client.InNamespace(at.Name)); err != nil {
			return err
		}
		for _, s := range secrets.Items {
			if len(s.OwnerReferences) > 0 {
				return errors.New("there is " + s.Name)
			}
		}
		return nil
	})
}

// once checks that what must be done once was done once, over all processes.
func once(t *testing.T, effects []string, names ...string) {
	t.Helper()
	for _, name := range names {
		n := 0
		for _, e := range effects {
			if strings.HasPrefix(e, name) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %d times", name, n)
		}
	}
}
