package lab_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// joins is a lab in which many pools of one machine each are made side by side, every one in a world of its own.
type joins struct {
	*story
	// worlds make the guests of the pools; they are all there before the first machine is.
	worlds map[string]func(g *guest.Simulated)
	table  []provoked
	// guests are those that were switched on last, by pool.
	guests *sync.Map
	// pulls of the image that a registry has.
	pulls *atomic.Int32
}

// TestJoins has all that is told of a node's bootstrap happen, through the real controllers, and reads it from the API.
func TestJoins(t *testing.T) {
	stories.Begin(t)
	j := &joins{worlds: map[string]func(*guest.Simulated){}, guests: &sync.Map{}}
	ctx, l := started(t, lab.Options{Guest: j.world})
	j.story = &story{T: t, lab: l}
	j.credentials(ctx)
	j.refuseLabel(ctx)
	// Those that fail take longest.
	for _, p := range slices.Concat(j.reasonPools(), j.modePools(), []lab.Pool{j.settingsPool()}) {
		j.must(l.ApplyMachine(ctx, p))
	}
	j.startIPAM(ctx)
	t.Run("every mode joins", func(t *testing.T) { j.on(t).assertModes(ctx) })
	t.Run("the modes of Azure join", func(t *testing.T) { j.on(t).assertAzureModes(ctx) })
	t.Run("a node has all that can be asked for", func(t *testing.T) { j.on(t).assertSettings(ctx) })
	t.Run("every reason is told", func(t *testing.T) { j.on(t).assertReasons(ctx) })
}

// on is the same lab for another test.
func (j *joins) on(t *testing.T) *joins {
	return &joins{story: &story{T: t, lab: j.lab}, worlds: j.worlds, table: j.table, guests: j.guests, pulls: j.pulls}
}

func (j *joins) world(pool string, g *guest.Simulated) {
	if change := j.worlds[pool]; change != nil {
		change(g)
	}
	j.guests.Store(pool, g)
}

// guest of a pool that has one machine.
func (j *joins) guest(pool string) *guest.Simulated {
	j.Helper()
	g, ok := j.guests.Load(pool)
	if !ok {
		j.Fatalf("no machine of pool %s was switched on", pool)
	}
	return g.(*guest.Simulated)
}

// machine is the one of a pool; nil until it is there.
func (j *joins) machine(ctx context.Context, pool string) *infrav1.WindowsMachine {
	j.Helper()
	return j.byPool(ctx, client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: pool})[pool]
}

// byPool is all machines, or those that are asked for: there is one of each pool.
func (j *joins) byPool(ctx context.Context, which ...client.ListOption) map[string]*infrav1.WindowsMachine {
	j.Helper()
	machines := map[string]*infrav1.WindowsMachine{}
	for _, m := range j.machines(ctx, which...) {
		machines[m.Labels[clusterv1.MachineDeploymentNameLabel]] = &m
	}
	return machines
}

// node of a machine; nil until it is there.
func (j *joins) node(ctx context.Context, m *infrav1.WindowsMachine) *corev1.Node {
	j.Helper()
	if m.Status.ComputerName == "" {
		return nil
	}
	node := &corev1.Node{}
	if err := j.lab.WorkloadClient.Get(ctx, client.ObjectKey{Name: m.Status.ComputerName}, node); err != nil {
		j.must(client.IgnoreNotFound(err))
		return nil
	}
	return node
}

// showGuest logs what is left of a guest that did not do as it should.
func (j *joins) showGuest(computer string) {
	j.Helper()
	for _, pattern := range []string{"C/ProgramData/capwin/agent.log", "C/lab.log", "C/ProgramData/capwin/report.json"} {
		text, err := os.ReadFile(filepath.Join(j.lab.GuestsDir(), computer, pattern))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		j.Logf("%s %s (%v)\n%s", computer, pattern, err, strings.Join(lines[max(0, len(lines)-25):], "\n"))
	}
}

// state of a guest's Windows, as it keeps it. A file that is just replaced is not there.
func (j *joins) state(computer string) (*windows.State, error) {
	state := &windows.State{}
	for name, into := range map[string]any{
		"machine.json": state, "registry.json": &state.Registry, "services.json": &state.Services,
	} {
		text, err := os.ReadFile(filepath.Join(j.lab.GuestsDir(), computer, name))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return state, nil
}
