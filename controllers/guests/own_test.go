package guests

import (
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

var (
	roleKey = client.ObjectKey{Namespace: Namespace, Name: "capwin-guest"}
	theirs  = map[string]string{markLabel: "platform-team"}
	// secrets is what no Role of ours has.
	secrets = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
)

// roleOf is a Role of our name. Its rules are ours if none are given.
func roleOf(labels map[string]string, rules []rbacv1.PolicyRule) *rbacv1.Role {
	if rules == nil {
		rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"update"}}}
	}
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: roleKey.Namespace, Name: roleKey.Name, Labels: labels}, Rules: rules,
	}
}

// earlier writes an object as releases did that wrote no label.
func earlier(t *testing.T, w client.Client, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		o.SetLabels(nil)
		apply := client.ApplyConfigurationFromUnstructured(o)
		expect.OK(t, w.Apply(t.Context(), apply, client.ForceOwnership, client.FieldOwner("capwin")))
	}
}

const taken = "Role capwin-guests/capwin-guest in the workload cluster of Cluster a/blue is not capwin's and has other content" +
	", so guests cannot report there, and progress comes from the Node alone; rename or remove it, or set its label " +
	"app.kubernetes.io/managed-by=capwin to have capwin replace its content"

// TestForeignRole: a Role of our name that somebody else made is neither changed nor taken over. It is read again every ten
// minutes, and ours is made once it is gone.
func TestForeignRole(t *testing.T) {
	w, now := newWorkload(), time.Unix(1_800_000_000, 0)
	w.probed = served
	role := &rbacv1.Role{}
	expect.OK(t, w.Create(t.Context(), roleOf(theirs, secrets)))
	expect.OK(t, w.Get(t.Context(), roleKey, role))
	before := role.DeepCopy()
	ensure := ensuring(t, w, &Rights{Now: func() time.Time { return now }}, &now)
	ensure("at first", 0, State{Why: taken, NameTaken: true, Again: keep}, 3, "create Namespace")
	ensure("a moment later", time.Second, State{Why: taken, NameTaken: true, Again: keep - time.Second}, 0)
	ensure("ten minutes later", keep-time.Second, State{Why: taken, NameTaken: true, Again: keep}, 3)
	expect.OK(t, w.Get(t.Context(), roleKey, role))
	expect.Same(t, "the Role", before, role)
	expect.OK(t, w.Delete(t.Context(), role))
	ensure("once it is gone", keep, State{Again: settle}, 4,
		"create Role", "create ValidatingAdmissionPolicy", "create ValidatingAdmissionPolicyBinding")
	ensure("in the end", settle, State{Open: true, Again: keep}, 5, "create RoleBinding")
}

// TestWhoseRole: which Role of our name is ours, and what becomes of it.
func TestWhoseRole(t *testing.T) {
	const theirsStays, madeOurs, nothing = "taken", "update Role", ""
	for name, c := range map[string]struct {
		reason string
		role   *rbacv1.Role
		writer string // the field manager; "" for an earlier release, which made the Role
		edit   func(*rbacv1.Role)
		want   string
	}{
		"foreign": {"nothing proves that it is ours", roleOf(nil, secrets), "kubectl", nil, theirsStays},
		"foreign, with our content": {
			"an operator may apply our objects himself", roleOf(nil, nil), "kubectl", nil, nothing,
		},
		"foreign, with our content and another label": {
			"it is as it should be", roleOf(theirs, nil), "kubectl", nil, nothing,
		},
		"given to us": {
			"somebody has set our label", roleOf(map[string]string{markLabel: mark}, secrets), "kubectl", nil, madeOurs,
		},
		"of an earlier release": {"it gets the label", nil, "", nil, madeOurs},
		"of an earlier release, annotated": {
			"its rules are ours still", nil, "",
			func(r *rbacv1.Role) { r.Annotations = map[string]string{"a": "b"} }, madeOurs,
		},
		"of an earlier release, with rules of others": {
			"nothing of it is what we wrote: it may as well be theirs", nil, "",
			func(r *rbacv1.Role) { r.Rules = secrets }, theirsStays,
		},
		"taken from us": {
			"a label of others says so", nil, "",
			func(r *rbacv1.Role) { r.Labels, r.Rules = theirs, secrets }, theirsStays,
		},
		"ours, edited": {
			"the label says that it is ours", roleOf(map[string]string{markLabel: mark}, nil), "capwin",
			func(r *rbacv1.Role) { r.Rules = secrets }, madeOurs,
		},
		"ours, without its label": {
			"its rules are ours still", roleOf(map[string]string{markLabel: mark}, nil), "capwin",
			func(r *rbacv1.Role) { r.Labels = nil }, madeOurs,
		},
		"ours, without its label, edited": {
			"nothing of it is what we wrote", roleOf(map[string]string{markLabel: mark}, nil), "capwin",
			func(r *rbacv1.Role) { r.Labels, r.Rules = nil, secrets }, theirsStays,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkload()
			if c.writer == "" {
				earlier(t, w, expect.Got(wanted())(t)[1])
			} else {
				expect.OK(t, w.Create(t.Context(), c.role, client.FieldOwner(c.writer)))
			}
			there := &rbacv1.Role{}
			if expect.OK(t, w.Get(t.Context(), roleKey, there)); c.edit != nil {
				c.edit(there)
				expect.OK(t, w.Update(t.Context(), there, client.FieldOwner("kubectl-edit")))
				expect.OK(t, w.Get(t.Context(), roleKey, there))
			}
			w.written = nil
			r := &Rights{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
			state := expect.Got(r.Ensure(t.Context(), blue, w))(t)
			expect.Same(t, "the name is taken", c.want == theirsStays, state.NameTaken)
			after := &rbacv1.Role{}
			expect.OK(t, w.Get(t.Context(), roleKey, after))
			if got := strings.Contains(strings.Join(w.written, ", "), madeOurs); got != (c.want == madeOurs) {
				t.Errorf("%s: written %q", c.reason, w.written)
			}
			if c.want != madeOurs {
				expect.Same(t, "the Role: "+c.reason, there, after)
				return
			}
			expect.Same(t, "rules: "+c.reason, roleOf(nil, nil).Rules, after.Rules)
			expect.Same(t, "label", mark, after.Labels[markLabel])
			expect.Same(t, "annotations of others", there.Annotations, after.Annotations)
		})
	}
}

// TestHostileMetadata: an API server that answers with anything at all proves no object to be ours.
func TestHostileMetadata(t *testing.T) {
	for name, metadata := range map[string]any{
		"none": nil, "a text": "capwin", "fields that are a text": map[string]any{"managedFields": "capwin"},
		"entries that are texts": map[string]any{"managedFields": []any{"capwin", nil}},
		"a manager in a list":    map[string]any{"managedFields": []any{map[string]any{"manager": []any{"capwin"}}}},
		"labels that are a list": map[string]any{"labels": []any{markLabel, mark}},
	} {
		expect.Same(t, name, false, isOurs(&unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}))
	}
}

// TestForeignNamespace: we write nothing into a Namespace, so it may be anybody's.
func TestForeignNamespace(t *testing.T) {
	w := newWorkload()
	room := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: theirs}}
	expect.OK(t, w.Create(t.Context(), room))
	expect.OK(t, w.Get(t.Context(), client.ObjectKeyFromObject(room), room))
	w.probed = served
	state, err := tried(t, w)
	expect.OK(t, err)
	expect.Same(t, "state", State{Open: true, Again: keep}, state)
	after := &corev1.Namespace{}
	expect.OK(t, w.Get(t.Context(), client.ObjectKeyFromObject(room), after))
	expect.Same(t, "the Namespace", room.ObjectMeta, after.ObjectMeta)
}

// TestSomebodyIsFaster: what somebody else makes or changes between our look and our write stays as it is, and counts from the
// next look on.
func TestSomebodyIsFaster(t *testing.T) {
	for call, there := range map[string]*rbacv1.Role{"create": nil, "update": roleOf(map[string]string{markLabel: mark}, secrets)} {
		t.Run(call, func(t *testing.T) {
			w, now := newWorkload(), time.Unix(1_800_000_000, 0)
			if there != nil {
				expect.OK(t, w.Create(t.Context(), there))
			}
			w.before = func(made, kind string) {
				if made+kind != call+"Role" {
					return
				}
				w.before = func(string, string) {}
				if there != nil {
					expect.OK(t, w.Update(t.Context(), roleOf(theirs, secrets)))
					return
				}
				expect.OK(t, w.Create(t.Context(), roleOf(theirs, secrets)))
			}
			r := &Rights{Now: func() time.Time { return now }}
			expect.Same(t, "state", State{Again: settle}, expect.Got(r.Ensure(t.Context(), blue, w))(t))
			now = now.Add(settle)
			expect.Same(t, "the next state", State{Why: taken, NameTaken: true, Again: keep},
				expect.Got(r.Ensure(t.Context(), blue, w))(t))
			after := &rbacv1.Role{}
			expect.OK(t, w.Get(t.Context(), roleKey, after))
			expect.Same(t, "the Role", secrets, after.Rules)
		})
	}
}

// TestForeignPolicy: guests that a foreign policy may not limit lose their right to write, and have it again later than our
// policy is there again. A RoleBinding of somebody else stays.
func TestForeignPolicy(t *testing.T) {
	w, now := newWorkload(), time.Unix(1_800_000_000, 0)
	w.probed = served
	r := &Rights{Now: func() time.Time { return now }}
	state := func(after time.Duration) State {
		now, w.written = now.Add(after), nil
		return expect.Got(r.Ensure(t.Context(), blue, w))(t)
	}
	state(0)
	expect.Same(t, "state", State{Open: true, Again: keep}, state(settle))
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	key := client.ObjectKey{Name: "capwin-guests"}
	expect.OK(t, w.Get(t.Context(), key, policy))
	policy.Labels, policy.Spec.Validations = theirs, policy.Spec.Validations[:1]
	expect.OK(t, w.Update(t.Context(), policy))
	taken := state(keep)
	const says = "ValidatingAdmissionPolicy capwin-guests in the workload cluster of Cluster a/blue"
	if !taken.NameTaken || !strings.HasPrefix(taken.Why, says) {
		t.Errorf("with a foreign policy: %+v", taken)
	}
	expect.Same(t, "written", []string{"delete RoleBinding"}, w.written)
	state(keep)
	expect.Same(t, "written once the RoleBinding is gone", 0, len(w.written))
	expect.OK(t, w.Delete(t.Context(), policy))
	expect.Same(t, "state once the policy is gone", State{Again: settle}, state(keep))
	expect.Same(t, "written then", []string{"create ValidatingAdmissionPolicy"}, w.written)
	expect.Same(t, "state in the end", State{Open: true, Again: keep}, state(settle))
	expect.Same(t, "written in the end", []string{"create RoleBinding"}, w.written)
}

// TestWithdrawFails: the sentence about the foreign object ends with it, unless the cluster is away.
func TestWithdrawFails(t *testing.T) {
	away := &workload.UnreachableError{Why: "is away"}
	for name, c := range map[string]struct {
		fail error
		says string
	}{
		"refused": {
			errors.New("the webhook says no"),
			"; guests keep their RoleBinding: remove RoleBinding capwin-guests/capwin-guest: the webhook says no",
		},
		"away": {away, ""},
	} {
		w := newWorkload()
		earlier(t, w, expect.Got(wanted())(t)[4])
		expect.OK(t, w.Create(t.Context(), roleOf(theirs, secrets)))
		w.fail["RoleBinding"] = c.fail
		r := &Rights{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
		state, err := r.Ensure(t.Context(), blue, w)
		expect.Same(t, name+": the caller is told", c.says == "", errors.Is(err, away))
		if c.says != "" {
			expect.Same(t, name, taken+c.says, state.Why)
		}
	}
}
