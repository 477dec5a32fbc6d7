package machine

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// afterwards looks at a VM that needs nothing more, and has its user data removed once the guest no longer needs it. If that
// fails, the machine is as good as before: only its condition shows that.
func (r *Reconciler) afterwards(ctx context.Context, f *facts, m cloud.Machine) (cloud.VM, error) {
	vm, err := f.cloud.Observe(ctx, m)
	if err != nil || !vm.UserData || !isSettled(f) {
		return vm, err
	}
	m.Settled = true
	left, err := f.cloud.Ensure(ctx, m)
	if f.kept = f.ofCloud(err); errors.Is(err, cloud.ErrNotFound) || phase.Of(f.kept).Later {
		return cloud.VM{}, err
	}
	vm.UserData = err != nil || left.UserData || left.State == cloud.Creating
	return vm, nil //nolint:nilerr // because the VM is there, and the condition UserDataRemoved has the error
}

// isSettled reports whether the guest needs its user data no more: its Node has joined, or it reported that it has given up. A
// guest that is only late may still need them.
func isSettled(f *facts) bool { return joined(f) || hasReported(f, plan.StateFailed) }

// userDataCondition shows who can still read the user data of a VM.
func userDataCondition(f *facts) metav1.Condition {
	c := metav1.Condition{Type: infrav1.UserDataRemovedCondition, Status: metav1.ConditionFalse}
	switch current := conditions.Get(f.windows, c.Type); {
	case !f.vm.UserData:
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.UserDataRemovedReason
	case f.kept != nil:
		c = phase.Of(f.kept).Condition(c.Type, current)
	case isSettled(f):
		c.Reason, c.Message = infrav1.RemovingUserDataReason, "the user data is being taken out of the VM"
	default:
		c.Reason = infrav1.UserDataInUseReason
		c.Message = "every program in the VM can read its user data until the Node has joined or the bootstrap has failed"
	}
	return c
}
