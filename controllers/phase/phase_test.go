package phase_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var errBoom = errors.New("boom")

func TestRun(t *testing.T) {
	type facts struct{ settled bool }
	settled := func(f *facts) bool { return f.settled }
	pass := func(context.Context, *facts) error { return nil }
	settle := func(_ context.Context, f *facts) error { f.settled = true; return nil }
	stop := func(context.Context, *facts) error { return phase.Wait(phase.Cluster, "Stop", "for %s", "good") }
	fail := func(context.Context, *facts) error { return errBoom }
	stopped := phase.Stop{Reason: "Stop", Message: "for good", Wakes: phase.Cluster}
	failed := phase.Stop{Reason: "InternalError", Err: errBoom}
	cases := map[string]struct {
		reason string
		phases []phase.Func[*facts]
		want   phase.Stop
	}{
		"none":         {"no phase, nothing to wait for", nil, phase.Stop{}},
		"all pass":     {"nil goes on", []phase.Func[*facts]{pass, pass}, phase.Stop{}},
		"first stops":  {"the phases behind it do not run", []phase.Func[*facts]{pass, stop, fail}, stopped},
		"error":        {"an error without a reason is ours", []phase.Func[*facts]{fail, stop}, failed},
		"unless":       {"what is not settled is done", []phase.Func[*facts]{phase.Unless(settled, pass, stop), fail}, stopped},
		"settled":      {"what is settled is skipped", []phase.Func[*facts]{settle, phase.Unless(settled, stop)}, phase.Stop{}},
		"settled late": {"a group that has begun is finished", []phase.Func[*facts]{phase.Unless(settled, settle, stop)}, stopped},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, c.reason, c.want, phase.Run(t.Context(), &facts{}, c.phases...))
		})
	}
}

func compare(t *testing.T, reason string, want phase.Stop, got error) {
	t.Helper()
	expect.Same(t, reason, want, phase.Of(got), cmpopts.EquateErrors())
}

func TestCloud(t *testing.T) {
	transient := &cloud.Error{Kind: cloud.Transient, Reason: "R", Message: "m", Err: errBoom}
	throttled := &cloud.Error{Kind: cloud.Throttled, Reason: "R", Message: "m", After: time.Minute}
	unnamed := &cloud.Error{Kind: cloud.Transient, Message: "m", Err: errBoom}
	denied := cloud.Errorf(cloud.Denied, "R", "m")
	exhausted, invalid := cloud.Errorf(cloud.Exhausted, "R", "m"), cloud.Errorf(cloud.Invalid, "R", "m")
	internal := phase.Stop{Reason: "InternalError", Err: errBoom}
	broken := &cloud.Error{Kind: cloud.Transient, Reason: "R", Message: "m", After: time.Minute, Err: errBoom}
	later := &cloud.Error{Kind: cloud.Later, After: time.Second}
	// Each has this reason and this message; want names what else differs.
	cases := map[string]struct {
		reason string
		err    error
		want   phase.Stop
	}{
		"transient":       {"the queue backs off, the condition says why", transient, phase.Stop{BackOff: true, Cause: errBoom}},
		"without a cause": {"so it is where the cloud gave none", cloud.Errorf(cloud.Transient, "R", "m"), phase.Stop{BackOff: true}},
		"unknown kind":    {"it is retried", &cloud.Error{Kind: "new", Reason: "R", Message: "m"}, phase.Stop{BackOff: true}},
		"broken":          {"the account tells why, and wakes", broken, phase.Stop{After: time.Minute}},
		"throttled":       {"wait for as long as the cloud asked", throttled, phase.Stop{After: time.Minute}},
		"throttled, soon": {"never hot", cloud.Errorf(cloud.Throttled, "R", "m"), phase.Stop{After: 5 * time.Second}},
		"throttled, past": {
			"never hot", &cloud.Error{Kind: cloud.Throttled, Reason: "R", Message: "m", After: time.Second},
			phase.Stop{After: 5 * time.Second},
		},
		"throttled, cause": {"it was told once", &cloud.Error{
			Kind: cloud.Throttled, Reason: "R", Message: "m", After: time.Minute,
			Err: errBoom,
		}, phase.Stop{After: time.Minute}},
		"exhausted":      {"slowly: the spec need not change", exhausted, phase.Stop{After: 2 * time.Minute}},
		"denied":         {"other credentials may come without a watch", denied, phase.Stop{After: 15 * time.Second}},
		"invalid":        {"only another spec helps", invalid, phase.Stop{After: 2 * time.Minute, Stalled: true}},
		"wrapped":        {"the kind is found", fmt.Errorf("ensure: %w", denied), phase.Stop{After: 15 * time.Second}},
		"other":          {"an error that no cloud made is ours", errBoom, internal},
		"without reason": {"so is one to which the cloud gave no reason", unnamed, internal},
		"stop":           {"what has stopped already stays so", phase.Wait(phase.VM, "R", "m"), phase.Stop{Wakes: phase.VM}},
	}
	compare(t, "no error stays none", phase.Stop{}, phase.Cloud(nil))
	compare(t, "nothing is told", phase.Stop{Later: true, After: time.Second}, phase.Cloud(later))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.want.Reason == "" {
				c.want.Reason, c.want.Message = "R", "m"
			}
			compare(t, c.reason, c.want, phase.Cloud(c.err))
		})
	}
}

func TestResult(t *testing.T) {
	conflict := fmt.Errorf("patch: %w", apierrors.NewConflict(schema.GroupResource{}, "m", errBoom))
	for name, c := range map[string]struct {
		reason string
		end    error
		after  time.Duration
		err    error
	}{
		"go on":   {"nothing to come back for", nil, 0, nil},
		"wait":    {"a watch wakes us", phase.Wait(phase.Cluster, "R", "m"), 0, nil},
		"poll":    {"no watch wakes us", phase.Poll("R", "m"), 5 * time.Second, nil},
		"secret":  {"Secrets are not watched", phase.AwaitSecret("R", "m"), 15 * time.Second, nil},
		"lack":    {"what is missing may be on its way", phase.Lack("R", "m"), 5 * time.Second, nil},
		"for":     {"as long as it said", phase.WaitFor(time.Minute, "R", "m"), time.Minute, nil},
		"awaited": {"another part of this process wakes us", fmt.Errorf("read: %w", phase.ErrAwaited), 0, nil},
		"later, at": {
			"nothing was asked, and it is known until when", phase.Cloud(&cloud.Error{Kind: cloud.Later, After: time.Minute}),
			time.Minute, nil,
		},
		"stall":    {"looked at again, slowly", phase.Stall("R", "m"), 2 * time.Minute, nil},
		"wrapped":  {"the stop is found", fmt.Errorf("act: %w", phase.Poll("R", "m")), 5 * time.Second, nil},
		"back off": {"the queue knows how long", &phase.Stop{BackOff: true}, 0, nil},
		"fail":     {"the queue backs off", errBoom, 0, errBoom},
		"later":    {"nothing was asked", phase.Cloud(cloud.Errorf(cloud.Later, "", "m")), 500 * time.Millisecond, nil},
		"outdated": {"the queue knows how long, and a conflict is no error", conflict, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := phase.Result(t.Context(), c.end)
			backOff := phase.Of(c.end).BackOff
			//nolint:staticcheck // because it is what has the queue back off
			if result.RequeueAfter != c.after || !errors.Is(err, c.err) || result.Requeue != backOff {
				t.Errorf("%s: got %v and %v", c.reason, result, err)
			}
		})
	}
}

func TestCondition(t *testing.T) {
	internal := func(text string) *metav1.Condition {
		return &metav1.Condition{Type: "Ready", Status: metav1.ConditionUnknown, Reason: "InternalError", Message: text}
	}
	waits := &metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "R", Message: "get: slow"}
	slow := internal("get: 1 s")
	for name, c := range map[string]struct {
		reason string
		end    error
		known  *metav1.Condition
		want   *metav1.Condition
	}{
		"stop":        {"reason and sentence are the stop's", phase.Wait(phase.Cluster, "R", "get: slow"), internal("boom"), waits},
		"error":       {"what failed without a reason is not hidden", errors.New("get: 1 s"), waits, slow},
		"same act":    {"its first text stays, or each try would write", errors.New("get: 2 s"), slow, slow},
		"another act": {"it is told", errors.New("put: 2 s"), slow, internal("put: 2 s")},
		"one word":    {"an error need not name an act", errBoom, slow, internal("boom")},
	} {
		expect.Same(t, name+": "+c.reason, *c.want, phase.Of(c.end).Condition("Ready", c.known))
	}
}

// TestStop has what a stop tells, and what stops have by kind.
func TestStop(t *testing.T) {
	for name, c := range map[string]struct {
		end  error
		want phase.Stop
	}{
		"wait":   {phase.Wait(phase.Claim, "R", "%d", 1), phase.Stop{Reason: "R", Message: "1", Wakes: "IPAddressClaim"}},
		"poll":   {phase.Poll("R", "%d", 1), phase.Stop{Reason: "R", Message: "1", After: 5 * time.Second}},
		"secret": {phase.AwaitSecret("R", "%d", 1), phase.Stop{Reason: "R", Message: "1", After: 15 * time.Second}},
		"stall":  {phase.Stall("R", "%d", 1), phase.Stop{Reason: "R", Message: "1", After: 2 * time.Minute, Stalled: true}},
		"lack":   {phase.Lack("R", "%d", 1), phase.Stop{Reason: "R", Message: "1", After: 5 * time.Second, Stalled: true}},
	} {
		expect.Same(t, name, c.want, phase.Of(c.end))
		expect.Same(t, name, "R: 1", c.end.Error())
	}
	cause, err := &phase.Stop{Cause: errBoom}, &phase.Stop{Err: errBoom, Cause: context.Canceled}
	if !errors.Is(cause, errBoom) || !errors.Is(err, errBoom) {
		t.Error("what stopped a phase is not found in its stop")
	}
}

// TestUntold: of what was not found out, nothing is told.
func TestUntold(t *testing.T) {
	for _, end := range []error{
		fmt.Errorf("patch: %w", apierrors.NewConflict(schema.GroupResource{}, "m", errBoom)), fmt.Errorf("get: %w", phase.ErrAwaited),
		phase.Cloud(cloud.Errorf(cloud.Later, "", "m")),
	} {
		expect.Same(t, end.Error(), true, phase.Of(end).Later)
	}
	for _, end := range []error{nil, errBoom, phase.Poll("R", "m"), phase.Stall("R", "m")} {
		expect.Same(t, fmt.Sprint(end), false, phase.Of(end).Later)
	}
}

// TestStopsAreLogged: the log tells for what a look waits and how it goes on, and nothing of a look that went through or met a
// conflict.
func TestStopsAreLogged(t *testing.T) {
	var lines []string
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 4})
	backsOff := &phase.Stop{Reason: "R", BackOff: true}
	conflict := apierrors.NewConflict(schema.GroupResource{}, "m", errBoom)
	for _, end := range []error{nil, conflict, phase.Wait(phase.VM, "R", "m"), phase.Poll("R", "m"), errBoom, backsOff} {
		_, _ = phase.Result(ctrl.LoggerInto(t.Context(), logger), end)
	}
	expect.Same(t, "lines", []string{
		`"level"=4 "msg"="Stopped" "reason"="R" "wakes"="VM" "after"="0s" "backOff"=false`,
		`"level"=4 "msg"="Stopped" "reason"="R" "wakes"="" "after"="5s" "backOff"=false`,
		`"level"=4 "msg"="Stopped" "reason"="InternalError" "wakes"="" "after"="0s" "backOff"=true`,
		`"level"=4 "msg"="Stopped" "reason"="R" "wakes"="" "after"="0s" "backOff"=true`,
	}, lines)
}

// TestLongErrors: a server may have written an internal error, so that people see 1,024 bytes of it at most.
func TestLongErrors(t *testing.T) {
	told := phase.Of(errors.New("get: "+strings.Repeat("x", 5000))).Condition("Ready", nil)
	expect.Same(t, "bytes", 1024, len(told.Message))
}
