// Package phase has the reasons why a reconcile stops before its end. It is the only place where an answer becomes a retry.
package phase

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// How long to wait where no watch wakes us.
const (
	// moment: an account is about to be asked.
	moment = 500 * time.Millisecond
	// shortDelay: something is about to happen, and there is no watch for it.
	shortDelay = 5 * time.Second
	// secrets: how soon a corrected Secret is noticed.
	secrets = 15 * time.Second
	// slow: nothing that we do changes it, and each look costs a call.
	slow = 2 * time.Minute
)

// Func is a phase: it reads or changes one thing. With nil the next phase follows; an error ends the reconcile, and a Stop is an
// error with the reason for people.
type Func[Facts any] func(ctx context.Context, f Facts) error

// Stop is why a phase ends the reconcile. Use Of to find it in an error.
//
//nolint:errname // because most stops wait for something and nothing has failed
type Stop struct {
	// Reason and Message are for the condition. The message names what is missing, for the person with kubectl. It must not change
	// from try to try.
	Reason  string
	Message string

	// Wakes is what wakes us, and After when to look again without it.
	Wakes Source
	After time.Duration

	// Stalled is true if only a change by a person can help. BackOff has the queue try again, later each time. Later is set if
	// nothing was found out, so that there is nothing to report.
	Stalled, BackOff, Later bool

	// Err is returned to the queue, which logs it and backs off. Cause is for the log, once; nil where another line has it.
	Err, Cause error
}

// Error makes a Stop an error, so that it travels like one.
func (s *Stop) Error() string { return s.Reason + ": " + s.Message }

// Unwrap gives the cause.
func (s *Stop) Unwrap() error { return cmp.Or(s.Err, s.Cause) }

// Run goes through the phases until one of them stops.
func Run[Facts any](ctx context.Context, f Facts, phases ...Func[Facts]) error {
	for _, phase := range phases {
		if err := phase(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// Unless skips the phases when nothing is left for them to do.
func Unless[Facts any](isDone func(Facts) bool, phases ...Func[Facts]) Func[Facts] {
	return func(ctx context.Context, f Facts) error {
		if isDone(f) {
			return nil
		}
		return Run(ctx, f, phases...)
	}
}

// Of reads how the phases ended: the zero Stop when all of them ran, and an InternalError when an error is no Stop. A conflict is
// no error: the cache is about to show what another client has changed.
func Of(err error) Stop {
	stop, ok := errors.AsType[*Stop](err)
	switch {
	case err == nil:
		return Stop{}
	case errors.Is(err, ErrAwaited):
		return Stop{Later: true}
	case apierrors.IsConflict(err):
		return Stop{Later: true, BackOff: true}
	case ok:
		return *stop
	}
	return Stop{Reason: clusterv1.InternalErrorReason, Err: err}
}

// Condition is the stop as people see it.
func (s Stop) Condition(kind string, current *metav1.Condition) metav1.Condition {
	if s.Reason == clusterv1.InternalErrorReason {
		return s.internal(kind, current)
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: s.Reason, Message: s.Message}
}

// internal: the text of an internal error may change from try to try, and each write of the status wakes us. The condition keeps
// the first error of an act, and the log has all of them.
func (s Stop) internal(kind string, current *metav1.Condition) metav1.Condition {
	message := cloud.Clean(s.Err.Error(), maxInternal)
	if current != nil && current.Reason == s.Reason && act(current.Message) == act(message) {
		return *current
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: s.Reason, Message: message}
}

// maxInternal is how much of an internal error people see: a server may have written it.
const maxInternal = 1024

// act is what failed: every error text begins with it.
func act(message string) string {
	prefix, _, _ := strings.Cut(message, ": ")
	return prefix
}

// ErrAwaited ends the phases until another part of this process wakes the object, in a moment: there is nothing to report.
var ErrAwaited = errors.New("the answer is on its way")

// Result is when the queue looks again. Each failure doubles its short first pause: a slow API server needs fewer looks.
func Result(ctx context.Context, err error) (ctrl.Result, error) {
	stop := Of(err)
	if stop.Reason != "" { // for those who search for what an object waits for; tests compare it with the queue
		ctrl.LoggerFrom(ctx).V(4).Info(Stopped, "reason", stop.Reason, "wakes", stop.Wakes, "after", stop.After,
			"backOff", stop.BackOff || stop.Err != nil)
	}
	if stop.Err != nil {
		return ctrl.Result{}, stop.Err
	}
	//nolint:staticcheck // because only Requeue has the queue back off without an error line for each machine and try
	return ctrl.Result{Requeue: stop.BackOff, RequeueAfter: stop.After}, nil
}

// Wait stops until what it waits for wakes us.
func Wait(wakes Source, reason, format string, args ...any) error {
	return &Stop{Reason: reason, Message: fmt.Sprintf(format, args...), Wakes: wakes}
}

// WaitFor stops until something wakes us or the time has passed.
func WaitFor(delay time.Duration, reason, format string, args ...any) error {
	return &Stop{Reason: reason, Message: fmt.Sprintf(format, args...), After: delay}
}

// Poll stops for a moment, because there is no watch for what is missing.
func Poll(reason, format string, args ...any) error {
	return WaitFor(shortDelay, reason, format, args...)
}

// AwaitSecret stops until a Secret is there. We do not watch Secrets, and each look is a call.
func AwaitSecret(reason, format string, args ...any) error {
	return WaitFor(secrets, reason, format, args...)
}

// Stall stops until a person changes something. We look again, slowly, because the change may be elsewhere.
func Stall(reason, format string, args ...any) error {
	return &Stop{Reason: reason, Message: fmt.Sprintf(format, args...), After: slow, Stalled: true}
}

// Lack stops until a person brings something that is missing: Stall, but noticed soon, because it may be on its way.
func Lack(reason, format string, args ...any) error {
	return &Stop{Reason: reason, Message: fmt.Sprintf(format, args...), After: shortDelay, Stalled: true}
}

// Cloud turns the error of a cloud into a Stop: the cloud gives the kind of the error, and we decide when to try again. Other
// errors, and nil, stay as they are.
func Cloud(err error) error {
	answer, ok := errors.AsType[*cloud.Error](err)
	if !ok || answer.Reason == "" && answer.Kind != cloud.Later {
		return err
	}
	stop := &Stop{Reason: answer.Reason, Message: answer.Message}
	if answer.After == 0 { // otherwise it is the account that waits, which one event reports for all of its machines
		stop.Cause = answer.Err
	}
	switch answer.Kind {
	case cloud.Later:
		stop.After, stop.Later = max(answer.After, moment), true
	case cloud.Throttled:
		stop.After = max(answer.After, shortDelay)
	case cloud.Exhausted:
		stop.After = slow
	case cloud.Denied:
		// Other credentials come in a Secret that we do not watch; the account remembers that it was refused.
		stop.After = secrets
	case cloud.Invalid:
		stop.After, stop.Stalled = slow, true
	default:
		stop.After, stop.BackOff = answer.After, answer.After == 0
	}
	return stop
}

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
