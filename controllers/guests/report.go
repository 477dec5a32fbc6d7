// Package guests carries what guests report to objects in the workload cluster, where their cloud carries no reports: each has an
// object of its own, which it may replace by the rights of controllers/cluster/guests.
package guests

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// MakeReport makes the empty object that a guest may replace, unless it is there. It has no labels and no annotations: a guest
// would have to send them back as they are.
func MakeReport(ctx context.Context, api client.Client, name string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.GuestNamespace, Name: name}}
	if err := api.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the object of the guest's reports: %w", err)
	}
	return nil
}

// RemoveReport removes the object of a guest that is gone.
func RemoveReport(ctx context.Context, api client.Client, name string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.GuestNamespace, Name: name}}
	if err := api.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the object of the guest's reports: %w", err)
	}
	return nil
}
