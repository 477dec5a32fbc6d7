package keep_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestWrite: what is missing is made, what is right costs no write, and what somebody has changed is restored by one.
func TestWrite(t *testing.T) {
	s := newStage(role)
	s.rights(t, "at first", "create")
	s.stays(t, "after that")
	s.edits(t, "kubectl-edit", func(o map[string]any) {
		o["rules"] = append(o["rules"].([]any), o["rules"].([]any)[0])
		o["aggregationRule"] = map[string]any{"clusterRoleSelectors": []any{map[string]any{}}}
		expect.OK(t, unstructured.SetNestedField(o, "b", "metadata", "annotations", "a"))
		expect.OK(t, unstructured.SetNestedField(o, "b", "metadata", "labels", "a"))
	})
	s.rights(t, "once a rule was added", "update")
	there := s.there(t)
	expect.Same(t, "rules", s.want.Object["rules"], there.Object["rules"])
	expect.Same(t, "aggregationRule", nil, there.Object["aggregationRule"])
	expect.Same(t, "annotations and labels of others", "b b", there.GetAnnotations()["a"]+" "+there.GetLabels()["a"])
	s.removes(t)
	s.rights(t, "once it was removed", "create")
}

// TestWhose: which object of our name is ours, and what becomes of it.
func TestWhose(t *testing.T) {
	const taken, restored, accepted = "taken", "update", ""
	for name, c := range map[string]struct {
		reason string
		role   *rbacv1.ClusterRole
		writer string
		edit   func(*rbacv1.ClusterRole)
		want   string
	}{
		"foreign":                   {"nothing proves that it is ours", roleOf(nil, secrets), "kubectl", nil, taken},
		"foreign with our content":  {"an operator may keep it", roleOf(nil), "kubectl", nil, accepted},
		"theirs with our content":   {"it is as it should be", roleOf(theirs), "kubectl", nil, accepted},
		"given to us":               {"somebody has set our label", roleOf(ours, secrets), "kubectl", nil, restored},
		"ours of an older version":  {"it gets the label", roleOf(nil), "capwin", nil, restored},
		"ours":                      {"it has the label", roleOf(ours), "capwin", nil, accepted},
		"a restore drops its marks": {"no managedFields, no label", roleOf(nil, secrets), "velero", nil, taken},
		"older, annotated": {"its rules are ours still", roleOf(nil), "capwin", func(r *rbacv1.ClusterRole) {
			r.Annotations = map[string]string{"a": "b"}
		}, restored},
		"older, with rules of others": {"nothing of it is what we wrote", roleOf(nil), "capwin", func(r *rbacv1.ClusterRole) {
			r.Rules = []rbacv1.PolicyRule{secrets}
		}, taken},
		"taken from us": {"a label of others says so", roleOf(ours), "capwin", func(r *rbacv1.ClusterRole) {
			r.Labels, r.Rules = theirs, []rbacv1.PolicyRule{secrets}
		}, taken},
		"ours, edited": {"the label says that it is ours", roleOf(ours), "capwin", func(r *rbacv1.ClusterRole) {
			r.Rules = []rbacv1.PolicyRule{secrets}
		}, restored},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(role)
			s.puts(t, c.writer, c.role)
			if c.edit != nil {
				there := &rbacv1.ClusterRole{}
				expect.OK(t, s.API.Get(t.Context(), client.ObjectKeyFromObject(c.role), there))
				c.edit(there)
				expect.OK(t, s.quietly(func(api client.Client) error {
					return api.Update(t.Context(), there, client.FieldOwner("kubectl-edit"))
				}))
			}
			before := s.there(t)
			calls, err := s.write(t)
			expect.Same(t, "it is told to be foreign: "+c.reason, c.want == taken, keep.ClassOf(err) == keep.Foreign)
			if c.want != restored {
				expect.Same(t, "writes: "+c.reason, 0, len(calls))
				expect.Same(t, "the role: "+c.reason, before, s.there(t))
				return
			}
			expect.OK(t, err)
			expect.Same(t, "writes: "+c.reason, []string{restored}, calls)
			expect.Same(t, "rules: "+c.reason, s.want.Object["rules"], s.there(t).Object["rules"])
			expect.Same(t, "label", keep.Mark, s.there(t).GetLabels()[keep.Label])
			s.stays(t, "after that")
		})
	}
}

// TestNamespace: one of an older version gets the label, and keeps its content, of which nothing is wanted.
func TestNamespace(t *testing.T) {
	s := newStage("apiVersion: v1\nkind: Namespace\nmetadata: {name: guests, labels: {app.kubernetes.io/managed-by: capwin}}")
	older := s.want.DeepCopy()
	older.SetLabels(nil)
	older.Object["spec"] = map[string]any{"finalizers": []any{"kubernetes"}}
	s.puts(t, "capwin", older)
	s.rights(t, "one of an older version", "update")
	expect.Same(t, "its content", older.Object["spec"], s.there(t).Object["spec"])
	s.stays(t, "after that")
}

// TestFetch: what was fetched costs no call of its own, each kind is fetched once, and what is not shown is
// asked for by itself.
func TestFetch(t *testing.T) {
	both := append(keep.Must(role), keep.Must(binding)...)
	fetch := func(s *stage) []string {
		s.read, s.written = nil, nil
		s.Fetch(t.Context(), append(both, both...))
		_ = s.WriteAll(t.Context(), both)
		return s.read
	}
	lists, gets := []string{"list ClusterRoleList", "list ClusterRoleBindingList"}, []string{"get capwin-test", "get capwin-test"}
	s := newStage(role)
	expect.Same(t, "before they are made", append(lists, gets...), fetch(s))
	expect.Same(t, "after that", lists, fetch(s))
	s.edits(t, "kubectl", func(o map[string]any) { o["rules"] = []any{} })
	expect.Same(t, "once one was changed", lists, fetch(s))
	expect.OK(t, s.Write(t.Context(), both[0]))
	expect.Same(t, "writes of a look", []string{"update"}, s.written)
	expect.Same(t, "what was written is read anew", append(lists, gets[0]), s.read)
	fetch(s)
	expect.OK(t, s.RevokeAll(t.Context(), both))
	there, err := s.IsThere(t.Context(), both[0])
	expect.OK(t, err)
	expect.Same(t, "what was revoked is there", false, there)

	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"forbidden":   {apierrors.NewForbidden(schema.GroupResource{}, "", nil), append(lists, gets...)},
		"turned down": {apierrors.NewBadRequest("no lists"), append(lists, gets...)},
		"no answer":   {errors.New("no answer"), lists},
		"not known":   {&meta.NoKindMatchError{}, lists},
	} {
		s := newStage(role)
		s.fail["list"] = c.err
		expect.Same(t, name, c.want, fetch(s))
		_, err := s.IsThere(t.Context(), both[0])
		expect.Same(t, name+": class", len(c.want) == len(lists), err != nil)
		if err != nil {
			expect.Says(t, name, err, "list ClusterRole: "+c.err.Error())
		}
	}
}

// TestShownAsAnother: whatever a server puts into its answer, that is taken for what was asked for.
func TestShownAsAnother(t *testing.T) {
	for name, shows := range map[string]func(*unstructured.Unstructured){
		"another kind in a list": func(o *unstructured.Unstructured) { o.SetKind("ClusterRoleBinding") },
		"another name":           func(o *unstructured.Unstructured) { o.SetName("cluster-admin") },
		"another namespace":      func(o *unstructured.Unstructured) { o.SetNamespace("kube-system") },
	} {
		s := newStage(role)
		s.puts(t, "capwin", roleOf(ours))
		s.shows = shows
		if strings.HasSuffix(name, "list") {
			s.Fetch(t.Context(), []*unstructured.Unstructured{s.want})
			s.shows = nil
			there, err := s.IsThere(t.Context(), keep.Must(binding)[0])
			expect.OK(t, err)
			expect.Same(t, "the other one is there", false, there)
		}
		expect.OK(t, s.Revoke(t.Context(), s.want))
		expect.Same(t, name, []string{"ClusterRole /capwin-test"}, s.removed)
	}
}

// TestOtherRoleRef: a binding of ours that binds another role is made anew, which no API server lets us change.
func TestOtherRoleRef(t *testing.T) {
	for whose, labels := range map[string]map[string]string{"ours": ours, "theirs": theirs} {
		s := newStage(binding)
		there := s.want.DeepCopy()
		there.SetLabels(labels)
		there.Object["roleRef"].(map[string]any)["name"] = "cluster-admin"
		s.puts(t, "kubectl", there)
		calls, err := s.write(t)
		name := s.there(t).Object["roleRef"].(map[string]any)["name"]
		if whose == "theirs" {
			expect.Same(t, "class", keep.Foreign, keep.ClassOf(err))
			expect.Same(t, "what their binding binds", "cluster-admin", name)
			continue
		}
		expect.OK(t, err)
		expect.Same(t, "calls", []string{"delete", "create"}, calls)
		expect.Same(t, "what ours binds", "capwin-test", name)
	}
	s := newStage(binding)
	s.rights(t, "at first", "create")
	s.edits(t, "kubectl", func(o map[string]any) { o["subjects"] = []any{} })
	s.rights(t, "one with other subjects", "update")

	s = newStage(binding)
	there := s.want.DeepCopy()
	there.Object["roleRef"].(map[string]any)["name"] = "view"
	s.puts(t, "kubectl", there)
	s.fail["delete"] = errors.New("no answer")
	_, err := s.write(t)
	expect.Says(t, "a removal that fails", err, "write ClusterRoleBinding: no answer")
}

// TestSomebodyIsFaster: what somebody puts into the place of ours between our look and our write stays, and counts from the next
// look on.
func TestSomebodyIsFaster(t *testing.T) {
	for call, there := range map[string]*rbacv1.ClusterRole{"create": nil, "update": roleOf(ours, secrets), "delete": roleOf(ours)} {
		s := newStage(role)
		if there != nil {
			s.puts(t, "capwin", there)
		}
		s.before = func(string) {
			if there == nil {
				s.puts(t, "kubectl", roleOf(theirs, secrets))
				return
			}
			s.edits(t, "kubectl", func(o map[string]any) {
				o["rules"] = []any{}
				expect.OK(t, unstructured.SetNestedField(o, "platform-team", "metadata", "labels", keep.Label))
			})
		}
		var err error
		if call == "delete" {
			err = s.Revoke(t.Context(), s.want)
		} else {
			_, err = s.write(t)
		}
		expect.Same(t, call+" is tried again", keep.ForNow, keep.ClassOf(err))
		expect.Same(t, call+" fails", true, err != nil)
		_, err = s.write(t)
		expect.Same(t, "the next look", keep.Foreign, keep.ClassOf(err))
		expect.Same(t, "what an error is about", "ClusterRole capwin-test", keep.Taken(err))
	}
	s := newStage(role)
	s.puts(t, "capwin", roleOf(ours, secrets))
	s.before = func(string) { s.removes(t) }
	_, err := s.write(t)
	expect.Says(t, "an update of what is gone", err, "write ClusterRole: it was removed meanwhile")
	expect.Same(t, "it is no unknown kind", keep.ForNow, keep.ClassOf(err))
}

// TestRevoke: what is ours goes, and what is somebody else's stays.
func TestRevoke(t *testing.T) {
	for name, c := range map[string]struct {
		role *rbacv1.ClusterRole
		gone bool
	}{
		"ours": {roleOf(ours), true}, "theirs": {roleOf(theirs), false}, "nobody's": {roleOf(nil), false}, "none": {nil, true},
	} {
		s := newStage(role)
		if c.role != nil {
			s.puts(t, "kubectl", c.role)
		}
		there, err := s.IsThere(t.Context(), s.want)
		expect.OK(t, err)
		expect.Same(t, name+" is there", name == "ours", there)
		expect.OK(t, s.Revoke(t.Context(), s.want))
		err = s.API.Get(t.Context(), client.ObjectKeyFromObject(s.want), s.want.DeepCopy())
		expect.Same(t, name+" is gone", c.gone, apierrors.IsNotFound(err))
	}
	s := newStage(role)
	s.puts(t, "kubectl", roleOf(ours))
	s.fail["delete"] = errors.New("no answer")
	expect.Says(t, "a removal", s.Revoke(t.Context(), s.want), "remove ClusterRole capwin-test: no answer")
	s.fail["get"] = errors.New("no answer")
	expect.Says(t, "a look before it", s.Revoke(t.Context(), s.want), "get ClusterRole: no answer")
}

// TestAll: objects are written in their order and revoked in the other one, whichever of them fail. But a binding is not written
// whose role was not.
func TestAll(t *testing.T) {
	s := newStage(role)
	both := append(keep.Must(role), keep.Must(binding)...)
	expect.OK(t, s.WriteAll(t.Context(), both))
	expect.OK(t, s.RevokeAll(t.Context(), both))
	expect.Same(t, "calls", []string{"create", "create", "delete", "delete"}, s.written)
	boom := errors.New("boom")
	s.written, s.fail["create"] = nil, boom
	other := keep.Must(role)[0]
	other.SetName("capwin-other")
	expect.Says(t, "WriteAll", s.WriteAll(t.Context(), append(slices.Clone(both), other)), "write ClusterRole: boom")
	expect.Same(t, "tried", []string{"create", "create"}, s.written)
	delete(s.fail, "create")
	expect.OK(t, s.WriteAll(t.Context(), both))
	s.written, s.fail["delete"] = nil, boom
	expect.Says(t, "RevokeAll", s.RevokeAll(t.Context(), both), "remove ClusterRoleBinding capwin-test: boom")
	expect.Same(t, "tried", []string{"delete", "delete"}, s.written)
	s.fail["get"] = &meta.NoKindMatchError{}
	expect.OK(t, s.RevokeAll(t.Context(), both))
}

// TestUnread: an object that cannot be read may be somebody else's, so it is not written over.
func TestUnread(t *testing.T) {
	s := newStage(role)
	s.puts(t, "kubectl", roleOf(theirs, secrets))
	s.fail["get"] = errors.New("no answer")
	calls, err := s.write(t)
	expect.Says(t, "Write", err, "get ClusterRole: no answer")
	expect.Same(t, "writes", 0, len(calls))
	expect.Says(t, "IsThere", expect.ErrorOf(s.IsThere(t.Context(), s.want)), "get ClusterRole: no answer")
}

// TestProbe makes nothing.
func TestProbe(t *testing.T) {
	s := newStage(role)
	expect.OK(t, s.Probe(t.Context(), s.want.DeepCopy()))
	there, err := s.IsThere(t.Context(), s.want)
	expect.OK(t, err)
	expect.Same(t, "it is there", false, there)
	s.fail["create"] = errors.New("no answer")
	expect.Says(t, "one that fails", s.Probe(t.Context(), s.want.DeepCopy()), "no answer")
}

// TestClassOf has what each answer means.
func TestClassOf(t *testing.T) {
	kind := schema.GroupResource{Resource: "x"}
	for want, errs := range map[keep.Class][]error{
		keep.ForNow: {
			nil, errors.New("no answer"), apierrors.NewConflict(kind, "x", nil), apierrors.NewAlreadyExists(kind, "x"),
			apierrors.NewTooManyRequests("x", 1), apierrors.NewUnauthorized("x"), apierrors.NewInternalError(errors.New("x")),
			&apierrors.StatusError{},
		},
		keep.Unserved:   {apierrors.NewNotFound(kind, "x"), apierrors.NewMethodNotSupported(kind, "x"), &meta.NoKindMatchError{}},
		keep.Forbidden:  {apierrors.NewForbidden(kind, "x", nil)},
		keep.TurnedDown: {apierrors.NewInvalid(schema.GroupKind{}, "x", nil), apierrors.NewBadRequest("x")},
	} {
		for _, err := range errs {
			expect.Same(t, "class of "+errorText(err), want, keep.ClassOf(err))
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}
