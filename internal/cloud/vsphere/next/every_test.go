package next

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// TestNextEverywhere tries each combination of facts: what comes next has a row, and is safe.
func TestNextEverywhere(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	inRows, come := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		for _, want := range r.goals {
			inRows[string(want)+": "+r.next] = true
		}
	}
	n := 0
	for s := range everySurvey {
		for _, want := range anyGoal {
			n++
			then := Decide(m, s, want)
			come[string(want)+": "+outcome(then)] = true
			if wrong := unsafe(s, want, then); wrong != "" {
				t.Fatalf("%s, wanted %s: %q: %s", s, want, outcome(then), wrong)
			}
		}
	}
	t.Logf("%d combinations, %d rows, %d outcomes", n, len(rows), len(come))
	for _, o := range slices.Sorted(maps.Keys(come)) {
		if !inRows[o] {
			t.Errorf("no row has %q", o)
		}
	}
	for _, o := range slices.Sorted(maps.Keys(inRows)) {
		if !come[o] {
			t.Errorf("%q has a row and never comes", o)
		}
	}
}

// everySurvey combines all facts.
func everySurvey(yield func(Survey) bool) {
	none := func(*Survey) {}
	jobs, sights := []fact{none}, []fact{
		none, findsNothing, findsUnread, finds(cloud.Unproved), finds(cloud.Foreign), free, unsure, made, madeLong, shown,
		all(finds(cloud.Unproved), recorded), all(finds(cloud.Foreign), recorded),
	}
	for _, what := range []Act{Clone, SwitchOn, SwitchOff, Destroy, Erase} {
		jobs = append(jobs, underWay(what), succeeded(what), forgot(what), failed(what), cameTooLate(what))
	}
	for _, seen := range []fact{findsNothing, findsUnread, finds(cloud.Unproved), finds(cloud.Foreign)} {
		sights = append(sights, all(seen, twice))
	}
	for _, power := range []types.VirtualMachinePowerState{off, on, suspended, ""} {
		for _, change := range []fact{none, disconnected, blind, known, twice, holdsData} {
			sights = append(sights, all(findsVM(power), change))
		}
		sights = append(sights, all(findsVM(power), disconnected, holdsData), all(findsVM(power), known, holdsData))
	}
	sights = append(sights, all(findsVM(off), idling), all(findsVM(off), noEvents))
	answers := func(to func(bool) fact) []fact { return []fact{none, to(true), to(false)} }
	for _, s := range combined(jobs, sights, answers(ran), answers(early), answers(rival),
		[]fact{none, lostNow, lostBefore, late}, []fact{none, pausing, paused, erased}) {
		if s.Whose == cloud.Ours && s.VM.Started() && !s.Ran {
			continue // cannot be
		}
		if !yield(s) {
			return
		}
	}
}

// The task that this process began last.
func underWay(what Act) fact {
	return func(s *Survey) { s.Job = Job{Act: what, VM: theVM, State: types.TaskInfoStateRunning} }
}

func succeeded(what Act) fact {
	return func(s *Survey) { s.Job = Job{Act: what, VM: theVM, State: types.TaskInfoStateSuccess} }
}

// forgot: the vCenter was restarted, or the task ended long ago.
func forgot(what Act) fact {
	return func(s *Survey) {
		succeeded(what)(s)
		s.Job.Forgotten = true
	}
}

func failed(what Act) fact {
	return func(s *Survey) {
		fault := &types.LocalizedMethodFault{Fault: &types.NoDiskSpace{}}
		s.Job, s.JobErr = Job{Act: what, VM: theVM, State: types.TaskInfoStateError, Fault: fault}, errTask
	}
}

func cameTooLate(what Act) fact {
	return func(s *Survey) {
		failed(what)(s)
		s.JobErr = nil
	}
}

func all(facts ...fact) fact {
	return func(s *Survey) {
		for _, f := range facts {
			f(s)
		}
	}
}

func combined(lists ...[]fact) []Survey {
	all := []Survey{has()}
	for _, list := range lists {
		var more []Survey
		for _, s := range all {
			for _, f := range list {
				with := s
				with.Asked = maps.Clone(s.Asked)
				if s.VM != nil {
					with.VM = new(*s.VM)
				}
				f(&with)
				more = append(more, with)
			}
		}
		all = more
	}
	return all
}

// unsafe says which promise a step would break.
func unsafe(s Survey, want Goal, then Step) string {
	most := map[Act]int{Look: 2, Events: 1, Earlier: 1, Rivals: 1}
	noRivals := s.Asked[Rivals] == 1 && !s.Rivals
	noRivals = noRivals || s.Ran && want == Gone
	empty := s.VM == nil && (s.Asked[Look] > 0 || !s.doubtful())
	free := empty && s.Asked[Earlier] == 1 && !s.Earlier && (s.Memory.AnswerLost.IsZero() || noRivals)
	reachable := s.Whose == cloud.Ours && seen.Reached(s.VM) == nil && then.Target == theVM
	switch {
	case then.Act.Asks() && s.Asked[then.Act] >= most[then.Act]:
		return "this was asked before: the decision would never end"
	case then.Act != "" && !then.Act.Asks() && (want == Report || s.Job.UnderWay()):
		return "nothing may be started"
	case then.Act == Clone && (want != Running || !free || s.Memory.Failed != nil && s.Now.Before(s.Memory.NotBefore)):
		return "there may be a VM already, or none is wanted"
	case then.Act == SwitchOn && (want != Running || !reachable || s.Ran ||
		s.Asked[Events] == 0 && !s.Memory.NeverRan || s.Now.Before(s.Memory.Idle.Add(PushTime))):
		return "it is not ours to switch on"
	case then.Act == Erase && (want != Erased || !reachable || !s.VM.UserData || s.Now.Before(s.Memory.NotBefore)):
		return "it is not ours to erase, or needed"
	case want == Erased && then.Act != "" && !then.Act.Asks() && then.Act != Erase:
		return "a settled machine gets no VM, and its VM stays as it is"
	case then.Act == SwitchOff && (want != Gone || !reachable):
		return "it is not ours to switch off"
	case then.Act == Destroy && (want != Gone ||
		(s.Job.Act != SwitchOff || s.Job.Forgotten) && (!reachable || !s.VM.PoweredOff() || !noRivals)):
		return "it is not ours to destroy"
	case errors.Is(then.Err, cloud.ErrNotFound) && want == Gone &&
		(s.Job.Act != Destroy || s.Job.Err() != nil || s.Job.Forgotten || !s.Ran) && // it was seen to go
		(s.VM != nil && (s.Whose != cloud.Foreign || s.kept()) || s.Asked[Look] == 0 || !noRivals || s.requestMayArrive()):
		return "a VM may be left behind"
	}
	return ""
}

func (s Survey) String() string {
	return fmt.Sprintf("task %q %s, %s %+v, asked %v, ran %v, earlier %v, rivals %v",
		s.Job.Act, s.Job.State, s.Whose, s.VM, s.Asked, s.Ran, s.Earlier, s.Rivals)
}

// outcome is a step in words.
func outcome(then Step) string {
	failure, _ := errors.AsType[*cloud.Error](then.Err)
	switch {
	case then.Act.Asks():
		return "ask: " + string(then.Act)
	case then.Act == Clone:
		return "start: cloning"
	case then.Act != "":
		return "start: " + string(then.Act) + " " + then.Target.Value
	case errors.Is(then.Err, cloud.ErrNotFound):
		return "not found"
	case failure != nil:
		return "fail: " + failure.Reason
	case then.VM.Addresses == nil:
		return "wait: " + then.VM.Detail
	case then.VM.Detail != "":
		return "report: " + cmp.Or(string(then.VM.State), "Creating") + ", " + then.VM.Detail
	}
	return "report: " + string(then.VM.State)
}
