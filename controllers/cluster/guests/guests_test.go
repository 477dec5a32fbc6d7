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
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var (
	start     = time.Unix(1_800_000_000, 0)
	errBoom   = errors.New("write Role: the webhook says no")
	roles     = schema.GroupResource{Resource: "roles"}
	served    = apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "probe", nil)
	settled   = Memory{settled: start.Add(-time.Hour)}
	errMayNot = apierrors.NewForbidden(roles, "x", nil)
)

const (
	unserved  = "the workload cluster has no ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on" + ending
	forbidden = "the Cluster's kubeconfig may not read and write Namespace, Role, RoleBinding and ValidatingAdmissionPolicy" + ending
)

// TestSettle: a policy is tried ten seconds after it came, no earlier.
func TestSettle(t *testing.T) {
	m := Memory{}
	for _, after := range []time.Duration{0, settle - 1, settle, time.Hour} {
		expect.Same(t, "it may be tried after "+after.String(), after >= settle, m.Settle(start.Add(after)) == nil)
	}
	again, answer := (&Memory{settled: start.Add(1)}).Answer(types.NamespacedName{}, ErrIgnored, nil, start)
	expect.Same(t, "before that machines wait", true, errors.Is(answer, keep.ErrSettling))
	expect.Same(t, "the next look is when it has settled", time.Duration(1), again)
}

// TestTried: only the policy refuses the probe like that.
func TestTried(t *testing.T) {
	forbid := func(why string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "probe", errors.New(why))
	}
	expect.OK(t, Tried(served))
	expect.OK(t, Tried(forbid("ValidatingAdmissionPolicy 'x'")))
	expect.Same(t, "nothing refuses", ErrIgnored, Tried(nil), cmpopts.EquateErrors())
	for _, err := range []error{forbid("no right"), errBoom} {
		expect.Same(t, err.Error(), err, Tried(err), cmpopts.EquateErrors())
	}
}

// TestAnswer: what time does not mend is a sentence, and machines wait for the rest.
func TestAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		mute string
	}{
		"guests may write":         {nil, ""},
		"nothing refuses":          {ErrIgnored, ""},
		"an old API server":        {&meta.NoKindMatchError{}, unserved},
		"a kind that is not known": {apierrors.NewNotFound(roles, "x"), unserved},
		"no right":                 {errMayNot, forbidden},
		"a Role fails":             {errBoom, ""},
		"a Role is turned down":    {served, ""},
	} {
		m := settled
		again, answer := m.Answer(types.NamespacedName{}, c.err, nil, start)
		mute, is := errors.AsType[*MuteError](answer)
		waits := c.err != nil && c.mute == ""
		expect.Same(t, name+": guests are mute", c.mute != "", is)
		expect.Same(t, name+": machines wait", waits, errors.Is(answer, keep.ErrSettling))
		if is {
			expect.Same(t, name, MuteError{Why: c.mute}, *mute)
		}
		wanted, next := settled, recheck
		if waits {
			wanted.waitingSince, next = start, settle
		}
		expect.Same(t, name+": again", next, again)
		expect.Same(t, name+": what is remembered", true, wanted == m)
	}
}

// TestPatience: machines wait a minute for a policy that is not enforced, or for an API server that refuses, and not longer. Then
// the next wait begins anew.
func TestPatience(t *testing.T) {
	for why, err := range map[string]error{
		"the workload cluster does not enforce the ValidatingAdmissionPolicy":             ErrIgnored,
		"the workload cluster refuses the objects that guests report by: write Role: the": errBoom,
	} {
		m := settled
		waits := func(after time.Duration) bool {
			_, answer := m.Answer(types.NamespacedName{}, err, nil, start.Add(after))
			return errors.Is(answer, keep.ErrSettling)
		}
		for _, after := range []time.Duration{0, patience - 1} {
			expect.Same(t, why+" waits", true, waits(after))
		}
		again, answer := m.Answer(types.NamespacedName{}, err, nil, start.Add(patience))
		expect.Says(t, why, answer, why)
		expect.Same(t, why+" ends with what it means", true, strings.HasSuffix(answer.Error(), ending))
		expect.Same(t, why+" again", recheck, again)
		expect.Same(t, why+" waits anew", true, waits(patience+recheck))
		expect.Same(t, why+" is patient anew", true, waits(2*patience+recheck-1))
	}
}

// TestTaken: where a foreign object has the name of one of ours, people learn what became of the RoleBinding, and our policy
// settles anew after that.
func TestTaken(t *testing.T) {
	const why = "Role capwin-guests/capwin-guest in the workload cluster of Cluster a/blue is not capwin's and has other content" +
		", so guests cannot report there, and progress comes from the Node alone; rename or remove it, or set its label " +
		"app.kubernetes.io/managed-by=capwin to have capwin replace its content"
	for says, kept := range map[string]error{
		why: nil, why + "; guests keep their RoleBinding: the webhook says no": errors.New("the webhook says no"),
	} {
		m := settled
		again, answer := m.Answer(types.NamespacedName{Namespace: "a", Name: "blue"},
			&keep.ForeignError{Object: "Role capwin-guests/capwin-guest"}, kept, start)
		mute, _ := errors.AsType[*MuteError](answer)
		expect.Same(t, "the answer", MuteError{says, true}, *mute)
		expect.Same(t, "what is remembered", true, m == Memory{})
		expect.Same(t, "again", recheck, again)
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
