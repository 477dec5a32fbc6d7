package caches

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// cached is a client with a cache of ours.
type cached struct{ client.Client }

func (c cached) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, o, options...); err != nil {
		return err
	}
	stub, err := Keep(o.DeepCopyObject())
	*o.(*clusterv1.Cluster) = *stub.(*clusterv1.Cluster)
	return err
}

var (
	key     = client.ObjectKey{Namespace: "ns", Name: "prod"}
	errDown = errors.New("the API server is down")
)

// server has a Cluster with an annotation; while down is true, it lists nothing.
func server(t *testing.T, annotation string, down *bool) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, clusterv1.AddToScheme(scheme))
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{"cluster.x-k8s.io/a": annotation},
	}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).WithStatusSubresource(cluster).
		WithIndex(&clusterv1.Cluster{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
		WithInterceptorFuncs(calls.Ask(func(c calls.Call) error {
			if c.Verb == "list" && *down {
				return errDown
			}
			return nil
		})).Build()
}

// TestDirect reads a large object from the API server, and no other.
func TestDirect(t *testing.T) {
	down := false
	api := server(t, large, &down)
	direct := Direct{Client: cached{api}, Live: api}
	var got clusterv1.Cluster
	expect.OK(t, direct.Get(t.Context(), key, &got))
	if IsStub(&got) || !IsLarge(&got) || got.Annotations["cluster.x-k8s.io/a"] != large {
		t.Errorf("read %d bytes", bytesOf(t, &got))
	}
	down = true
	if err := direct.Get(t.Context(), key, &got); !errors.Is(err, errDown) {
		t.Errorf("error %v", err)
	}
	down = false
	gone := Direct{Client: cached{api}, Live: fake.NewClientBuilder().WithScheme(api.Scheme()).
		WithIndex(&clusterv1.Cluster{}, metav1.ObjectNameField, func(client.Object) []string { return nil }).Build()}
	if err := gone.Get(t.Context(), key, &got); !apierrors.IsNotFound(err) {
		t.Errorf("error %v", err)
	}
	for range cap(places) {
		places <- struct{}{}
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Says(t, "no place", direct.Get(late, key, &got), "wait to read a large object")
	for range cap(places) {
		<-places
	}

	down = true
	small := Direct{Client: cached{server(t, "a", &down)}, Live: server(t, "a", &down)}
	expect.OK(t, small.Get(t.Context(), key, &got))
	if IsLarge(&got) {
		t.Error("a small object is large")
	}
}

// TestPatches: no object of a cache is written as a whole, and no stub at all.
func TestPatches(t *testing.T) {
	down := false
	api := Patches{server(t, large, &down)}
	read := func(reader client.Reader) *clusterv1.Cluster {
		o := &clusterv1.Cluster{}
		expect.OK(t, reader.Get(t.Context(), key, o))
		return o
	}
	paused := func(o *clusterv1.Cluster) client.Patch {
		original := o.DeepCopy()
		o.Spec.Paused = new(true)
		o.Status.Phase = "Deleting"
		return client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})
	}
	o := read(api)
	expect.Says(t, "update", api.Update(t.Context(), o), "by patches alone")
	expect.Says(t, "update of the status", api.Status().Update(t.Context(), o), "by patches alone")
	stub := read(cached{api})
	patch := paused(stub)
	expect.Says(t, "a stub", api.Patch(t.Context(), stub, patch), "too large for the cache")
	expect.Says(t, "the status of a stub", api.Status().Patch(t.Context(), stub, patch), "too large for the cache")

	direct := read(Direct{Client: cached{api}, Live: api})
	expect.OK(t, api.Patch(t.Context(), direct, paused(direct)))
	direct = read(api)
	if direct.Spec.Paused == nil || len(direct.Annotations) != 1 {
		t.Errorf("the Cluster is %d bytes, paused %v", bytesOf(t, direct), direct.Spec.Paused)
	}
	expect.OK(t, api.Status().Patch(t.Context(), direct, paused(direct)))
}
