package health

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// store is what stands behind controller-runtime's fake client. It does what an API server does and the client does not: a new
// object gets a UID and a creation time (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/) and
// passes the webhooks of Cluster API that set defaults, and a write that changes nothing wakes nobody.
type store struct {
	clienttesting.ObjectTracker
	scheme  *runtime.Scheme
	changed func(before, now client.Object) // one of them is nil when the object is new or gone
}

func newStore(scheme *runtime.Scheme) *store {
	return &store{scheme: scheme, ObjectTracker: clienttesting.NewFieldManagedObjectTracker(scheme,
		serializer.NewCodecFactory(scheme).UniversalDecoder(), managedfields.NewDeducedTypeConverter())}
}

// read is an object as it is stored, nil when there is none.
func (s *store) read(gvr schema.GroupVersionResource, namespace, name string) (client.Object, error) {
	found, err := s.Get(gvr, namespace, name)
	if err != nil {
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return nil, err
	}
	object, _ := found.DeepCopyObject().(client.Object)
	return object, nil
}

// Create makes an object.
func (s *store) Create(gvr schema.GroupVersionResource, o runtime.Object, namespace string, with ...metav1.CreateOptions) error {
	object, _ := o.(client.Object)
	if err := s.begin(object); err != nil {
		return err
	}
	if err := s.ObjectTracker.Create(gvr, o, namespace, with...); err != nil {
		return err
	}
	return s.publish(gvr, namespace, nil, object.GetName())
}

// begin gives a new object what it has from the beginning.
func (s *store) begin(o client.Object) error {
	o.SetUID(uuid.NewUUID())
	o.SetCreationTimestamp(metav1.Now())
	o.SetGeneration(1)
	ctx := crwebhook.NewContextWithRequest(context.Background(), crwebhook.Request{
		AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create},
	})
	switch o := o.(type) {
	case *clusterv1.Machine:
		return (&admission.Machine{}).Default(ctx, o)
	case *clusterv1.MachineSet:
		return (&admission.MachineSet{}).Default(ctx, o)
	case *clusterv1.MachineDeployment:
		return (&admission.MachineDeployment{}).Default(ctx, o)
	case *clusterv1.MachineHealthCheck:
		return (&admission.MachineHealthCheck{}).Default(ctx, o)
	}
	return nil
}

// Update replaces an object.
func (s *store) Update(gvr schema.GroupVersionResource, o runtime.Object, namespace string, with ...metav1.UpdateOptions) error {
	return s.write(gvr, o, namespace, func() error { return s.ObjectTracker.Update(gvr, o, namespace, with...) })
}

// Patch replaces an object by one to which a patch was applied.
func (s *store) Patch(gvr schema.GroupVersionResource, o runtime.Object, namespace string, with ...metav1.PatchOptions) error {
	return s.write(gvr, o, namespace, func() error { return s.ObjectTracker.Patch(gvr, o, namespace, with...) })
}

// write leaves an object alone that it would not change, and its version with it.
func (s *store) write(gvr schema.GroupVersionResource, o runtime.Object, namespace string, carryOut func() error) error {
	object, _ := o.(client.Object)
	before, err := s.read(gvr, namespace, object.GetName())
	if err != nil {
		return err
	}
	if before != nil && same(before, object, true) {
		object.SetResourceVersion(before.GetResourceVersion())
		return nil
	}
	if err := carryOut(); err != nil {
		return err
	}
	return s.publish(gvr, namespace, before, object.GetName())
}

// Apply makes or changes an object with the fields that its manager wants.
func (s *store) Apply(gvr schema.GroupVersionResource, o runtime.Object, namespace string, with ...metav1.PatchOptions) error {
	wanted, _ := o.(client.Object)
	before, err := s.read(gvr, namespace, wanted.GetName())
	if err != nil {
		return err
	}
	if err := s.ObjectTracker.Apply(gvr, o, namespace, with...); err != nil {
		return err
	}
	if before == nil {
		made, err := s.read(gvr, namespace, wanted.GetName())
		if err != nil {
			return err
		}
		if err := s.begin(made); err != nil {
			return err
		}
		if err := s.ObjectTracker.Update(gvr, made, namespace, metav1.UpdateOptions{FieldManager: "webhooks"}); err != nil {
			return err
		}
	}
	return s.publish(gvr, namespace, before, wanted.GetName())
}

// Delete removes an object.
func (s *store) Delete(gvr schema.GroupVersionResource, namespace, name string, with ...metav1.DeleteOptions) error {
	before, err := s.read(gvr, namespace, name)
	if err != nil {
		return err
	}
	if err := s.ObjectTracker.Delete(gvr, namespace, name, with...); err != nil {
		return err
	}
	return s.publish(gvr, namespace, before, name)
}

// publish has a change known.
func (s *store) publish(gvr schema.GroupVersionResource, namespace string, before client.Object, name string) error {
	now, err := s.read(gvr, namespace, name)
	if err != nil || before == nil && now == nil || before != nil && now != nil && same(before, now, false) {
		return err
	}
	for _, o := range []client.Object{before, now} {
		if o == nil {
			continue
		}
		gvk, err := apiutil.GVKForObject(o, s.scheme)
		if err != nil {
			return err
		}
		o.GetObjectKind().SetGroupVersionKind(gvk)
	}
	s.changed(before, now)
	return nil
}

// same says whether two versions of an object differ in nothing but how often it was written and, if that does not matter, in
// who owns the fields.
func same(a, b client.Object, owned bool) bool {
	return equality.Semantic.DeepEqual(plain(a, owned), plain(b, owned))
}

func plain(o client.Object, owned bool) client.Object {
	o, _ = o.DeepCopyObject().(client.Object)
	o.SetResourceVersion("")
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if !owned {
		o.SetManagedFields(nil)
	}
	return o
}
