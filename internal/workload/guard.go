package workload

import (
	"context"
	"fmt"
	"runtime/debug"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Guard makes an error of a panic: an answer of one cluster must not end the manager, which looks after others. The log has the
// place of the panic.
func Guard(ctx context.Context, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			ctrl.LoggerFrom(ctx).Error(err, "A bug in this program has ended a check of a cluster", "stack", string(debug.Stack()))
		}
	}()
	return call()
}
