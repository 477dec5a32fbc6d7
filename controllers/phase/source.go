package phase

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Source is what a controller is woken by. A Wait names one; it MUST be watched by the controller, which maps what changed there
// to the object that waits.
type Source string

// The sources of our controllers.
const (
	// Self is the object itself; the others are objects of the management cluster, by kind.
	Self           Source = "Self"
	Cluster        Source = "Cluster"
	WindowsMachine Source = "WindowsMachine"
	Claim          Source = "IPAddressClaim"

	// Credentials are the Secrets that the keeper reads, and VM is what a cloud reports of its VMs.
	Credentials Source = "Credentials"
	VM          Source = "VM"
)

// Stopped is the log line with what a reconcile waits for, and how it goes on.
const Stopped = "Stopped"

// logStop logs why a reconcile ended. It is for those who search for what an object waits for, and tests compare it with the
// queue.
func logStop(ctx context.Context, stop Stop) {
	if stop.Reason != "" {
		ctrl.LoggerFrom(ctx).V(4).Info(Stopped, "reason", stop.Reason, "wakes", stop.Wakes, "after", stop.After,
			"backOff", stop.BackOff || stop.Err != nil)
	}
}
