package session

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func failedTask(message string, f types.BaseMethodFault) error {
	return Classify(task.Error{LocalizedMethodFault: &types.LocalizedMethodFault{LocalizedMessage: message, Fault: f}})
}

func refusedCall(message string, f types.BaseMethodFault) error {
	body := &soap.Fault{String: message}
	body.Detail.Fault = f
	return Classify(soap.WrapSoapFault(body))
}

func at(server string) *Session { return &Session{endpoint: endpoint{server: server}} }

// TestWords: people read what the vCenter says, in its own words, and which vCenter it is.
func TestWords(t *testing.T) {
	generic := &types.GenericVmConfigFault{Reason: "Failed to lock the file"}
	generic.FaultMessage = []types.LocalizableMessage{
		{Message: "Failed to start the\nvirtual machine."}, {Message: "Failed to lock the file"},
	}
	denied := &types.NoPermission{PrivilegeId: "VirtualMachine.Inventory.Create"}
	denied.Object = &types.ManagedObjectReference{Type: "Folder", Value: "group-v3"}
	since8 := &types.NoPermission{MissingPrivileges: []types.NoPermissionEntityPrivileges{{
		Entity: types.ManagedObjectReference{Type: "Network", Value: "network-1"}, PrivilegeIds: []string{"Network.Assign"},
	}}}
	onPool := &types.NoPermission{PrivilegeId: "Resource.AssignVMToPool"}
	onPool.Object = &types.ManagedObjectReference{Type: "ResourcePool", Value: "resgroup-8"}
	hosts := &types.NoCompatibleHost{}
	for _, text := range []string{"Insufficient memory on b.", "Device 'x' is away on a.", "Insufficient memory on b."} {
		hosts.Error = append(hosts.Error, types.LocalizedMethodFault{LocalizedMessage: text})
	}
	for name, c := range map[string]struct {
		err    error
		kind   cloud.Kind
		reason string
		says   string
	}{
		"a task": {
			failedTask("Cannot power on.", generic), cloud.Transient, infrav1.CloudTaskFailedReason,
			`vSphere could not make or start the VM; the controller tries again; vCenter vc.example.com answers: ` +
				`"Cannot power on. Failed to lock the file Failed to start the virtual machine."`,
		},
		"a call": {
			refusedCall("Permission to perform this operation was denied.", denied), cloud.Denied, infrav1.CredentialsRejectedReason,
			"the vCenter account lacks a privilege: give its role the privilege VirtualMachine.Inventory.Create on Folder group-v3; " +
				`vCenter vc.example.com answers: "Permission to perform this operation was denied."`,
		},
		"privileges since 8.0": {
			refusedCall("No.", since8), cloud.Denied, infrav1.CredentialsRejectedReason,
			`give its role the privilege Network.Assign on Network network-1; vCenter vc.example.com answers: "No."`,
		},
		"on a pool, which may be a root pool": {
			refusedCall("No.", onPool), cloud.Denied, infrav1.CredentialsRejectedReason,
			`the privilege Resource.AssignVMToPool on ResourcePool resgroup-8, or on the cluster or host whose root pool it is; vCenter `,
		},
		"hosts": {
			failedTask("No host is compatible.", hosts), cloud.Exhausted, infrav1.CapacityExhaustedReason,
			`"No host is compatible. Device 'x' is away on a. Insufficient memory on b."`,
		},
		"datastore": {
			failedTask("", &types.NoDiskSpace{Datastore: "ds1"}), cloud.Exhausted, infrav1.CapacityExhaustedReason,
			"the controller tries again (ds1) (vCenter vc.example.com)",
		},
		"disk": {
			failedTask("x", &types.CannotAccessVmDisk{}), cloud.Transient, infrav1.CloudTaskFailedReason, `answers: "x"`,
		},
		"network": {
			failedTask("x", &types.CannotAccessNetwork{}), cloud.Transient, infrav1.CloudTaskFailedReason, `answers: "x"`,
		},
		"a system's error": {
			failedTask("x", &types.SystemError{Reason: "why"}), cloud.Transient, infrav1.CloudUnreachableReason, `answers: "x why"`,
		},
		"file": {failedTask("x", &types.FileLocked{}), cloud.Transient, infrav1.CloudTaskFailedReason, `answers: "x"`},
		"quotes and signs": {
			failedTask("a \"b\"\x1b[31m\u202e", generic), cloud.Transient, infrav1.CloudTaskFailedReason, `answers: "a 'b' [31m `,
		},
		"no answer": {
			Classify(context.DeadlineExceeded), cloud.Transient, infrav1.CloudUnreachableReason,
			"the vCenter does not answer; the controller tries again (vCenter vc.example.com)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := at("vc.example.com")
			err := s.Explain(t.Context(), "m", false, c.err)
			cloudtest.WantError(t, err, c.kind, c.reason)
			expect.Says(t, "Told", err, c.says)
			if again := s.withServer(s.withServer(c.err)); again.Error() != err.Error() {
				t.Errorf("said twice: %v", again)
			}
		})
	}
	for length, want := range map[int]string{maxServer: "vvv)", maxServer + 1: "...)"} {
		err := at(strings.Repeat("v", length)).Explain(t.Context(), "m", false, Classify(context.DeadlineExceeded))
		expect.Says(t, "a long name", err, want)
	}
	long := at(strings.Repeat("v", 10_000)).Explain(t.Context(), "m", false, failedTask(strings.Repeat("x", 10_000), generic))
	if n := len(long.Error()); n > 1024 {
		t.Errorf("a server decides that people read %d bytes", n)
	}
}

// TestManyWords: what a hostile server says a thousand times costs as little as what it says once.
func TestManyWords(t *testing.T) {
	many := &types.GenericVmConfigFault{}
	for n := range 5000 {
		text := fmt.Sprintf("%05d %s", n, strings.Repeat("x", 200))
		many.FaultMessage = append(many.FaultMessage, types.LocalizableMessage{Message: text})
	}
	err := failedTask(strings.Repeat("\n", 1<<20)+"never seen", many)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	told := at("vc").withServer(err)
	runtime.ReadMemStats(&after)
	if cost, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20); cost > most {
		t.Errorf("to read a fault of 2 MiB takes %d bytes more, at most %d are allowed", cost, most)
	}
	expect.Says(t, "speak", told, `answers: "00000 xxx`)
}

// TestWordsStay: numbers and ids differ from try to try, and each change of a condition is a write, an event and a wake.
func TestWordsStay(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	s, told := at("vc"), map[string]bool{}
	locked := func(n int) error {
		return failedTask(fmt.Sprintf("Failed to lock the file on host-%d (opID=%08x-1a2b-4c3d-9e8f-001122334455), try 0x%x", n, n, n),
			&types.GenericVmConfigFault{})
	}
	for n := range 50 {
		told[s.Explain(ctx, "a", false, locked(n)).Error()] = true
		expect.OK(t, s.Explain(ctx, "a", false, nil)) // the next clone is under way
	}
	if len(told) != 1 || len(lines) != 1 || !strings.Contains(lines[0], "Failed to lock the file on host-0") {
		t.Errorf("%d messages and %d lines: %v", len(told), len(lines), lines)
	}
	other := s.Explain(ctx, "b", false, locked(7))
	expect.Says(t, "another machine", other, "host-7 ")
	space := failedTask("There is no space for the swap file.", &types.GenericVmConfigFault{})
	expect.Says(t, "another cause", s.Explain(ctx, "a", false, space), "no space for the swap file")
	if err := s.Explain(ctx, "a", true, nil); err != nil || len(lines) != 3 {
		t.Errorf("%v, and %d lines: %v", err, len(lines), lines)
	}
	expect.Says(t, "after it ran", s.Explain(ctx, "a", false, locked(9)), "host-9 ")
	for range 5 { // what no fault stands behind is not told for each machine
		_ = s.Explain(ctx, "c", false, Classify(context.DeadlineExceeded))
	}
	_ = s.Explain(ctx, "d", false, notBefore(time.Minute, errUnasked, locked(1))) // nor what the account waits for
	if len(lines) != 4 || slices.Contains(lines, "") {
		t.Errorf("lines: %v", lines)
	}
}

// TestManyStories: a story is remembered until there are too many of them; then all are told anew.
func TestManyStories(t *testing.T) {
	var s lastErrors
	fails := lastError{"CloudTaskFailed", "try 1", "try #"}
	for n := range maxRemembered {
		s.remember(fmt.Sprint(n), fails)
	}
	first, again := s.remember("0", lastError{"CloudTaskFailed", "try 2", "try #"})
	expect.Same(t, "told before", true, again)
	expect.Same(t, "story", "try 1", first.message)
	s.remember("one more", fails)
	expect.Same(t, "stories", 1, len(s.byMachine))
}

// TestForeignWords: what a server says that is not a vCenter is not shown.
func TestForeignWords(t *testing.T) {
	body := &soap.Fault{String: "the secret of an intranet"}
	err := at("vc").Explain(t.Context(), "m", false, Classify(soap.WrapSoapFault(body)))
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("people read %q", err)
	}
}

// TestStoryEnds: nothing is kept of a machine that is fine or gone, and the words of its next error are the new ones.
func TestStoryEnds(t *testing.T) {
	s := at("vc.example.com")
	fails := failedTask("The 1st failure.", &types.GenericVmConfigFault{})
	for name, end := range map[string]struct {
		done bool
		err  error
		want int
	}{
		"it goes on":  {false, nil, 1},
		"it is fine":  {true, nil, 0},
		"it is gone":  {false, cloud.ErrNotFound, 0},
		"it was gone": {true, cloud.ErrNotFound, 0},
		"a sentence":  {false, &cloud.Error{Message: "gone", Err: cloud.ErrNotFound}, 0},
	} {
		expect.Says(t, "error", s.Explain(t.Context(), "vsphere://x", false, fails), "1st")
		if err := s.Explain(t.Context(), "vsphere://x", end.done, end.err); err != end.err { //nolint:errorlint // the same one
			t.Errorf("%s: %v", name, err)
		}
		expect.Same(t, name+": stories", end.want, len(s.lastErrors.byMachine))
	}
}
