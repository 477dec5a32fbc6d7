package next

import (
	"errors"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// fact is something that a survey may hold.
type fact func(*cloud.Machine, *Survey)

var (
	noon      = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	firstTry  = request.Choice{Size: "D2"}
	errPut    = cloud.Errorf(cloud.Exhausted, "Quota", "the quota is used up")
	errShut   = cloud.Errorf(cloud.Exhausted, "Closed", "all sizes are closed")
	errHidden = cloud.Errorf(cloud.Denied, "Forbidden", "disks may not be listed")
	off       = cloud.Stopped
	errGone   = cloud.Errorf(cloud.Denied, "Locked", "the group is locked")
)

func TestDecide(t *testing.T) {
	for _, test := range []struct {
		name  string
		want  Goal
		facts []fact
		act   Act
		state cloud.State
		why   cloud.Why
		err   error // ErrNotFound, one of ours, or errAny
	}{
		{name: "nothing is known: all machines wait for one list", want: Running, facts: []fact{unlisted}, act: List},
		{name: "a report, too", want: Report, facts: []fact{unlisted}, act: List},
		{name: "a deletion, too", want: Gone, facts: []fact{unlisted}, act: List},
		{name: "it is not said yet which VMs run", want: Running, facts: []fact{powersAwaited}, act: List},
		{name: "a new machine gets its VM without a look", want: Running, act: Create},
		{
			name: "a machine of an earlier process, too: the request says that no VM may exist", want: Running, facts: []fact{older},
			act: Create,
		},
		{
			name: "an answer was lost: the request is repeated, for the same reason", want: Running, facts: []fact{put(Lost, time.Minute)},
			act: Create,
		},
		{name: "the sizes come before the request", want: Running, facts: []fact{sizesDue}, act: Sizes},
		{name: "and before all are closed, because they may be the cause", want: Running, facts: []fact{sizesDue, closed}, act: Sizes},
		{name: "a report without a VM needs no sizes", want: Report, facts: []fact{sizesDue}, err: cloud.ErrNotFound},
		{name: "a report tells the size", want: Report, facts: []fact{vm(Succeeded, PoweredOn), sizesDue}, act: Sizes},
		{
			name: "a size that is known is not asked for", want: Report, facts: []fact{vm(Succeeded, PoweredOn), sizeKnown, sizesDue},
			state: cloud.Running,
		},
		{name: "a deletion needs no sizes", want: Gone, facts: []fact{vm(Succeeded, PoweredOn), sizesDue}, act: Remove},
		{name: "a pause is kept without sizes", want: Running, facts: []fact{refusedUntil(time.Minute), sizesDue}, err: errPut},
		{name: "a report makes nothing", want: Report, err: cloud.ErrNotFound},
		{name: "a settled machine gets no VM", want: Running, facts: []fact{settled}, err: cloud.ErrNotFound},
		{
			name: "a settled machine's VM may be the one of its name", want: Running, facts: []fact{settled, existed, unmarked},
			err: errAny,
		},
		{
			name: "or certainly not", want: Running, facts: []fact{settled, existed, another, missed(2, time.Minute)},
			err: cloud.ErrNotFound,
		},
		{name: "then its own may be elsewhere", want: Report, facts: []fact{existed, another}, act: Look},
		{name: "or here, as a copy shows", want: Running, facts: []fact{both(doubtful, known)}, err: errAny},
		{name: "which a wanted machine waits for, too", want: Running, facts: []fact{doubtful}, err: errAny},
		{name: "no part of the spec is ours", want: Running, facts: []fact{noSpec}, err: errAny},
		{name: "no part of the spec is ours, and it goes", want: Gone, facts: []fact{noSpec}, err: cloud.ErrNotFound},

		{name: "accepted, and not in the list yet", want: Running, facts: []fact{put(Accepted, 9*time.Minute)}},
		{
			name: "a deletion before it says nothing", want: Running,
			facts: []fact{put(Accepted, time.Minute), deleted(true, time.Hour)},
		},
		{name: "accepted long ago, and not in the list: look", want: Running, facts: []fact{put(Accepted, 11*time.Minute)}, act: Look},
		{
			name: "one look, and VMs of its name in other groups", want: Running, act: Seek,
			facts: []fact{put(Accepted, 11*time.Minute), missed(1, 0), sought(time.Minute), candidates},
		},
		{name: "a search before the look proves nothing", want: Report, facts: []fact{
			existed, missed(2, time.Minute), sought(2 * time.Minute),
		}},
		{name: "and looks go on", want: Report, act: Look, facts: []fact{
			existed, missed(2, time.Minute), sought(2 * time.Minute), looked(Apart), unsearched,
		}},
		{name: "without the right to search nothing is proved", want: Report, err: errHidden, facts: []fact{
			existed, missed(2, time.Minute), sought(2 * time.Minute), unsearched,
		}},
		{name: "nor let go", want: Gone, err: errHidden, facts: []fact{
			existed, missed(2, time.Minute), sought(2 * time.Minute), unsearched,
		}},
		{name: "what Azure accepted to delete needs no search", want: Gone, err: cloud.ErrNotFound, facts: []fact{
			existed, missed(2, time.Minute), sought(2 * time.Minute), unsearched, removed, swept,
		}},
		{name: "it was moved", want: Report, facts: []fact{existed, missed(2, time.Minute), elsewhere}, err: errAny},
		{name: "it was moved, and is not let go", want: Gone, facts: []fact{existed, missed(2, time.Minute), elsewhere}, err: errAny},
		{name: "one elsewhere may be it", want: Report, facts: []fact{existed, missed(2, time.Minute), resembled}, err: errAny},
		{name: "one elsewhere may be it: not let go", want: Gone, facts: []fact{missed(2, time.Minute), older, resembled}, err: errAny},
		{name: "it is looked at again", want: Gone, act: Seek, facts: []fact{
			existed, missed(2, time.Hour), elsewhere, sought(retry), candidates,
		}},
		{name: "but not too soon", want: Gone, err: errAny, facts: []fact{
			existed, missed(2, time.Hour), elsewhere, sought(retry - 1), candidates,
		}},
		{name: "what is written down of a VM that is gone is forgotten first", want: Running, act: Forget, facts: []fact{
			older, known, missed(2, time.Minute),
		}},
		{name: "one look proves nothing", want: Running, facts: []fact{put(Accepted, 11*time.Minute), missed(1, 0)}},
		{name: "two looks at once prove nothing", want: Running, facts: []fact{put(Accepted, 11*time.Minute), missed(2, time.Second)}},
		{
			name: "two looks apart: the VM vanished", want: Report, facts: []fact{existed, missed(2, time.Minute)},
			err: cloud.ErrNotFound,
		},
		{name: "a VM that was there is looked for before it is said to be gone", want: Report, facts: []fact{existed}, act: Look},

		{name: "refused: not before its time", want: Running, facts: []fact{refusedUntil(time.Second)}, err: errPut},
		{name: "refused: again in time", want: Running, facts: []fact{refusedUntil(0)}, act: Create},
		{name: "all sizes are closed", want: Running, facts: []fact{closed}, err: errShut},
		{name: "the first size is closed, another is open", want: Running, facts: []fact{firstClosed}, act: Create},
		{name: "no choice, and no reason", want: Running, facts: []fact{func(_ *cloud.Machine, s *Survey) { s.Choice = nil }}},
		{name: "the name is taken: look whose VM it is", want: Running, facts: []fact{taken}, act: Look},
		{name: "the name is taken, but the VM does not show: again", want: Running, facts: []fact{taken, looked(0)}, act: Create},
		{name: "the name is taken by a stranger", want: Running, facts: []fact{stranger}, err: errAny},
		{name: "a stranger is not reported", want: Report, facts: []fact{stranger}, err: cloud.ErrNotFound},
		{name: "a stranger is not removed", want: Gone, facts: []fact{stranger}, err: cloud.ErrNotFound},

		{name: "being made", want: Running, facts: []fact{vm(Creating, "")}},
		{name: "it runs before Azure is done", want: Running, facts: []fact{vm(Creating, PoweredOn)}, state: cloud.Running},
		{name: "it runs", want: Report, facts: []fact{vm(Succeeded, PoweredOn)}, state: cloud.Running},
		{name: "done does not mean that it runs", want: Report, facts: []fact{vm(Succeeded, "")}},
		{name: "deallocated", want: Running, facts: []fact{vm(Succeeded, Deallocated)}, state: off, why: cloud.Deallocated},
		{name: "evicted", want: Running, facts: []fact{vm(Succeeded, Deallocated), evictable}, state: off, why: cloud.Evicted},
		{name: "a spot VM that was shut down", want: Report, facts: []fact{vm(Succeeded, Stopped), evictable}, state: off},
		{name: "stopped by a person", want: Running, facts: []fact{vm(Succeeded, Stopped)}, state: off},
		{name: "a deletion that is not ours", want: Running, facts: []fact{vm(Deleting, PoweredOn)}},
		{name: "failed: ask why, once", want: Running, facts: []fact{vm(Failed, "")}, act: View},
		{name: "failed for good", want: Running, facts: []fact{vm(Failed, ""), because("InternalExecutionError")}, err: errAny},
		{
			name: "failed, but it runs: the guest may still come", want: Running,
			facts: []fact{vm(Failed, PoweredOn), because("OSProvisioningTimedOut")}, state: cloud.Running,
		},
		{
			name: "no room for it: it is removed, to try elsewhere", want: Running,
			facts: []fact{put(Accepted, time.Minute), vm(Failed, ""), because("AllocationFailed")}, act: Retreat,
		},
		{
			name: "no room for it: a report removes nothing", want: Report,
			facts: []fact{put(Accepted, time.Minute), vm(Failed, ""), because("AllocationFailed")}, err: errAny,
		},
		{
			name: "no room for a VM that ran: it is left alone", want: Running,
			facts: []fact{put(Accepted, time.Minute), ran, vm(Failed, Deallocated), because("AllocationFailed")},
			state: off, why: cloud.Deallocated,
		},
		{name: "no room, of a process before", want: Running, facts: []fact{vm(Failed, ""), because("AllocationFailed")}, act: Retreat},
		{
			name: "no room for a VM of an earlier process that ran: it is left alone", want: Running,
			facts: []fact{vm(Failed, Deallocated), because("AllocationFailed")}, state: off, why: cloud.Deallocated,
		},
		{
			name: "the next size waits until the failed VM is gone", want: Running,
			facts: []fact{put(Accepted, time.Minute), deleted(true, time.Second), vm(Deleting, "")},
		},
		{
			name: "the failed VM does not show any more, which proves nothing", want: Running,
			facts: []fact{put(Accepted, time.Minute), deleted(true, time.Second)}, act: Look,
		},
		{
			name: "the failed VM is gone: the next size", want: Running,
			facts: []fact{put(Accepted, 2*time.Minute), deleted(true, time.Minute), missed(2, time.Minute)}, act: Create,
		},

		{name: "remove what is there", want: Gone, facts: []fact{vm(Succeeded, PoweredOn)}, act: Remove},
		{name: "one deletion is enough", want: Gone, facts: []fact{vm(Succeeded, PoweredOn), deleted(true, time.Minute)}},
		{
			name: "one that came after another was removed", want: Gone,
			facts: []fact{vm(Succeeded, PoweredOn), deleted(true, time.Minute), put(Accepted, 30*time.Second)}, act: Remove,
		},
		{name: "Azure is at it", want: Gone, facts: []fact{vm(Deleting, PoweredOn), deleted(true, time.Hour)}},
		{name: "another is at it: ours, too", want: Gone, facts: []fact{vm(Deleting, PoweredOn)}, act: Remove},
		{name: "the name is taken, and the VM does not show: look", want: Gone, facts: []fact{taken}, act: Look},
		{
			name: "a VM without marks after ours holds the machine", want: Gone, facts: []fact{put(Accepted, time.Hour), unmarked},
			err: errAny,
		},
		{name: "a copy of ours, too", want: Gone, facts: []fact{put(Accepted, time.Hour), both(doubtful, known)}, err: errAny},
		{name: "another after ours: where is ours?", want: Gone, facts: []fact{put(Accepted, time.Hour), another}, act: Look},
		{
			name: "perhaps elsewhere", want: Gone, facts: []fact{put(Accepted, time.Hour), another, missed(1, 0), sought(1), candidates},
			act: Seek,
		},
		{
			name: "nowhere", want: Gone, facts: []fact{put(Accepted, time.Hour), another, missed(2, time.Minute)},
			err: cloud.ErrNotFound,
		},
		{
			name: "a list shows another one, and the young one is not removed by its name", want: Gone,
			facts: []fact{put(Accepted, time.Minute), func(_ *cloud.Machine, s *Survey) { s.Hides = true }}, act: Look,
		},
		{name: "ours runs without its tags", want: Report, facts: []fact{vm(Succeeded, PoweredOn), untaggedVM}, state: cloud.Running},
		{name: "ours without its tags is removed", want: Gone, facts: []fact{vm(Succeeded, PoweredOn), untaggedVM}, act: Remove},
		{
			name: "it is still there: again", want: Gone,
			facts: []fact{vm(Succeeded, PoweredOn), deleted(true, 3*time.Minute)}, act: Remove,
		},
		{name: "the deletion was refused", want: Gone, facts: []fact{vm(Succeeded, PoweredOn), deleteFails}, err: errGone},
		{name: "a VM that Azure does not show yet is removed", want: Gone, facts: []fact{put(Accepted, time.Minute)}, act: Remove},
		{name: "one that may be a stranger's is looked at first", want: Gone, facts: []fact{put(Lost, time.Minute)}, act: Look},
		{
			name: "a VM that an earlier process may have asked for holds the machine", want: Gone, facts: []fact{justOpened, unmarked},
			err: errAny,
		},
		{name: "a VM without marks may be the one that was there", want: Report, facts: []fact{existed, unmarked}, err: errAny},
		{
			name: "a deletion that found nothing proves nothing so early", want: Gone,
			facts: []fact{put(Accepted, 5*time.Minute), deleted(false, 3*time.Minute)}, act: Remove,
		},
		{
			name: "an accepted one lets us look", want: Gone, facts: []fact{put(Accepted, 5*time.Minute), deleted(true, time.Minute)},
			act: Look,
		},
		{name: "looked once", want: Gone, facts: []fact{put(Accepted, 5*time.Minute), deleted(true, time.Minute), missed(1, 0)}},
		{
			name: "looked twice: what is left?", want: Gone,
			facts: []fact{put(Accepted, 5*time.Minute), deleted(true, time.Minute), missed(2, Apart)}, act: Search,
		},
		{
			name: "looked twice, and lists show nothing", want: Gone,
			facts: []fact{put(Accepted, 5*time.Minute), deleted(true, time.Minute), missed(2, Apart), swept}, err: cloud.ErrNotFound,
		},
		{name: "lists of before show nothing", want: Gone, facts: []fact{older, missed(2, Apart), func(_ *cloud.Machine, s *Survey) {
			s.Swept = ago(Apart)
		}}, act: Search},
		{name: "lists show what the VM still has", want: Gone, facts: []fact{older, missed(2, Apart), swept, used}, act: Search},
		{name: "they do so for long", want: Gone, facts: []fact{older, missed(2, lag), swept, used}, err: cloud.ErrNotFound},
		{name: "lists are forbidden", want: Gone, facts: []fact{older, missed(2, Apart), hidden}, err: errHidden},
		{name: "a machine that never sent a request blocks nothing", want: Gone, err: cloud.ErrNotFound},
		{name: "nor does one whose request was refused", want: Gone, facts: []fact{refusedUntil(time.Hour)}, err: cloud.ErrNotFound},
		{name: "an earlier process may have sent one a moment ago", want: Gone, facts: []fact{justOpened}, act: Look},
		{name: "an earlier process may have sent one long ago", want: Gone, facts: []fact{older}, act: Look},
		{name: "it had not", want: Gone, facts: []fact{older, missed(2, time.Minute), swept}, err: cloud.ErrNotFound},
		{
			name: "a list that fails is not a group that is gone", want: Gone, facts: []fact{older, noGroup(2, time.Hour), sought(0)},
			act: Look,
		},
		{name: "three times at once is not, either", want: Gone, facts: []fact{older, noGroup(3, time.Minute), sought(0)}, act: Look},
		{
			name: "the group is gone: are its VMs elsewhere?", want: Gone, facts: []fact{existed, noGroup(3, groupGone), candidates},
			act: Seek,
		},
		{
			name: "the group is gone, and its VMs with it", want: Gone, facts: []fact{existed, noGroup(3, groupGone), sought(0)},
			err: cloud.ErrNotFound,
		},
		{
			name: "for a machine that asked for none that needs no search", want: Gone, facts: []fact{noGroup(3, groupGone)},
			err: cloud.ErrNotFound,
		},
		{
			name: "but a living machine does not believe it", want: Report, facts: []fact{existed, noGroup(3, groupGone), sought(0)},
			act: Look,
		},
		{name: "Azure may still remove the adapter", want: Gone, facts: []fact{left(Apart - time.Second)}},
		{name: "it has not", want: Gone, facts: []fact{left(remnant)}, act: Sweep},
		{name: "nothing is swept while the VM may be there", want: Gone, facts: []fact{existed, older, left(remnant)}, act: Look},
	} {
		got := decided(test.want, test.facts...)
		if got.Act != test.act || got.VM.State != test.state || got.VM.Why != test.why || !wanted(got.Err, test.err) {
			t.Errorf("%s: got %+v, want %q %q %v", test.name, got, test.act, test.state, test.err)
		}
		if got.Act == "" && got.Err == nil && got.VM.State != cloud.Running && got.VM.Detail == "" {
			t.Errorf("%s: a wait without a sentence", test.name)
		}
	}
}

// errAny stands for any error that is not ErrNotFound.
var errAny = errors.New("any")

func wanted(got, want error) bool {
	if want == errAny { //nolint:errorlint // because it is a sign in a table
		return got != nil && !errors.Is(got, cloud.ErrNotFound)
	}
	return errors.Is(got, want)
}
