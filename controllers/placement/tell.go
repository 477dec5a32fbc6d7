package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
)

const (
	// Lasts is how long a finding must be away until it counts as gone: what comes and goes is not told each time.
	Lasts = 10 * time.Minute
	// AtOnce is of how many findings of a Cluster people are told in each minute.
	AtOnce = 10
	// Most is how many findings of a Cluster are remembered.
	Most = 1000

	window  = time.Minute
	maxName = 320  // of a workload with its kind and namespace
	maxNote = 1024 // of an Event
)

// Teller tells people of what is wrong with where the pods of workload clusters go. A reader may rely on this:
//
//   - A finding is told in three ways: the metric capwin_placement_findings counts it while it is there, an event on its Cluster
//     names it once, and so does a line of the log. Another line follows when it has not been there for Lasts. A new process
//     tells anew.
//   - A finding is what is wrong and with what; that it comes to other Nodes is no other finding.
//   - People are told of at most AtOnce findings of a Cluster in a minute, however often it is looked at. The others follow.
//
// Set its fields before use. It may be used from several goroutines.
type Teller struct {
	// Client reads the cache.
	Client client.Reader
	Events events.EventRecorder
	// Count gets how many findings with a problem a Cluster has. The Cluster is NAMESPACE/NAME.
	Count func(cluster, problem string, n int)
	Now   func() time.Time

	mu       sync.Mutex
	clusters map[client.ObjectKey]*memory
}

// memory is what a Cluster's findings were, and in which minute people were told of how many.
type memory struct {
	findings map[identity]*seen
	since    time.Time
	told     int
	began    time.Time

	// looking is held while verdicts is used.
	looking  sync.Mutex
	verdicts verdict.Memory
}

type identity struct {
	problem verdict.Problem
	of      string
}

type seen struct {
	last time.Time
	told bool
}

// Tell takes all findings of a Cluster. Those without a problem are not told. Nothing is, once ctx has ended, which MUST be
// before the Cluster is forgotten.
func (t *Teller) Tell(ctx context.Context, cluster *clusterv1.Cluster, findings []verdict.Finding) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return // it may be forgotten already
	}
	now, key := t.Now(), client.ObjectKeyFromObject(cluster)
	m := t.memoryOf(key)
	wrong := m.note(findings, now)
	t.count(key, wrong)
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("placement").WithValues("cluster", key))
	for _, one := range m.due(wrong, now) {
		t.publish(ctx, cluster, one)
	}
	logGone(ctx, m.forget(now))
}

// Forget drops a Cluster that is gone, or that nobody looks at any more.
func (t *Teller) Forget(cluster client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(cluster, nil)
	delete(t.clusters, cluster)
}

func (t *Teller) memoryOf(key client.ObjectKey) *memory {
	if t.clusters == nil {
		t.clusters = map[client.ObjectKey]*memory{}
	}
	if t.clusters[key] == nil {
		t.clusters[key] = &memory{findings: map[identity]*seen{}, began: t.Now()}
	}
	return t.clusters[key]
}

// note remembers those with a problem, and returns each once, in an order that is always the same.
func (m *memory) note(findings []verdict.Finding, now time.Time) (wrong []verdict.Finding) {
	known := map[identity]bool{}
	for _, one := range findings {
		id := idOf(one)
		if one.Problem == "" || known[id] {
			continue
		}
		known[id] = true
		wrong = append(wrong, one)
		if m.findings[id] == nil && len(m.findings) < Most {
			m.findings[id] = &seen{}
		}
		if s := m.findings[id]; s != nil {
			s.last = now
		}
	}
	return wrong
}

func idOf(f verdict.Finding) identity { return identity{f.Problem, f.Of} }

func (t *Teller) count(key client.ObjectKey, wrong []verdict.Finding) {
	n := map[verdict.Problem]int{}
	for _, one := range wrong {
		n[one.Problem]++
	}
	for _, problem := range verdict.Problems() {
		t.Count(key.String(), string(problem), n[problem])
	}
}

// due are those that were not told, as many as this minute has room for.
func (m *memory) due(wrong []verdict.Finding, now time.Time) (all []verdict.Finding) {
	if now.Sub(m.since) >= window {
		m.since, m.told = now, 0
	}
	for _, one := range wrong {
		s := m.findings[idOf(one)]
		if s == nil || s.told || m.told >= AtOnce {
			continue
		}
		s.told = true
		m.told++
		all = append(all, one)
	}
	return all
}

// forget drops those that are gone, and returns what people were told of. One that nobody was told of goes at once.
func (m *memory) forget(now time.Time) (gone []identity) {
	for id, s := range m.findings {
		switch away := now.Sub(s.last); {
		case !s.told && away > 0:
			delete(m.findings, id)
		case s.told && away >= Lasts:
			delete(m.findings, id)
			gone = append(gone, id)
		}
	}
	return gone
}

// publish makes the event of a finding, and its line of the log.
func (t *Teller) publish(ctx context.Context, cluster *clusterv1.Cluster, f verdict.Finding) {
	of := cloud.Clean(f.Of, maxName)
	ctrl.LoggerFrom(ctx).Info("A workload cluster has something wrong with its placement", "problem", f.Problem, "of", of,
		"nodes", firstNodes(f.Nodes), "why", cloud.Clean(f.Why, maxNote))
	// The recorder takes events that relate to the same object for one, so each finding is a field of the Cluster.
	related := fieldOf(cluster, fmt.Sprintf("%s{%s}", f.Problem, of))
	t.Events.Eventf(cluster, related, corev1.EventTypeWarning, infrav1.PlacementFindingReason, "Look", "%s", noteOf(f))
}

func fieldOf(cluster *clusterv1.Cluster, path string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Namespace: cluster.Namespace, Name: cluster.Name, FieldPath: path,
	}
}

// noteOf has the sentence, and the commands that fit into an event: half a command helps nobody.
func noteOf(f verdict.Finding) string {
	note := cloud.Clean(f.Why, maxNote)
	for _, command := range []struct{ before, text string }{
		{". In the workload cluster, this mends it: ", f.Mend},
		{". If the pods run on both systems: ", f.Allow},
	} {
		more := cloud.Clean(command.before+command.text, maxNote)
		if command.text != "" && len(note)+len(more) <= maxNote {
			note += more
		}
	}
	return note
}

func firstNodes(names []string) []string {
	var all []string
	for _, name := range names[:min(AtOnce, len(names))] {
		all = append(all, cloud.Clean(name, maxName))
	}
	return all
}

// logGone writes one line, however many they were.
func logGone(ctx context.Context, gone []identity) {
	if len(gone) == 0 {
		return
	}
	var names []string
	for _, id := range gone {
		names = append(names, cloud.Clean(fmt.Sprintf("%s of %s", id.problem, id.of), maxName))
	}
	slices.SortFunc(names, strings.Compare)
	ctrl.LoggerFrom(ctx).Info("A workload cluster no longer has it wrong", "count", len(names),
		"findings", names[:min(AtOnce, len(names))])
}
