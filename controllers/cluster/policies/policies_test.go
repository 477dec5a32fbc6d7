package policies

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var (
	start       = time.Unix(1_800_000_000, 0)
	errNow      = errors.New("not now")
	resource    = schema.GroupResource{Resource: "mutatingadmissionpolicies"}
	errMayNot   = apierrors.NewForbidden(resource, "x", errors.New("no right"))
	errUnserved = apierrors.NewNotFound(resource, "x")
	errRule     = apierrors.NewBadRequest("rule 7")
	errForeign  = &keep.ForeignError{Object: "MutatingAdmissionPolicy capwin-linux-first"}
)

// acting is what is known of a cluster whose policies act.
func acting() Memory {
	both := Set{true, true}
	return Memory{Cleaned: true, Planned: true, Present: both, Acting: both, Tried: true, Due: start.Add(recheck)}
}

// looks are the looks at one cluster, by a process that remembers it.
type looks struct {
	Seen
	now time.Time
	// answers are those to the acts; others have none.
	answers map[Act]error
}

func newLooks(memory Memory) *looks {
	return &looks{Seen: Seen{Cluster: "blue", Needed: true, Memory: memory}, now: start, answers: map[Act]error{}}
}

// look does what is next until there is nothing, and returns what it has done.
func (l *looks) look(t *testing.T) (acts []Act, end Step) {
	t.Helper()
	l.Answers = map[Act]error{}
	for range 20 {
		step := Next(l.Seen, l.now)
		if step.Act == Rest {
			l.Memory = step.Memory
			return acts, step
		}
		acts = append(acts, step.Act)
		l.Answers[step.Act] = l.answers[step.Act]
	}
	t.Fatal("a look has no end")
	return nil, Step{}
}

// after lets time pass, and looks.
func (l *looks) after(t *testing.T, d time.Duration) ([]Act, Step) {
	t.Helper()
	l.now = l.now.Add(d)
	return l.look(t)
}

func isSettling(s Step) bool { return errors.Is(s.Answer, keep.ErrSettling) }

// why is the sentence of an answer, or what the answer is.
func why(s Step) string {
	if unkept, is := errors.AsType[*UnkeptError](s.Answer); is {
		return unkept.Reason
	}
	return fmt.Sprint(s.Answer)
}

// TestLife: people learn what will change before the mutating policy comes. Machines wait until the policies are seen to act.
// Then the objects are read each minute, and there is a probe each ten minutes.
func TestLife(t *testing.T) {
	l := newLooks(Memory{})
	acts, end := l.look(t)
	expect.Same(t, "the first look", []Act{Clean, WriteRefusing, Plan, WriteChanging}, acts)
	expect.Same(t, "machines wait", true, isSettling(end))
	expect.Same(t, "the second look is", settle, end.RecheckIn)
	acts, end = l.after(t, settle)
	expect.Same(t, "the second look", []Act{WriteRefusing, WriteChanging, TryRefusing, TryChanging}, acts)
	expect.Same(t, "they act", nil, end.Answer)
	expect.Same(t, "what is known", func() Memory { m := acting(); m.Due = start.Add(settle + recheck); return m }(), end.Memory)
	expect.Same(t, "the third look is", reread, end.RecheckIn)
	for range recheck/reread - 1 {
		acts, end = l.after(t, reread)
		expect.Same(t, "each minute", []Act{WriteRefusing, WriteChanging}, acts)
	}
	expect.Same(t, "the last before ten minutes is", reread, end.RecheckIn)
	acts, _ = l.after(t, reread)
	expect.Same(t, "after ten minutes", []Act{WriteRefusing, WriteChanging, TryRefusing, TryChanging}, acts)
}

// TestWithoutWindows: where no machine needs the policies, they are as they are, but for what a person has set.
func TestWithoutWindows(t *testing.T) {
	for mode, want := range map[Mode][]Act{Change: nil, Warn: {RemoveChanging}, Off: {Clean, Remove}} {
		l := newLooks(Memory{})
		l.Needed, l.Mode = false, mode
		acts, end := l.look(t)
		expect.Same(t, "acts with "+string(mode), want, acts)
		expect.Same(t, "nobody waits with "+string(mode), nil, end.Answer)
		l.answers = map[Act]error{RemoveChanging: errNow, Remove: errNow}
		_, end = l.look(t)
		expect.Same(t, "a failure is tried again with "+string(mode), mode != Change, end.RecheckIn == retry)
		expect.Same(t, "nobody waits after it with "+string(mode), nil, end.Answer)
	}
}

// TestModes: with warn, the policy that changes workloads goes, and the others stay. With off, all go, and no machine waits.
func TestModes(t *testing.T) {
	l := newLooks(acting())
	l.Mode = Warn
	acts, end := l.look(t)
	expect.Same(t, "warn", []Act{WriteRefusing, RemoveChanging}, acts)
	expect.Same(t, "machines wait for what is left", true, isSettling(end))
	acts, end = l.after(t, settle)
	expect.Same(t, "the probe", []Act{WriteRefusing, RemoveChanging, TryRefusing}, acts)
	expect.Same(t, "it acts", nil, end.Answer)
	l.Mode = Off
	acts, end = l.look(t)
	expect.Same(t, "off", []Act{Remove}, acts)
	expect.Same(t, "no machine waits", Step{RecheckIn: recheck, Memory: Memory{Cleaned: true}}, end)
	l.answers[Remove] = errNow
	_, end = l.look(t)
	expect.Same(t, "a failure is tried again", retry, end.RecheckIn)
	expect.Same(t, "no machine waits for that", nil, end.Answer)
	l.answers[Remove] = errMayNot
	_, end = l.look(t)
	expect.Same(t, "a refusal is tried again", recheck, end.RecheckIn)
	l.Mode, l.Wrong = Change, "Cluster blue has the annotation x"
	acts, _ = l.look(t)
	expect.Same(t, "on again", []Act{WriteRefusing, Plan, WriteChanging}, acts)
	_, end = l.after(t, settle)
	expect.Same(t, "a value that means nothing", "Cluster blue has the annotation x", why(end))
}

func TestModeOf(t *testing.T) {
	for value, want := range map[string]Mode{"warn": Warn, "off": Off, "": Change, "Off": Change, "on": Change} {
		cluster := &clusterv1.Cluster{}
		cluster.Name, cluster.Annotations = "blue", map[string]string{infrav1.LinuxPolicyAnnotation: value}
		mode, wrong := ModeOf(cluster)
		expect.Same(t, value, want, mode)
		expect.Same(t, value+" means nothing", want == Change, strings.HasPrefix(wrong, "Cluster blue has the annotation "+
			"capwin.io/linux"))
	}
	_, wrong := ModeOf(&clusterv1.Cluster{})
	expect.Same(t, "without it", "", wrong)
}

// TestFailures: what a person must mend is a sentence, and no machine waits for it. What may pass is tried again, and machines
// wait.
func TestFailures(t *testing.T) {
	const so = "so workloads for Linux are not all kept off its Windows Nodes"
	for name, c := range map[string]struct {
		act   Act
		err   error
		want  string
		again time.Duration
	}{
		"foreign": {
			WriteChanging, errForeign,
			"Cluster blue: MutatingAdmissionPolicy capwin-linux-first was not made by capwin, so it is left alone; rename or " +
				"remove it, " + so,
			reread,
		},
		"forbidden": {
			WriteRefusing, errMayNot,
			"Cluster blue refuses the user of Secret blue-kubeconfig the policies that keep workloads for Linux off Windows Nodes, " +
				so + `; give that user the rights in docs/security.md: ` +
				`its API server answers "mutatingadmissionpolicies \"x\" is forbidden: no right"`, reread,
		},
		"too old for both": {
			WriteRefusing, errUnserved,
			"Cluster blue has no ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on, " + so, reread,
		},
		"too old for one": {
			WriteChanging, errUnserved, "Cluster blue has no MutatingAdmissionPolicy, which Kubernetes has from 1.36 on, " + so, reread,
		},
		"somebody's rule": {WriteChanging, errRule, `Cluster blue: its API server answers "rule 7", ` + so, reread},
		"not now":         {WriteChanging, errNow, keep.ErrSettling.Error(), retry},
	} {
		l := newLooks(acting())
		l.answers[c.act] = c.err
		l.look(t)
		_, end := l.after(t, settle)
		expect.Same(t, name, c.want, why(end))
		expect.Same(t, name+": the next look is", c.again, end.RecheckIn)
	}
}

// TestClean: what earlier versions wrote is looked for until it is known to be gone, or to stay.
func TestClean(t *testing.T) {
	for err, again := range map[error]bool{nil: false, errMayNot: false, errNow: true} {
		l := newLooks(Memory{})
		l.answers[Clean] = err
		l.look(t)
		acts, _ := l.after(t, settle)
		expect.Same(t, fmt.Sprint("after ", err), again, acts[0] == Clean)
	}
}

// TestAllRefused: where nothing can be written there is nothing to wait for, and what is wrong twice is one sentence.
func TestAllRefused(t *testing.T) {
	l := newLooks(acting())
	l.answers[WriteRefusing], l.answers[WriteChanging] = errMayNot, errMayNot
	_, end := l.look(t)
	expect.Says(t, "at once", end.Answer, "Cluster blue refuses the user of Secret blue-kubeconfig")
	expect.Same(t, "sentences", 1, strings.Count(why(end), "Cluster blue"))
}

// TestPlanFails: while it is not known what the mutating policy will change, it does not come.
func TestPlanFails(t *testing.T) {
	l := newLooks(Memory{})
	l.answers[Plan] = errNow
	acts, end := l.look(t)
	expect.Same(t, "acts", []Act{Clean, WriteRefusing, Plan}, acts)
	expect.Same(t, "machines wait", true, isSettling(end))
	l.answers[Plan] = nil
	acts, _ = l.after(t, retry)
	expect.Same(t, "later", []Act{WriteRefusing, Plan, WriteChanging}, acts[:3])
}

// TestIgnored: an API server that does not obey is known after a minute of several probes, and no machine waits for more.
func TestIgnored(t *testing.T) {
	for act, want := range map[Act]string{
		TryChanging: "Cluster blue has the MutatingAdmissionPolicy of capwin but does not enforce it: its API server has the " +
			"feature gate or the admission plug-in MutatingAdmissionPolicy switched off, or is being upgraded",
		TryRefusing: "Cluster blue has the ValidatingAdmissionPolicies of capwin but does not enforce them: its API server has the " +
			"admission plug-in ValidatingAdmissionPolicy switched off, or is being upgraded",
	} {
		l := newLooks(acting())
		l.answers[act], l.Due = ErrIgnored, start
		_, end := l.look(t)
		for ; l.now.Sub(start) < patience; _, end = l.after(t, settle) {
			expect.Same(t, "machines wait", true, isSettling(end))
			expect.Same(t, "the next look is", settle, end.RecheckIn)
		}
		expect.Same(t, string(act), want, why(end))
		expect.Same(t, "the look after that is", reread, end.RecheckIn)
		l.answers[act] = nil
		_, end = l.after(t, recheck)
		expect.Same(t, "once it obeys", nil, end.Answer)
		l.answers[act] = ErrIgnored
		_, end = l.after(t, recheck)
		expect.Same(t, "machines wait anew", true, isSettling(end))
		l.answers[act] = errNow
		_, end = l.after(t, patience)
		expect.Same(t, "one probe proves nothing", true, isSettling(end))
	}
}

// TestWhatIsIgnored: only policies that are there count as not obeyed.
func TestWhatIsIgnored(t *testing.T) {
	const (
		refusing = "ValidatingAdmissionPolicies of capwin but does not enforce"
		changing = "MutatingAdmissionPolicy of capwin but does not enforce"
	)
	for name, c := range map[string]struct {
		there Set
		want  string
	}{
		"both":                  {Set{true, true}, refusing + changing},
		"what refuses is there": {Set{true, false}, refusing},
		"what changes is there": {Set{false, true}, changing},
	} {
		m := acting()
		m.Present, m.Acting, m.Idle, m.Probes, m.Due = c.there, Set{}, start.Add(-patience), 2, start
		l := newLooks(m)
		for act, there := range map[Act]bool{WriteRefusing: c.there.Refusing, WriteChanging: c.there.Changing} {
			if !there {
				l.answers[act] = errRule
			}
		}
		l.answers[TryRefusing], l.answers[TryChanging] = ErrIgnored, ErrIgnored
		_, end := l.look(t)
		for _, sentence := range []string{refusing, changing} {
			expect.Same(t, name, strings.Contains(c.want, sentence), strings.Contains(why(end), sentence))
		}
	}
}

// TestProbeRefused: where dry runs are refused, people know that nobody knows. Where one fails, it is made again.
func TestProbeRefused(t *testing.T) {
	l := newLooks(acting())
	l.answers[TryRefusing], l.Due = errMayNot, start
	_, end := l.look(t)
	expect.Says(t, "refused", end.Answer, "Cluster blue does not allow the user of Secret blue-kubeconfig to create ConfigMaps in "+
		"kube-system")
	expect.Same(t, "the next probe", start.Add(recheck), end.Due)
	for _, act := range []Act{TryRefusing, TryChanging} {
		l = newLooks(acting())
		l.answers[act], l.Due = errNow, start
		_, end = l.look(t)
		expect.Same(t, "what is known stays", nil, end.Answer)
		expect.Same(t, "the next probe", start.Add(retry), end.Due)
	}
}
