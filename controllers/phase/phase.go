// Package phase says how one phase of a reconcile ends and what follows from it. It is the only place where an answer
// becomes a retry.
package phase

import (
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

// How long to wait where nothing wakes us.
const (
	// again: the cache is about to show what somebody else has changed.
	again = 500 * time.Millisecond
	// soon: something that is about to happen and has no watch.
	soon = 5 * time.Second
	// secrets: how soon a mended Secret is noticed.
	secrets = 15 * time.Second
	// slow: nothing of ours changes it, and asking costs.
	slow = 2 * time.Minute
)

// Outcome is how a phase ended. The zero value means: go on with the next one.
type Outcome struct {
	// Reason and Message for the condition. The message says what is missing, to the person with kubectl, and must not
	// change from try to try.
	Reason  string
	Message string

	// After is when to look again though no watch says so; zero means that a watch will wake us.
	After time.Duration

	// Stalled says that only a change by somebody can help.
	Stalled bool

	// Err is returned to the queue, which backs off.
	Err error
}

// Func is a phase: it reads or changes one thing and says how that ended.
type Func[Facts any] func(ctx context.Context, f Facts) Outcome

// Outdated says that something was changed under us, so that there is nothing to report.
func (o Outcome) Outdated() bool { return apierrors.IsConflict(o.Err) }

// Run goes through the phases until one does not say "go on".
func Run[Facts any](ctx context.Context, f Facts, phases ...Func[Facts]) Outcome {
	for _, phase := range phases {
		if outcome := phase(ctx, f); outcome.Ends() {
			return outcome
		}
	}
	return Outcome{}
}

// Ends says whether the phases after this one have to wait.
func (o Outcome) Ends() bool { return o.Reason != "" || o.Err != nil }

// InternalError is the condition that tells of an error. The text of an error may change from try to try, and a status that
// changes wakes us: what was told of the same act stays, and the log has them all.
func InternalError(kind string, known *metav1.Condition, err error) metav1.Condition {
	if known != nil && known.Reason == clusterv1.InternalErrorReason && act(known.Message) == act(err.Error()) {
		return *known
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: clusterv1.InternalErrorReason, Message: err.Error()}
}

// act is what failed, as all errors begin.
func act(message string) string {
	before, _, _ := strings.Cut(message, ": ")
	return before
}

// Result is what the outcome means for the queue. A conflict is no error: what was decided upon is not what is there any
// more, and is looked at again.
func (o Outcome) Result() (ctrl.Result, error) {
	if o.Outdated() {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	if o.Err != nil {
		return ctrl.Result{}, o.Err
	}
	return ctrl.Result{RequeueAfter: o.After}, nil
}

// Wait ends the phase until a watch wakes us.
func Wait(reason, format string, args ...any) Outcome {
	return Outcome{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Poll ends the phase for a moment, because no watch tells of what is missing.
func Poll(reason, format string, args ...any) Outcome {
	outcome := Wait(reason, format, args...)
	outcome.After = soon
	return outcome
}

// AwaitSecret ends the phase until a Secret is there. Secrets are not watched, and each look is a call.
func AwaitSecret(reason, format string, args ...any) Outcome {
	outcome := Wait(reason, format, args...)
	outcome.After = secrets
	return outcome
}

// Stall ends the phase until somebody changes something. It is looked at again, slowly, since that may be elsewhere.
func Stall(reason, format string, args ...any) Outcome {
	outcome := Wait(reason, format, args...)
	outcome.After = slow
	outcome.Stalled = true
	return outcome
}

// Fail ends the phase with an error that has no reason of its own.
func Fail(err error) Outcome {
	return Outcome{Err: err}
}

// Cloud turns the error of a cloud into an outcome: the cloud says what kind it is, we what to do.
func Cloud(err error) Outcome {
	var answer *cloud.Error
	if !errors.As(err, &answer) || answer.Reason == "" {
		return Fail(err)
	}
	outcome := Wait(answer.Reason, "%s", answer.Message)
	switch answer.Kind {
	case cloud.Throttled:
		outcome.After = max(answer.After, soon)
	case cloud.Exhausted:
		outcome.After = slow
	case cloud.Denied:
		// Other credentials come in a Secret that nobody watches; the account remembers that these were refused.
		outcome.After = secrets
	case cloud.Invalid:
		outcome.After, outcome.Stalled = slow, true
	default:
		outcome.Err = err
		if answer.Err != nil {
			outcome.Err = fmt.Errorf("%w: %w", err, answer.Err) // for the log
		}
	}
	return outcome
}
