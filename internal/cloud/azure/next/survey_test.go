package next

import (
	"errors"
	"fmt"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// TestEverySurvey goes through all combinations of what may be known and holds the answers to the promises of the seam.
func TestEverySurvey(t *testing.T) {
	var seen []fact
	for _, state := range []ProvisioningState{Creating, Succeeded, Failed, Deleting} {
		for _, power := range []Power{"", PoweredOn, Stopped, Deallocated} {
			seen = append(seen, vm(state, power))
		}
	}
	nothing := func(*cloud.Machine, *Survey) {}
	seen = append(seen, nothing, unmarked, doubtful, stranger, another, unlisted)
	groups := [][]fact{
		seen,
		{nothing, existed},
		{nothing, settled},
		{nothing, older, justOpened},
		{nothing, ran},
		{nothing, put(Accepted, time.Minute), put(Accepted, time.Hour), put(Lost, time.Minute), refusedUntil(time.Hour), taken},
		{nothing, deleted(true, time.Second), deleted(false, time.Second), deleted(true, time.Hour), deleteFails},
		{
			nothing, missed(1, 0), missed(2, time.Minute),
			both(missed(2, time.Minute), elsewhere), both(both(missed(2, time.Minute), sought(time.Hour)), candidates),
			both(both(missed(2, time.Minute), sought(time.Hour)), unsearched), both(missed(2, time.Minute), removed),
		},
		{nothing, because("AllocationFailed"), because("OSProvisioningTimedOut")},
		{nothing, left(time.Hour)},
		{nothing, swept},
		{nothing, closed, known},
	}
	count := 0
	var all func(m cloud.Machine, s Survey, rest [][]fact)
	all = func(m cloud.Machine, s Survey, rest [][]fact) {
		if len(rest) > 0 {
			for _, f := range rest[0] {
				m, s := m, s
				f(&m, &s)
				all(m, s, rest[1:])
			}
			return
		}
		for _, want := range []Goal{Report, Running, Gone} {
			count++
			if wrong := broken(m, s, want, Decide(m, s, want)); wrong != "" {
				t.Fatalf("%s: %s\n%+v\n%+v\nseen %+v", want, wrong, m, s, s.Seen)
			}
		}
	}
	m := cloud.Machine{Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}}
	all(m, Survey{Now: noon, Opened: ago(24 * time.Hour), Listed: ago(time.Second), Choice: &firstTry}, groups)
	t.Logf("%d surveys", count)
}

// broken says which promise a step breaks, or nothing.
func broken(m cloud.Machine, s Survey, want Goal, step Step) string {
	ours := s.owner() == cloud.Ours
	removes := step.Act == Remove || step.Act == Retreat
	writes := step.Act == Create || removes || step.Act == Sweep
	switch {
	case want == Report && writes:
		return "a report changes something"
	case step.Act == Create && s.VMID != "":
		return "a VM while an earlier one is written down"
	case step.Act == Retreat && want == Gone, step.Act == Remove && want != Gone:
		return "the wrong one of two removals"
	case step.Act == Create && (s.Seen != nil || m.Settled || want != Running || s.Choice == nil):
		return "a VM too many"
	case step.Act == Create && (s.aboutToShow() || m.Asked == cloud.Existed && !s.proven()):
		return "a VM while the old one may exist"
	case removes && want == Running && (!ours || s.Ran || s.Seen.State != Failed || m.Settled):
		return "a VM is removed that the caller wants to run"
	case removes && !ours && (s.Seen != nil || s.Put.Answer != Accepted):
		return "a VM is removed that may be a stranger's"
	case step.Act == Sweep && (ours || want != Gone):
		return "something of a VM that exists is swept"
	case want == Gone && errors.Is(step.Err, cloud.ErrNotFound) && (ours || s.Left != nil):
		return "gone, although something is there"
	case errors.Is(step.Err, cloud.ErrNotFound) && s.owner() == cloud.Unproved:
		return "let go, although the VM of its name may be its own"
	case errors.Is(step.Err, cloud.ErrNotFound) && s.Elsewhere.Group != "" && !s.Removed && s.wasThere(m):
		return "let go, although it was moved"
	case want == Gone && errors.Is(step.Err, cloud.ErrNotFound) && s.mayExist(m) && !s.proven():
		return "gone without proof"
	case want == Gone && errors.Is(step.Err, cloud.ErrNotFound) && s.mayExist(m) && s.Seen == nil && !s.searched():
		return "gone before it is known whether something is left"
	case step.Act == "" && step.Err == nil && !ours && step.VM.State != cloud.Creating:
		return fmt.Sprintf("a VM that is not there is %s", step.VM.State)
	}
	return ""
}
