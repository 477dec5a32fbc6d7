package phase_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

var errBoom = errors.New("boom")

func TestRun(t *testing.T) {
	pass := func(context.Context, *[]string) phase.Outcome { return phase.Outcome{} }
	stop := func(context.Context, *[]string) phase.Outcome { return phase.Wait("Stop", "for %s", "good") }
	fail := func(context.Context, *[]string) phase.Outcome { return phase.Fail(errBoom) }
	cases := map[string]struct {
		reason string
		phases []phase.Func[*[]string]
		want   phase.Outcome
	}{
		"none":       {"no phase, nothing to wait for", nil, phase.Outcome{}},
		"all pass":   {"the zero outcome goes on", []phase.Func[*[]string]{pass, pass}, phase.Outcome{}},
		"first ends": {"the phases behind do not run", []phase.Func[*[]string]{pass, stop, fail}, phase.Outcome{Reason: "Stop", Message: "for good"}},
		"error ends": {"an error ends as well, without a reason", []phase.Func[*[]string]{fail, stop}, phase.Outcome{Err: errBoom}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := phase.Run(t.Context(), &[]string{}, c.phases...)
			if diff := cmp.Diff(c.want, got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

func TestCloud(t *testing.T) {
	transient := &cloud.Error{Kind: cloud.Transient, Reason: "CloudUnreachable", Message: "no answer", Err: errBoom}
	cases := map[string]struct {
		reason string
		err    error
		want   phase.Outcome
	}{
		"transient": {
			"the queue backs off, the condition says why", transient,
			phase.Outcome{Reason: "CloudUnreachable", Message: "no answer", Err: errBoom},
		},
		"throttled": {
			"wait for as long as the cloud asked", &cloud.Error{Kind: cloud.Throttled, Reason: "R", Message: "m", After: time.Minute},
			phase.Outcome{Reason: "R", Message: "m", After: time.Minute},
		},
		"throttled without a time": {
			"never hot", &cloud.Error{Kind: cloud.Throttled, Reason: "R", Message: "m"},
			phase.Outcome{Reason: "R", Message: "m", After: 5 * time.Second},
		},
		"exhausted": {
			"slowly, nobody has to change the spec", cloud.Errorf(cloud.Exhausted, "R", "m"),
			phase.Outcome{Reason: "R", Message: "m", After: 2 * time.Minute},
		},
		"denied": {
			"other credentials may come without a watch", cloud.Errorf(cloud.Denied, "R", "m"),
			phase.Outcome{Reason: "R", Message: "m", After: 15 * time.Second},
		},
		"invalid": {
			"only another spec helps", cloud.Errorf(cloud.Invalid, "R", "m"),
			phase.Outcome{Reason: "R", Message: "m", After: 2 * time.Minute, Stalled: true},
		},
		"wrapped": {
			"the kind is found below other words", fmt.Errorf("ensure: %w", cloud.Errorf(cloud.Denied, "R", "m")),
			phase.Outcome{Reason: "R", Message: "m", After: 15 * time.Second},
		},
		"other":          {"an error of nobody is an error", errBoom, phase.Outcome{Err: errBoom}},
		"without reason": {"a cloud that gives no reason gets none", &cloud.Error{Kind: cloud.Transient, Message: "m", Err: errBoom}, phase.Outcome{Err: errBoom}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, phase.Cloud(c.err), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

func TestResult(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		outcome phase.Outcome
		after   time.Duration
		err     error
	}{
		"go on": {"nothing to come back for", phase.Outcome{}, 0, nil},
		"wait":  {"a watch wakes us", phase.Wait("R", "m"), 0, nil},
		"poll":  {"nothing wakes us", phase.Poll("R", "m"), 5 * time.Second, nil},
		"stall": {"looked at again, slowly", phase.Stall("R", "m"), 2 * time.Minute, nil},
		"fail":  {"the queue backs off", phase.Fail(errBoom), 0, errBoom},
		"outdated": {
			"a conflict is looked at again, without a word in the log",
			phase.Fail(fmt.Errorf("patch: %w", apierrors.NewConflict(schema.GroupResource{}, "m", errBoom))), 500 * time.Millisecond, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := c.outcome.Result()
			if result.RequeueAfter != c.after || !errors.Is(err, c.err) {
				t.Errorf("%s: got %v and %v", c.reason, result, err)
			}
		})
	}
}
