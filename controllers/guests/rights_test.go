package guests

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// workloadAPI is the API server of a workload cluster, which may refuse calls.
type workloadAPI struct {
	client.Client
	read, written []string         // kinds
	fail          map[string]error // by kind, of what is written
	probed        error            // the answer to the probe; nil while the policy is not served
	before        func(call, kind string)
}

func newWorkload() *workloadAPI {
	w := &workloadAPI{fail: map[string]error{}, before: func(string, string) {}}
	write := func(call string, o client.Object) error {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		w.before(call, kind)
		if err := w.fail[kind]; err != nil {
			return err
		}
		w.written = append(w.written, call+" "+kind)
		return nil
	}
	w.Client = fake.NewClientBuilder().WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, with ...client.GetOption) error {
			w.read = append(w.read, o.GetObjectKind().GroupVersionKind().Kind)
			return c.Get(ctx, key, o, with...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.CreateOption) error {
			if o.GetName() == probe {
				if w.probed != nil {
					return w.probed
				}
				return c.Create(ctx, o, with...)
			}
			if err := write("create", o); err != nil {
				return err
			}
			return c.Create(ctx, o, with...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.UpdateOption) error {
			if err := write("update", o); err != nil {
				return err
			}
			return c.Update(ctx, o, with...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.DeleteOption) error {
			if err := write("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, with...)
		},
	}).Build()
	return w
}

var (
	served     = apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, probe, nil)
	blue       = client.ObjectKey{Namespace: "a", Name: "blue"}
	roles      = schema.GroupResource{Resource: "roles"}
	errNoMatch = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ValidatingAdmissionPolicy"}}
)

// tried is the state after the policy has had its time to settle.
func tried(t *testing.T, w *workloadAPI) (State, error) {
	t.Helper()
	now := time.Unix(1_800_000_000, 0)
	r := &Rights{Now: func() time.Time { return now }}
	_, err := r.Ensure(t.Context(), blue, w)
	expect.OK(t, err)
	now = now.Add(settle)
	return r.Ensure(t.Context(), blue, w)
}

// ensuring has the rights of a cluster ensured some time later, and compares what is read and written for that.
func ensuring(t *testing.T, w *workloadAPI, r *Rights, now *time.Time) func(string, time.Duration, State, int, ...string) {
	t.Helper()
	return func(what string, after time.Duration, want State, reads int, writes ...string) {
		t.Helper()
		*now = now.Add(after)
		w.read, w.written = nil, nil
		expect.Same(t, "state "+what, want, expect.Got(r.Ensure(t.Context(), blue, w))(t))
		expect.Same(t, "objects read "+what, reads, len(w.read))
		expect.Same(t, "written "+what, writes, w.written)
	}
}

// TestRights: the policy comes first, and the right to write only once the policy is seen to work. Then all is read again every
// ten minutes, and nothing in between; what is as it should be is not written.
func TestRights(t *testing.T) {
	w, now := newWorkload(), time.Unix(1_800_000_000, 0)
	ensure := ensuring(t, w, &Rights{Now: func() time.Time { return now }}, &now)
	ensure("at first", 0, State{Again: settle}, 4,
		"create Namespace", "create Role", "create ValidatingAdmissionPolicy", "create ValidatingAdmissionPolicyBinding")
	ensure("a moment later", settle-1, State{Again: 1}, 0)
	ensure("while the policy is not served", 1, State{Again: settle}, 4)
	w.probed = served
	ensure("once it is", settle, State{Open: true, Again: keep}, 5, "create RoleBinding")
	ensure("after that", keep-1, State{Open: true, Again: 1}, 0)
	ensure("after ten minutes", 1, State{Open: true, Again: keep}, 5)
	expect.OK(t, w.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: bindingOf(t, w).ObjectMeta}))
	ensure("once the RoleBinding is gone", keep, State{Open: true, Again: keep}, 5, "create RoleBinding")
	bindingOf(t, w)
	var left corev1.ConfigMapList
	expect.OK(t, w.List(t.Context(), &left))
	expect.Same(t, "objects that the probe made", 0, len(left.Items))
}

func bindingOf(t *testing.T, w *workloadAPI) *rbacv1.RoleBinding {
	t.Helper()
	var all rbacv1.RoleBindingList
	expect.OK(t, w.List(t.Context(), &all))
	expect.Same(t, "RoleBindings", 1, len(all.Items))
	return &all.Items[0]
}

// TestProbe: only the words of the policy, or a refusal of the object itself, say that it is served.
func TestProbe(t *testing.T) {
	forbidden := func(why string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, probe, errors.New(why))
	}
	for name, c := range map[string]struct {
		answer error
		want   State
	}{
		"it refuses the object": {served, State{Open: true, Again: keep}},
		"it forbids it":         {forbidden("ValidatingAdmissionPolicy 'x' denied request"), State{Open: true, Again: keep}},
		"nothing refuses":       {nil, State{Again: settle}},
		"no right to make one": {
			forbidden("no right"),
			State{
				Why:   "the Cluster's kubeconfig may not read and write Namespace, Role, RoleBinding and ValidatingAdmissionPolicy" + alone,
				Again: keep,
			},
		},
		"another error": {errors.New("ValidatingAdmissionPolicy is slow"), State{Again: settle}},
	} {
		w := newWorkload()
		w.probed = c.answer
		state, err := tried(t, w)
		expect.OK(t, err)
		expect.Same(t, name, c.want, state)
	}
}

// TestRefused: what the API server refuses is told when time does not mend it. Then the wait begins anew.
func TestRefused(t *testing.T) {
	closedTo := func(why string) State { return State{Why: why + alone, Again: keep} }
	unknown := closedTo("the workload cluster has no ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on")
	mayNot := closedTo("the Cluster's kubeconfig may not read and write Namespace, Role, RoleBinding and ValidatingAdmissionPolicy")
	for name, c := range map[string]struct {
		kind string
		err  error
		want State
	}{
		"an old API server":         {"ValidatingAdmissionPolicy", errNoMatch, unknown},
		"a kind that is not served": {"ValidatingAdmissionPolicy", apierrors.NewNotFound(roles, "x"), unknown},
		"no right to a Role":        {"Role", apierrors.NewForbidden(roles, "x", nil), mayNot},
		"a Role fails":              {"Role", errors.New("no answer"), State{Again: settle}},
	} {
		w := newWorkload()
		w.fail[c.kind] = c.err
		r := &Rights{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
		expect.Same(t, name, c.want, expect.Got(r.Ensure(t.Context(), blue, w))(t))
	}
	for name, c := range map[string]struct {
		err  error
		want State
	}{
		"no right to bind": {apierrors.NewForbidden(roles, "x", nil), mayNot},
		"binding fails":    {errors.New("no answer"), State{Again: settle}},
	} {
		w := newWorkload()
		w.probed, w.fail["RoleBinding"] = served, c.err
		state, err := tried(t, w)
		expect.OK(t, err)
		expect.Same(t, name, c.want, state)
	}
	k, start := &rights{}, time.Unix(1_800_000_000, 0)
	k.bound(State{Again: settle}, nil, start)
	expect.Same(t, "what is told at once", mayNot, k.bound(mayNot, nil, start.Add(patience)))
	expect.Same(t, "the wait after that", State{Again: settle}, k.bound(State{Again: settle}, nil, start.Add(3*patience)))
	expect.Same(t, "when all is well", State{Open: true}, k.bound(State{Open: true}, nil, start.Add(4*patience)))
	expect.Same(t, "the next wait", State{Again: settle}, k.bound(State{Again: settle}, nil, start.Add(6*patience)))
}

// TestOutOfReach: a cluster that is not reached, or a caller who gave up, says nothing of the rights. The next call asks again.
func TestOutOfReach(t *testing.T) {
	for name, c := range map[string]struct {
		gaveUp bool
		err    error
		want   bool
	}{
		"out of reach": {false, &workload.UnreachableError{Why: "cannot be reached"}, true},
		"given up":     {true, context.Canceled, true},
		"refused":      {false, errors.New("the webhook says no"), false},
	} {
		ctx, leave := context.WithCancel(t.Context())
		if c.gaveUp {
			leave()
		}
		w := newWorkload()
		w.fail["Namespace"] = c.err
		r := &Rights{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
		_, err := r.Ensure(ctx, blue, w)
		expect.Same(t, name+": the caller is told", c.want, errors.Is(err, c.err))
		w.written, w.fail = nil, nil
		_ = expect.Got(r.Ensure(t.Context(), blue, w))(t)
		leave()
		expect.Same(t, name+": asked again", c.want, len(w.written) > 0)
	}
}

// TestObjectOfReports: it is made once and removed once, and a refusal names it.
func TestObjectOfReports(t *testing.T) {
	refusal := errors.New("the webhook says no")
	var fail error
	api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.CreateOption) error {
			if fail != nil {
				return fail
			}
			return c.Create(ctx, o, with...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, with ...client.DeleteOption) error {
			if fail != nil {
				return fail
			}
			return c.Delete(ctx, o, with...)
		},
	}).Build()
	there := func() error {
		return api.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: "win-1"}, &corev1.ConfigMap{})
	}
	for range 2 {
		expect.OK(t, MakeReport(t.Context(), api, "win-1"))
		expect.OK(t, there())
	}
	fail = refusal
	const object = " the object of the guest's reports: the webhook says no"
	expect.Says(t, "MakeReport", MakeReport(t.Context(), api, "win-1"), "make"+object)
	expect.Says(t, "RemoveReport", RemoveReport(t.Context(), api, "win-1"), "remove"+object)
	fail = nil
	for range 2 {
		expect.OK(t, RemoveReport(t.Context(), api, "win-1"))
		expect.Same(t, "it is gone", true, apierrors.IsNotFound(there()))
	}
}
