package guests

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

var (
	start     = time.Unix(1_800_000_000, 0)
	errBoom   = errors.New("write Role: the webhook says no")
	roles     = schema.GroupResource{Resource: "roles"}
	served    = apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "probe", nil)
	settled   = Memory{Settled: start.Add(-time.Hour)}
	errMayNot = apierrors.NewForbidden(roles, "x", nil)
)

const (
	unserved  = "the workload cluster has no ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on" + alone
	forbidden = "the Cluster's kubeconfig may not read and write Namespace, Role, RoleBinding and ValidatingAdmissionPolicy" + alone
)

// TestNext: the policy comes first, and the right to write only once the policy is seen to work. What time does not mend is a
// sentence.
func TestNext(t *testing.T) {
	mute := func(why string) Step { return Step{Answer: &MuteError{Why: why}, Again: recheck, Memory: settled} }
	waits := func(again time.Duration, settled time.Time) Step {
		return Step{Answer: keep.ErrSettling, Again: again, Memory: Memory{Settled: settled, Since: start}}
	}
	forbid := func(why string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "probe", errors.New(why))
	}
	for name, c := range map[string]struct {
		memory  Memory
		answers map[Act]error
		want    Step
	}{
		"at first":                 {Memory{}, nil, Step{Act: Limit}},
		"once it is limited":       {Memory{}, map[Act]error{Limit: nil}, waits(settle, start.Add(settle))},
		"a moment later":           {Memory{Settled: start.Add(1)}, map[Act]error{Limit: nil}, waits(1, start.Add(1))},
		"before it has settled":    {Memory{Settled: start.Add(1)}, nil, Step{Act: Limit}},
		"once it has settled":      {Memory{Settled: start}, map[Act]error{Limit: nil}, Step{Act: Try}},
		"nothing refuses":          {settled, map[Act]error{Limit: nil, Try: nil}, waits(settle, settled.Settled)},
		"it refuses the object":    {settled, map[Act]error{Limit: nil, Try: served}, Step{Act: Bind}},
		"it forbids it":            {settled, map[Act]error{Limit: nil, Try: forbid("ValidatingAdmissionPolicy 'x'")}, Step{Act: Bind}},
		"no right to try":          {settled, map[Act]error{Limit: nil, Try: forbid("no right")}, mute(forbidden)},
		"the try fails":            {settled, map[Act]error{Limit: nil, Try: errBoom}, waits(settle, settled.Settled)},
		"guests may write":         {settled, map[Act]error{Limit: nil, Try: served, Bind: nil}, Step{Again: recheck, Memory: settled}},
		"an old API server":        {settled, map[Act]error{Limit: &meta.NoKindMatchError{}}, mute(unserved)},
		"a kind that is not known": {settled, map[Act]error{Limit: apierrors.NewNotFound(roles, "x")}, mute(unserved)},
		"no right to a Role":       {settled, map[Act]error{Limit: errMayNot}, mute(forbidden)},
		"a Role fails":             {settled, map[Act]error{Limit: errBoom}, waits(settle, settled.Settled)},
		"a Role is turned down":    {settled, map[Act]error{Limit: served}, waits(settle, settled.Settled)},
		"no right to bind":         {settled, map[Act]error{Limit: nil, Try: served, Bind: errMayNot}, mute(forbidden)},
		"binding fails":            {settled, map[Act]error{Limit: nil, Try: served, Bind: errBoom}, waits(settle, settled.Settled)},
	} {
		got := Next(Seen{Answers: c.answers, Memory: c.memory}, start)
		mute, is := errors.AsType[*MuteError](got.Answer)
		wanted, want := errors.AsType[*MuteError](c.want.Answer)
		expect.Same(t, name+": guests are mute", want, is)
		if is && want {
			expect.Same(t, name, *wanted, *mute)
			got.Answer, c.want.Answer = nil, nil
		}
		expect.Same(t, name+": the answer", c.want.Answer, got.Answer, cmpopts.EquateErrors())
		got.Answer, c.want.Answer = nil, nil
		expect.Same(t, name, c.want, got)
	}
}

// TestPatience: machines wait a minute for a policy that is not enforced, or for an API server that refuses, and not longer. Then
// the next wait begins anew.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[Act]error
		why     string
	}{
		"not enforced": {map[Act]error{Limit: nil, Try: nil}, "the workload cluster does not enforce the ValidatingAdmissionPolicy"},
		"refused":      {map[Act]error{Limit: errBoom}, "the workload cluster refuses what guests need to report: write Role: the"},
	} {
		s := Seen{Answers: c.answers, Memory: settled}
		at := func(after time.Duration) Step {
			step := Next(s, start.Add(after))
			s.Memory = step.Memory
			return step
		}
		for _, after := range []time.Duration{0, patience - 1} {
			expect.Same(t, name+" waits", true, errors.Is(at(after).Answer, keep.ErrSettling))
		}
		step := at(patience)
		expect.Says(t, name, step.Answer, c.why)
		expect.Same(t, name+" ends with what it means", true, strings.HasSuffix(step.Answer.Error(), alone))
		expect.Same(t, name+" again", recheck, step.Again)
		expect.Same(t, name+" waits anew", true, errors.Is(at(patience+recheck).Answer, keep.ErrSettling))
		expect.Same(t, name+" is patient anew", true, errors.Is(at(2*patience+recheck-1).Answer, keep.ErrSettling))
	}
}

// TestTaken: guests that a foreign object may not limit lose their right to write, and our policy settles anew after that.
func TestTaken(t *testing.T) {
	const why = "Role capwin-guests/capwin-guest in the workload cluster of Cluster a/blue is not capwin's and has other content" +
		", so guests cannot report there, and progress comes from the Node alone; rename or remove it, or set its label " +
		"app.kubernetes.io/managed-by=capwin to have capwin replace its content"
	s := Seen{Cluster: types.NamespacedName{Namespace: "a", Name: "blue"}, Memory: settled}
	for _, answers := range []map[Act]error{{Limit: &keep.ForeignError{Object: "Role capwin-guests/capwin-guest"}}, {
		Limit: nil, Try: served, Bind: &keep.ForeignError{Object: "Role capwin-guests/capwin-guest"},
	}} {
		s.Answers = answers
		expect.Same(t, "the first act", Withdraw, Next(s, start).Act)
		for says, err := range map[string]error{
			why: nil, why + "; guests keep their RoleBinding: the webhook says no": errors.New("the webhook says no"),
		} {
			s.Answers[Withdraw] = err
			step := Next(s, start)
			mute, _ := errors.AsType[*MuteError](step.Answer)
			expect.Same(t, "the answer", MuteError{says, true}, *mute)
			expect.Same(t, "what is remembered", Memory{}, step.Memory)
			expect.Same(t, "again", recheck, step.Again)
			delete(s.Answers, Withdraw)
		}
	}
}

// TestOrder: the policy comes before the RoleBinding, which is the last.
func TestOrder(t *testing.T) {
	var kinds []string
	for _, object := range Limits() {
		kinds = append(kinds, object.GetKind())
	}
	expect.Same(t, "kinds", "Namespace Role ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding", strings.Join(kinds, " "))
	expect.Same(t, "the last", "RoleBinding", Binding().GetKind())
}

// TestLongCause: people see the first words of an API server, however many it has.
func TestLongCause(t *testing.T) {
	says := Mute(errors.New(strings.Repeat("x", maxCause+1)))
	expect.Same(t, "letters", 256-3, strings.Count(says, "x")-strings.Count(Mute(errors.New("")), "x"))
}
