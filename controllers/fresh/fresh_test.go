package fresh_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/capwin/cluster-api-provider-windows/controllers/fresh"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var key = client.ObjectKey{Namespace: "ns", Name: "n"}

// late is a client whose cache shows an old object for a time after the first write.
type late struct {
	client.WithWatch
	lag    time.Duration
	old    *corev1.Node
	behind time.Time
	fails  error
}

func newLate(t *testing.T, lag time.Duration) (*late, *fresh.Client[*corev1.Node]) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: "99"}}
	l := &late{lag: lag, old: node}
	l.WithWatch = interceptor.NewClient(
		fake.NewClientBuilder().WithObjects(node.DeepCopy()).WithStatusSubresource(node).Build(), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, options ...client.GetOption) error {
				if n, ok := o.(*corev1.Node); ok && time.Now().Before(l.behind) {
					l.old.DeepCopyInto(n)
					return nil
				}
				return c.Get(ctx, k, o, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
				if l.fails != nil {
					return l.fails
				}
				l.behind = time.Now().Add(l.lag)
				return c.Patch(ctx, o, p, options...)
			},
		})
	return l, fresh.New[*corev1.Node](l)
}

func label(t *testing.T, c client.Client, value string) (before, now *corev1.Node, err error) {
	t.Helper()
	before = &corev1.Node{}
	expect.OK(t, c.Get(t.Context(), key, before))
	now = before.DeepCopy()
	now.Labels = map[string]string{"of": value}
	return before, now, c.Patch(t.Context(), now, client.MergeFrom(before))
}

// TestGet has caches that are late.
func TestGet(t *testing.T) {
	cases := map[string]struct {
		reason         string
		lag            time.Duration
		waits, atFirst time.Duration // between the write and the read, and what the first read takes
		late           bool
	}{
		"up to date":    {"there is nothing to wait for", 0, 0, 0, false},
		"a moment":      {"the read waits for it", 25 * time.Millisecond, 0, 30 * time.Millisecond, false},
		"too late":      {"a worker has other work", time.Hour, 0, time.Second, true},
		"half a minute": {"it is remembered until now", time.Hour, 30 * time.Second, 10 * time.Millisecond, false},
		"long enough":   {"a version may go back when the API server is restored", time.Hour, 30*time.Second + 1, 0, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := newLate(t, test.lag)
				before, now, err := label(t, c, "us")
				expect.OK(t, err)
				<-time.After(test.waits)
				begun := time.Now()
				err = c.Get(t.Context(), key, &corev1.Node{})
				expect.Same(t, "conflict, because "+test.reason, test.late, apierrors.IsConflict(err))
				expect.Same(t, "wait, because "+test.reason, test.atFirst, time.Since(begun))
				if test.late {
					begun = time.Now()
					expect.Same(t, "conflict again", true, apierrors.IsConflict(c.Get(t.Context(), key, &corev1.Node{})))
					expect.Same(t, "wait of the next reader", time.Duration(0), time.Since(begun))
				}
				expect.Same(t, "the echo wakes nobody", !test.late, c.Own(before, now))
			})
		})
	}
}

// TestGetOfOthers waits neither for another kind nor for an object that is gone.
func TestGetOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newLate(t, time.Hour)
		_, _, err := label(t, c, "us")
		expect.OK(t, err)
		begun := time.Now()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		expect.OK(t, c.Create(t.Context(), pod))
		changed := pod.DeepCopy()
		changed.Labels = map[string]string{"of": "us"}
		expect.OK(t, c.Patch(t.Context(), changed, client.MergeFrom(pod)))
		expect.OK(t, c.Get(t.Context(), key, &corev1.Pod{}))
		other := client.ObjectKey{Namespace: key.Namespace, Name: "gone"}
		expect.Same(t, "not found", true, apierrors.IsNotFound(c.Get(t.Context(), other, &corev1.Pod{})))
		expect.Same(t, "wait", time.Duration(0), time.Since(begun))
	})
}

// TestGetOfGone does not wait for an object that is gone, whatever the caller knew of it.
func TestGetOfGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, c := newLate(t, 0)
		before, now, err := label(t, c, "us")
		expect.OK(t, err)
		expect.OK(t, l.Delete(t.Context(), now))
		begun := time.Now()
		expect.Same(t, "not found", true, apierrors.IsNotFound(c.Get(t.Context(), key, before)))
		expect.Same(t, "wait", time.Duration(0), time.Since(begun))
	})
}

// TestConflict waits until the cache has what was written instead: what it shows until then would meet the same conflict.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, c := newLate(t, 0)
		before, now, err := label(t, c, "us")
		expect.OK(t, err)
		l.fails = apierrors.NewConflict(schema.GroupResource{}, key.Name, errors.New("modified"))
		err = c.Patch(t.Context(), now.DeepCopy(), client.MergeFrom(before))
		expect.Same(t, "conflict", true, apierrors.IsConflict(err))
		expect.Same(t, "no write is our own", false, c.Own(before, now))
		begun := time.Now()
		err = c.Get(t.Context(), key, &corev1.Node{})
		expect.Same(t, "conflict while the cache has the same", true, apierrors.IsConflict(err))
		expect.Same(t, "wait", time.Duration(0), time.Since(begun))
		l.fails = nil
		_, _, err = label(t, c.Client, "others")
		expect.OK(t, err)
		begun = time.Now()
		expect.OK(t, c.Get(t.Context(), key, &corev1.Node{}))
		expect.Same(t, "wait for what the cache has", time.Duration(0), time.Since(begun))
	})
}

// TestRefusedPatch tells of a write that failed, and waits for nothing after it.
func TestRefusedPatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, c := newLate(t, time.Hour)
		before, now, err := label(t, c, "us")
		expect.OK(t, err)
		l.fails = errors.New("refused")
		expect.Says(t, "refused", c.Patch(t.Context(), now.DeepCopy(), client.MergeFrom(before)), "refused")
		expect.Same(t, "the write before it is our own", false, c.Own(before, now))
		expect.OK(t, c.Get(t.Context(), key, &corev1.Node{}))
	})
}

// TestOtherKinds have the names of ours, and say nothing of them.
func TestOtherKinds(t *testing.T) {
	l, c := newLate(t, 0)
	before, now, err := label(t, c, "us")
	expect.OK(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	expect.OK(t, c.Create(t.Context(), pod))
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"of":"us"}}}`))
	expect.OK(t, c.Patch(t.Context(), pod, patch))
	l.fails = errors.New("refused")
	expect.Says(t, "write of another kind", c.Patch(t.Context(), pod, patch), "refused")
	expect.Same(t, "our write is our own", true, c.Own(before, now))
}

// TestNews passes what others changed.
func TestNews(t *testing.T) {
	_, c := newLate(t, 0)
	before, now, err := label(t, c, "us")
	expect.OK(t, err)
	_, other, err := label(t, c.Client, "others")
	expect.OK(t, err)
	expect.Same(t, "our own", false, c.News().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}))
	expect.Same(t, "another's", true, c.News().Update(event.UpdateEvent{ObjectOld: now, ObjectNew: other}))
	expect.Same(t, "a new object", true, c.News().Create(event.CreateEvent{Object: other}))
}

// TestOwn has changes that are the echo of a write, and others.
func TestOwn(t *testing.T) {
	_, c := newLate(t, 0)
	before, now, err := label(t, c, "us")
	expect.OK(t, err)
	expect.Same(t, "our write is our own", true, c.Own(before, now))
	expect.Same(t, "a look at everything is not", false, c.Own(now, now))
	_, other, _ := label(t, c.Client, "others")
	expect.Same(t, "another's is not", false, c.Own(now, other))
	stranger := now.DeepCopy()
	stranger.Name = "stranger"
	expect.Same(t, "that of another object is not", false, c.Own(before, stranger))
}

// TestOwnUnderWay has changes that arrive before the answer to the write: one of the status alone is taken for our own.
func TestOwnUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		own    bool
	}{
		"status":      {func(n *corev1.Node) { n.Status.Phase = corev1.NodeRunning }, true},
		"spec":        {func(n *corev1.Node) { n.Generation++ }, false},
		"labels":      {func(n *corev1.Node) { n.Labels = map[string]string{"of": "others"} }, false},
		"annotations": {func(n *corev1.Node) { n.Annotations = map[string]string{"of": "others"} }, false},
		"finalizers":  {func(n *corev1.Node) { n.Finalizers = []string{"of/others"} }, false},
		"owners":      {func(n *corev1.Node) { n.OwnerReferences = []metav1.OwnerReference{{Name: "other"}} }, false},
	} {
		l, under := newLate(t, 0)
		before := &corev1.Node{}
		expect.OK(t, under.Get(t.Context(), key, before))
		now := before.DeepCopy()
		now.ResourceVersion = "1000"
		c.change(now)
		var own bool
		under.Client = interceptor.NewClient(l, interceptor.Funcs{
			SubResourcePatch: func(
				context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
			) error {
				own = under.Own(before, now)
				return errors.New("refused")
			},
		})
		err := under.Status().Patch(t.Context(), now.DeepCopy(), client.MergeFrom(before))
		expect.Says(t, "write of the status", err, "refused")
		expect.Same(t, "a change of "+name+" is our own", c.own, own)
		expect.Same(t, "what failed is remembered", false, under.Own(before, now))
	}
}
