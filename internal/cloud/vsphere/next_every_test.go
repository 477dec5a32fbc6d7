package vsphere

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// TestNextEverywhere tries each combination of facts: what comes next has a row, and is safe.
func TestNextEverywhere(t *testing.T) {
	t.Parallel()
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}})
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
			then := next(m, s, want)
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
func everySurvey(yield func(survey) bool) {
	none := func(*survey) {}
	jobs, sights := []fact{none}, []fact{
		none, findsNothing, findsUnread, finds(cloud.Unproved), finds(cloud.Foreign), free, unsure, made, madeLong, seen,
		all(finds(cloud.Unproved), recorded), all(finds(cloud.Foreign), recorded),
	}
	for _, what := range []act{cloning, switchingOn, switchingOff, destroying, erasing} {
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
		if s.whose == cloud.Ours && s.vm.started() && !s.ran {
			continue // cannot be
		}
		if !yield(s) {
			return
		}
	}
}

// The task that this process began last.
func underWay(what act) fact {
	return func(s *survey) { s.job = job{act: what, vm: theVM, state: types.TaskInfoStateRunning} }
}

func succeeded(what act) fact {
	return func(s *survey) { s.job = job{act: what, vm: theVM, state: types.TaskInfoStateSuccess} }
}

// forgot: the vCenter was restarted, or the task ended long ago.
func forgot(what act) fact {
	return func(s *survey) {
		succeeded(what)(s)
		s.job.forgotten = true
	}
}

func failed(what act) fact {
	return func(s *survey) {
		fault := &types.LocalizedMethodFault{Fault: &types.NoDiskSpace{}}
		s.job, s.jobErr = job{act: what, vm: theVM, state: types.TaskInfoStateError, fault: fault}, errTask
	}
}

func cameTooLate(what act) fact {
	return func(s *survey) {
		failed(what)(s)
		s.jobErr = nil
	}
}

func all(facts ...fact) fact {
	return func(s *survey) {
		for _, f := range facts {
			f(s)
		}
	}
}

func combined(lists ...[]fact) []survey {
	all := []survey{has()}
	for _, list := range lists {
		var more []survey
		for _, s := range all {
			for _, f := range list {
				with := s
				with.asked = maps.Clone(s.asked)
				if s.vm != nil {
					with.vm = new(*s.vm)
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
func unsafe(s survey, want goal, then step) string {
	most := map[question]int{whatIsThere: 2, whetherItRan: 1, earlierClones: 1, rivalClones: 1}
	noRivals := s.asked[rivalClones] == 1 && !s.rivals
	noRivals = noRivals || s.ran && want == wantGone
	empty := s.vm == nil && (s.asked[whatIsThere] > 0 || !s.doubtful())
	free := empty && s.asked[earlierClones] == 1 && !s.earlier && (s.memory.answerLost.IsZero() || noRivals)
	reachable := s.whose == cloud.Ours && reached(s.vm) == nil && then.with == theVM
	switch {
	case then.ask != "" && s.asked[then.ask] >= most[then.ask]:
		return "this was asked before: the decision would never end"
	case then.start != "" && (want == wantReport || s.job.underWay()):
		return "nothing may be started"
	case then.start == cloning && (want != wantRunning || !free || s.memory.failed != nil && s.now.Before(s.memory.notBefore)):
		return "there may be a VM already, or none is wanted"
	case then.start == switchingOn && (want != wantRunning || !reachable || s.ran ||
		s.asked[whetherItRan] == 0 && !s.memory.neverRan || s.now.Before(s.memory.idle.Add(pushTime))):
		return "it is not ours to switch on"
	case then.start == erasing && (want != wantErased || !reachable || !s.vm.userData || s.now.Before(s.memory.notBefore)):
		return "it is not ours to erase, or needed"
	case want == wantErased && then.start != "" && then.start != erasing:
		return "a settled machine gets no VM, and its VM stays as it is"
	case then.start == switchingOff && (want != wantGone || !reachable):
		return "it is not ours to switch off"
	case then.start == destroying && (want != wantGone ||
		(s.job.act != switchingOff || s.job.forgotten) && (!reachable || !s.vm.off() || !noRivals)):
		return "it is not ours to destroy"
	case errors.Is(then.err, cloud.ErrNotFound) && want == wantGone &&
		(s.job.act != destroying || s.job.err() != nil || s.job.forgotten || !s.ran) && // it was seen to go
		(s.vm != nil && (s.whose != cloud.Foreign || s.kept()) || s.asked[whatIsThere] == 0 || !noRivals || s.requestMayArrive()):
		return "a VM may be left behind"
	}
	return ""
}

func (s survey) String() string {
	return fmt.Sprintf("task %q %s, %s %+v, asked %v, ran %v, earlier %v, rivals %v",
		s.job.act, s.job.state, s.whose, s.vm, s.asked, s.ran, s.earlier, s.rivals)
}

// outcome is a step in words.
func outcome(then step) string {
	failure := (*cloud.Error)(nil)
	switch {
	case then.ask != "":
		return "ask: " + string(then.ask)
	case then.start == cloning:
		return "start: cloning"
	case then.start != "":
		return "start: " + string(then.start) + " " + then.with.Value
	case errors.Is(then.err, cloud.ErrNotFound):
		return "not found"
	case errors.As(then.err, &failure):
		return "fail: " + failure.Reason
	case then.vm.Addresses == nil:
		return "wait: " + then.vm.Detail
	case then.vm.Detail != "":
		return "report: " + cmp.Or(string(then.vm.State), "Creating") + ", " + then.vm.Detail
	}
	return "report: " + string(then.vm.State)
}
