package next

import (
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// TestNoRoomIsTold while its VM goes, and is not told of a VM that somebody else removed.
func TestNoRoomIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		want   Goal
		facts  []fact
		detail string
	}{
		"failed": {
			Running,
			[]fact{put(Accepted, time.Minute), vm(Failed, ""), because("AllocationFailed")},
			"Azure had no room for the VM and is removing it",
		},
		"going": {
			Running,
			[]fact{put(Accepted, time.Minute), deleted(true, 0), vm(Deleting, "")},
			"Azure had no room for the VM and is removing it",
		},
		"looked for": {
			Running,
			[]fact{put(Accepted, time.Minute), deleted(true, 0), missed(1, 0)},
			"Azure had no room for the VM; making sure that it is gone before another size or zone is tried",
		},
		"removed by somebody":             {Running, []fact{put(Accepted, time.Minute), vm(Deleting, "")}, "Azure is removing the VM"},
		"removed by somebody, looked for": {Running, []fact{existed, missed(1, 0)}, "checking whether the VM exists"},
		"removed with its machine": {
			Gone, []fact{put(Accepted, time.Minute), deleted(true, 0), vm(Deleting, "")}, "Azure is removing the VM",
		},
	} {
		if got := decided(test.want, test.facts...).VM.Detail; got != test.detail {
			t.Errorf("%s: told is %q, want %q", name, got, test.detail)
		}
	}
}

// decided is what comes next for a machine of an hour's age.
func decided(want Goal, facts ...fact) Step {
	m := cloud.Machine{
		Identity: cloud.Identity{Name: "win-1"}, Proof: cloud.Proof{Asked: cloud.NeverAsked},
		Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}},
	}
	s := Survey{Now: noon, Opened: ago(24 * time.Hour), Listed: ago(time.Second), Choice: &firstTry}
	for _, f := range facts {
		f(&m, &s)
	}
	return Decide(m, s, want)
}

// TestAVMThatDoesNotRunIsTold: what people read of a VM whose guest is not at work.
func TestAVMThatDoesNotRunIsTold(t *testing.T) {
	lacks := func(_ *cloud.Machine, s *Survey) { s.Refused = cloud.Errorf(cloud.Denied, "R", "no right to the list") }
	for detail, facts := range map[string][]fact{
		"Azure is making the VM":                                                    {vm(Creating, "")},
		"Azure does not report whether the VM runs":                                 {vm(Succeeded, "")},
		"the manager cannot check whether the VM runs: no right to the list":        {vm(Succeeded, ""), lacks},
		"the VM is stopped: start it, or delete the Machine to get another one":     {vm(Succeeded, Stopped)},
		"the VM is deallocated: start it, or delete the Machine to get another one": {vm(Succeeded, Deallocated)},
		"Azure took the place of the spot VM for others: delete the Machine to get another VM, or start it later": {
			vm(Succeeded, Deallocated), evictable,
		},
	} {
		got := decided(Report, facts...).VM
		if got.Detail != detail {
			t.Errorf("told is %q, want %q", got.Detail, detail)
		}
		if lasts := strings.Contains(detail, "no right"); got.Doubt != map[bool]string{true: detail}[lasts] {
			t.Errorf("told of one whose guest is at work is %q", got.Doubt)
		}
	}
}
