package placement

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// recorded has a Teller and what people were told.
type recorded struct {
	*Teller
	t   *testing.T
	now time.Time

	mu     sync.Mutex
	notes  []string
	about  []string
	lines  []string
	metric map[string]int
}

func newRecorded(t *testing.T) *recorded {
	t.Helper()
	told := &recorded{t: t, now: time.Unix(0, 0), metric: map[string]int{}}
	told.Teller = &Teller{Events: told, Now: func() time.Time { return told.now }, Count: func(cluster, problem string, n int) {
		if told.metric[cluster+" "+problem] = n; n == 0 {
			delete(told.metric, cluster+" "+problem)
		}
	}}
	return told
}

// Eventf is part of events.EventRecorder.
//
//nolint:revive // because the interface has so many arguments
func (s *recorded) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := client.ObjectKeyFromObject(regarding.(client.Object))
	s.notes = append(s.notes, fmt.Sprintf("%s %s %s %s: ", kind, reason, action, of)+fmt.Sprintf(note, args...))
	s.about = append(s.about, related.(*corev1.ObjectReference).FieldPath)
}

func (s *recorded) later(by time.Duration) { s.now = s.now.Add(by) }

func blue() *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "blue"}}
}

func (s *recorded) tell(cluster *clusterv1.Cluster, findings ...verdict.Finding) {
	log := funcr.New(func(_, args string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, args)
	}, funcr.Options{})
	s.Tell(ctrl.LoggerInto(s.t.Context(), log), cluster, findings)
}

// want compares the numbers of events and lines so far, and what the metric has of a problem of the Cluster blue.
func (s *recorded) want(when string, events, lines, landing int) {
	s.t.Helper()
	have := []int{len(s.notes), len(s.lines), s.metric["ns/blue PodsLand"]}
	if diff := cmp.Diff([]int{events, lines, landing}, have); diff != "" {
		s.t.Errorf("events, lines and findings %s (-want +got):\n%s\n%s\n%s", when, diff, strings.Join(s.notes, "\n"),
			strings.Join(s.lines, "\n"))
	}
}

// landing is the finding of a DaemonSet that tolerates everything, as internal/placement makes it.
func landing(name string) verdict.Finding {
	w := verdict.Workload{Kind: "DaemonSet", Namespace: "team", Name: name}
	w.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	taint := corev1.Taint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}
	windows := verdict.Node{Name: "win-0", Taints: []corev1.Taint{taint}}
	return verdict.Seen{
		Cluster: verdict.Cluster{Windows: []verdict.Node{windows}}, Workloads: []verdict.Workload{w}, Mutates: true,
	}.Findings()[0]
}

// TestTell: a finding is told once, with workload, Nodes and commands, and again when it has been away.
func TestTell(t *testing.T) {
	s, cluster := newRecorded(t), blue()
	away := verdict.Finding{Of: "DaemonSet kube-system/kube-proxy", Verdict: verdict.StaysAway, Why: "it stays away"}
	s.tell(cluster, away)
	s.want("when nothing is wrong", 0, 0, 0)
	s.tell(cluster, away, landing("agent"))
	s.want("of a finding", 1, 1, 1)
	want := "Warning PlacementFinding Look ns/blue: DaemonSet team/agent may run on Windows (win-0): its toleration of every " +
		"taint passes the taint os=windows:NoSchedule, and it selects no operating system; add the nodeSelector " +
		"kubernetes.io/os: linux to its pod template; the policy adds it when the template changes next. In the workload cluster, " +
		"this mends it: kubectl patch daemonset agent -n team --type merge -p " +
		`'{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}'. If the pods run on both systems: kubectl ` +
		"annotate daemonset agent -n team --overwrite capwin.io/runs-on=both"
	expect.Same(t, "the event", want, s.notes[0])
	expect.Same(t, "what it relates to", "PodsLand{DaemonSet team/agent}", s.about[0])
	for _, has := range []string{`"problem"="PodsLand"`, `"of"="DaemonSet team/agent"`, `"win-0"`, `"name"="blue"`} {
		if !strings.Contains(s.lines[0], has) {
			t.Errorf("the line has no %s: %s", has, s.lines[0])
		}
	}
	for range 30 {
		s.later(time.Minute)
		s.tell(cluster, landing("agent"))
	}
	s.want("half an hour later", 1, 1, 1)
	s.tell(cluster)
	s.want("when it is away", 1, 1, 0)
	s.later(Lasts - time.Minute)
	s.tell(cluster, landing("agent"))
	s.want("when it comes back soon", 1, 1, 1)
	s.later(Lasts)
	s.tell(cluster)
	s.want("when it has not been seen for long", 1, 2, 0)
	s.tell(cluster, landing("agent"))
	s.want("when it comes back later", 2, 3, 1)
}

// TestTellOfOtherNodes: that a pool grows is nothing new about a workload.
func TestTellOfOtherNodes(t *testing.T) {
	s, one := newRecorded(t), landing("agent")
	s.tell(blue(), one)
	one.Nodes = append(one.Nodes, "win-1")
	s.later(time.Minute)
	s.tell(blue(), one, one)
	s.want("of the same workload", 1, 1, 1)
	one.Problem = verdict.DNSNotKept
	s.tell(blue(), one, landing("agent"))
	s.want("of another problem", 2, 2, 1)
}

// TestTellManyTimes: however many findings there are, and however often a Cluster is looked at, its events are bounded, and those
// of another Cluster do not wait for them.
func TestTellManyTimes(t *testing.T) {
	s, cluster := newRecorded(t), blue()
	var many []verdict.Finding
	for n := range 2 * Most {
		many = append(many, landing(fmt.Sprint("agent-", n)))
	}
	for range 10 {
		s.tell(cluster, many...)
		s.later(time.Second)
	}
	s.want("in the first minute", AtOnce, AtOnce, 2*Most)
	s.later(time.Minute)
	s.tell(cluster, many...)
	s.want("in the second one", 2*AtOnce, 2*AtOnce, 2*Most)
	other := blue()
	other.Namespace = "other"
	s.tell(other, landing("agent"))
	expect.Same(t, "events with that of another Cluster", 2*AtOnce+1, len(s.notes))
	expect.Same(t, "findings that are remembered", Most, len(s.clusters[client.ObjectKeyFromObject(cluster)].findings))
	s.later(time.Hour)
	s.tell(cluster)
	s.want("when all are gone", 2*AtOnce+1, 2*AtOnce+2, 0) // in one line
	if long := s.lines[len(s.lines)-1]; len(long) > 1000 {
		t.Errorf("a line has %d bytes", len(long))
	}
	expect.Same(t, "what is remembered", 0, len(s.clusters[client.ObjectKeyFromObject(cluster)].findings))
}

// TestForget: a Cluster that is gone is counted no more.
func TestForget(t *testing.T) {
	s := newRecorded(t)
	s.tell(blue(), landing("agent"))
	s.Forget(client.ObjectKeyFromObject(blue()))
	s.Forget(client.ObjectKey{Name: "never"})
	s.want("of a Cluster that is gone", 1, 1, 0)
	expect.Same(t, "Clusters", 0, len(s.clusters))
	expect.Same(t, "the metric", 0, len(s.metric))
}

// TestTellHostileTexts: a workload cluster may say anything. What is told is printable, and no event has half a command.
func TestTellHostileTexts(t *testing.T) {
	s, evil := newRecorded(t), landing("agent")
	evil.Of, evil.Nodes = "x\n\x1b[31m%s"+strings.Repeat("ä", 4096), []string{"\x1b" + strings.Repeat("y", 4096)}
	evil.Why = evil.Of
	long := landing("agent")
	long.Of, long.Mend = "long", "kubectl "+strings.Repeat("z", 800)
	s.tell(blue(), evil, long)
	s.want("of hostile texts", 2, 2, 2)
	for i := range s.notes {
		_, note, _ := strings.Cut(s.notes[i], ": ")
		if len(note) > maxNote || strings.ContainsFunc(note+s.about[i]+s.lines[i], func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%d bytes: %q, %q", len(note), note, s.about[i])
		}
		if len(s.lines[i]) > 3000 {
			t.Errorf("a line has %d bytes", len(s.lines[i]))
		}
	}
	if strings.Contains(s.notes[1], "zzz") || !strings.Contains(s.notes[1], "If the pods run on both systems") {
		t.Error(s.notes[1])
	}
}
