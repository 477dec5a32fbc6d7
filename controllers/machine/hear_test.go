package machine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestLogCause writes what the cloud itself said once, when people are told something new.
func TestLogCause(t *testing.T) {
	const off, cut = "VMRunning False VMNotRunning", "CloudReachable False CloudUnreachable"
	cause := phase.Cloud(&cloud.Error{
		Kind: cloud.Transient, Reason: infrav1.CloudUnreachableReason, Message: "away", Err: errors.New(strings.Repeat("x", 300)),
	})
	for name, c := range map[string]struct {
		was, now, says string
		end            error
		lines          int
	}{
		"nothing new":  {off, off, "", cause, 0},
		"of the VM":    {"", off, "", cause, 1},
		"of the cloud": {"", cut, "", cause, 1},
		"other words":  {off, off, "other", cause, 1},
		"of the guest": {"", "BootstrapSucceeded False X", "", cause, 0},
	} {
		var lines []string
		ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
		f := &facts{original: machineWith(c.was), windows: machineWith(c.now)}
		if c.says != "" {
			f.windows.Status.Conditions[0].Message = c.says
		}
		logCause(ctx, f, phase.Of(c.end))
		expect.Same(t, name+": lines", c.lines, len(lines))
		if c.lines > 0 && !strings.Contains(lines[0], "="+`"`+strings.Repeat("x", 253)+`..."`) {
			t.Errorf("%s: %s", name, lines[0])
		}
	}
}

// TestAddressesFail: no phase about addresses goes on when the API server does not answer, but that of a machine that had its VM.
func TestAddressesFail(t *testing.T) {
	s := newPhaseStage(t)
	s.fails["get IPAddressClaim"], s.fails["list WindowsMachineList"] = errPhase, errPhase
	f := world(adapters(pooled))
	wants := func(what string, err error) {
		t.Helper()
		expect.Says(t, what, err, "etcdserver: request timed out")
	}
	wants("claim", s.claimAddresses(t.Context(), f))
	f.interfaces = fromPool
	wants("hold", s.holdAddresses(t.Context(), f))
	wants("free", s.freeAddresses(t.Context(), f))
	f.interfaces = slices.Clone(fromPool)
	f.interfaces[0].MACAddress = "00:50:56:00:00:05"
	f.windows.Status.NetworkInterfaces = f.interfaces
	wants("compare MACs", s.distinct(t.Context(), f))
	f.windows.Status.NetworkInterfaces = nil
	f.machine.Spec.ProviderID = "test://m-abc"
	var lines int
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(string, string) { lines++ }, funcr.Options{}))
	expect.OK(t, s.claimAddresses(ctx, f))
	expect.Same(t, "lines", 1, lines)
	s.fails["get IPAddressClaim"] = errGone
	expect.OK(t, s.claimAddresses(ctx, f))
	expect.Same(t, "lines of claims that are not there", 1, lines)
}
