package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// landing is the finding of a DaemonSet that tolerates everything, as internal/placement makes it.
func landing(name string) placement.Finding {
	w := placement.Workload{Kind: "DaemonSet", Namespace: "team", Name: name}
	w.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	taint := corev1.Taint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}
	windows := placement.Node{Name: "win-0", Taints: []corev1.Taint{taint}}
	cluster := placement.Seen{Cluster: placement.Cluster{Windows: []placement.Node{windows}}, Mutates: true}
	return cluster.Take(w)
}

// reading is one with findings, of which people learn the next ones.
func (r *Record) reading(found ...placement.Finding) (learnt, landing int, gone []string) {
	counts, gone := r.Take(found)
	next, _ := r.Next(func(wanted int) int { return wanted })
	return len(next), counts[placement.PodsLand], gone
}

// TestRecord: people learn of a finding once, of its end once, and again when it comes back.
func TestRecord(t *testing.T) {
	var r Record
	one, away := landing("agent"), placement.Finding{Of: "DaemonSet team/away", Verdict: placement.StaysAway, Why: "away"}
	grown, dns := landing("agent"), landing("agent")
	grown.Nodes = append(grown.Nodes, "win-1")
	dns.Problem = placement.DNSNotKept
	for _, step := range []struct {
		what            string
		found           []placement.Finding
		learnt, landing int
		gone            []string
	}{
		{"when nothing is wrong", []placement.Finding{away}, 0, 0, nil},
		{"of a finding", []placement.Finding{away, one}, 1, 1, nil},
		{"of the same", []placement.Finding{one}, 0, 1, nil},
		{"of the same on more Nodes, twice", []placement.Finding{grown, one}, 0, 1, nil},
		{"of another problem of it", []placement.Finding{dns, one}, 1, 1, nil},
		{"when one is gone", []placement.Finding{dns}, 0, 0, []string{"PodsLand{DaemonSet team/agent}"}},
		{"when it is back", []placement.Finding{dns, one}, 1, 1, nil},
		{"when all are gone", nil, 0, 0, []string{"DNSNotKept{DaemonSet team/agent}", "PodsLand{DaemonSet team/agent}"}},
		{"after that", nil, 0, 0, nil},
	} {
		learnt, landing, gone := r.reading(step.found...)
		expect.Same(t, step.what, []any{step.learnt, step.landing, step.gone}, []any{learnt, landing, gone})
	}
}

// TestMany: people learn of many findings by and by, whether they are read again or not, and nobody learns that one is gone which
// nobody knew.
func TestMany(t *testing.T) {
	var r Record
	var many []placement.Finding
	for n := range 2*AtOnce + 1 {
		many = append(many, landing(fmt.Sprint("agent-", n)))
	}
	r.Take(many)
	for _, want := range []struct {
		n    int
		more bool
	}{{AtOnce, true}, {AtOnce, true}, {1, false}, {0, false}} {
		next, more := r.Next(func(wanted int) int { return wanted })
		expect.Same(t, "those of a minute", []any{want.n, want.more}, []any{len(next), more})
	}
	for range 2 {
		_, gone := r.Take(many)
		next, more := r.Next(func(wanted int) int { return wanted })
		expect.Same(t, "those of another reading", []any{0, 0, false}, []any{len(gone), len(next), more})
	}
	var other Record
	other.Take(many)
	other.Next(func(wanted int) int { return wanted })
	_, gone := other.Take(nil)
	expect.Same(t, "gone", AtOnce, len(gone))
	expect.Same(t, "they are in order", true, slices.IsSorted(gone))
	_, more := other.Next(func(wanted int) int { return wanted })
	expect.Same(t, "more of what is gone", false, more)
}

// TestNote: an event has the sentence and the commands.
func TestNote(t *testing.T) {
	expect.Same(t, "note", "DaemonSet team/agent may run on Windows (win-0): its toleration of every taint passes the taint "+
		"os=windows:NoSchedule, and it selects no operating system; add the nodeSelector kubernetes.io/os: linux to its pod template; "+
		"the policy adds it when the template changes next. In the workload cluster, this mends it: kubectl patch daemonset agent -n "+
		`team --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}'. If the pods run on both `+
		"systems: kubectl annotate daemonset agent -n team --overwrite capwin.io/runs-on=both", NoteOf(landing("agent")))
}

// TestNoteWithoutCommands: where nothing mends it by a command, an event has the sentence alone.
func TestNoteWithoutCommands(t *testing.T) {
	expect.Same(t, "note", "it is so", NoteOf(placement.Finding{Why: "it is so"}))
}

// TestHostileTexts: a workload cluster may have any texts. What people see is short and printable, without half a command.
func TestHostileTexts(t *testing.T) {
	evil, long := landing("agent"), landing("agent")
	evil.Of = "x\n\x1b[31m%s" + strings.Repeat("ä", 4096)
	evil.Why = evil.Of
	long.Mend = "kubectl " + strings.Repeat("z", 800)
	for _, text := range []string{NoteOf(evil), NameOf(evil), NoteOf(long)} {
		if len(text) > MaxNote || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
	expect.Same(t, "a name's length", true, len(NameOf(evil)) < 400)
	if note := NoteOf(long); strings.Contains(note, "zzz") || !strings.Contains(note, "If the pods run on both systems") {
		t.Error(note)
	}
	exact := placement.Finding{Why: "why", Mend: strings.Repeat("m", MaxNote-len("why. In the workload cluster, this mends it: "))}
	expect.Same(t, "a command that just fits", MaxNote, len(NoteOf(exact)))
}
