package next

import (
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// fact is something that a survey may hold.
type fact func(*Survey)

var (
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	theVM = types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}

	otherVM = types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-2"}

	errTask  = cloud.Errorf(cloud.Exhausted, "TaskFailed", "the task failed")
	errClone = cloud.Errorf(cloud.Exhausted, "CloneFailed", "the last clone failed")
)

// has makes a survey of facts.
func has(facts ...fact) Survey {
	s := Survey{Now: noon, Asked: map[Act]int{}}
	for _, f := range facts {
		f(&s)
	}
	return s
}

// What a look has found.
func finds(whose cloud.Whose) fact {
	return func(s *Survey) {
		s.Found, s.Asked[Look] = seen.Found{Whose: whose, VM: &seen.VM{Ref: otherVM, ID: "id"}}, 1
	}
}

func findsNothing(s *Survey) { s.Found, s.Asked[Look] = seen.Found{}, 1 }
func findsUnread(s *Survey)  { finds(cloud.Unseen)(s); s.VM.ID = "" }
func recorded(s *Survey)     { s.Memory.Object = s.VM.Ref }

func findsVM(power types.VirtualMachinePowerState) fact {
	return func(s *Survey) {
		finds(cloud.Ours)(s)
		s.VM = &seen.VM{
			Ref: theVM, ID: "id", Owner: "default/m", ProviderID: machines.VSphere("m").ProviderID, Power: power,
			Connection: types.VirtualMachineConnectionStateConnected,
		}
		s.Ran = s.VM.Started()
	}
}

func holdsData(s *Survey)    { s.VM.UserData = true }
func disconnected(s *Survey) { s.VM.Connection = types.VirtualMachineConnectionStateDisconnected }
func blind(s *Survey)        { s.Whose, s.VM.ID, s.Memory.Object = cloud.Unseen, "", theVM } // its configuration is out of sight
func known(s *Survey)        { delete(s.Asked, Look) }                                       // from the inventory
func idling(s *Survey)       { s.Memory.Idle = noon.Add(1 - PushTime) }
func noEvents(s *Survey)     { s.Memory.NeverRan = true }
func free(s *Survey)         { s.Synced, s.Free = true, true }
func unsure(s *Survey)       { free(s); s.Memory.Unsure = true }
func made(s *Survey)         { free(s); s.Memory.Made = noon.Add(1 - PushTime) }
func madeLong(s *Survey)     { free(s); s.Memory.Made = noon.Add(-PushTime) }
func shown(s *Survey)        { free(s); s.Memory.Object = theVM }
func twice(s *Survey)        { s.Asked[Look] = 2 }

// Answers to the other questions, and what is remembered.
func ran(so bool) fact     { return func(s *Survey) { s.Ran, s.Asked[Events] = so, 1 } }
func early(so bool) fact   { return func(s *Survey) { s.Earlier, s.Asked[Earlier] = so, 1 } }
func rival(so bool) fact   { return func(s *Survey) { s.Rivals, s.Asked[Rivals] = so, 1 } }
func lostNow(s *Survey)    { s.Memory.AnswerLost = noon.Add(1 - LateRequest) }
func late(s *Survey)       { s.LateUntil = noon.Add(1) }
func lostBefore(s *Survey) { s.Memory.AnswerLost = noon.Add(-LateRequest) }
func pausing(s *Survey)    { s.Memory.Failed, s.Memory.NotBefore = errClone, noon.Add(1) }
func paused(s *Survey)     { s.Memory.Failed, s.Memory.NotBefore = errClone, noon }
func erased(s *Survey)     { s.Memory.Failed, s.Memory.NotBefore = nil, noon.Add(1) }

const off, on, suspended = types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStatePoweredOn,
	types.VirtualMachinePowerStateSuspended

var (
	anyGoal   = []Goal{Report, Running, Erased, Gone}
	toReport  = []Goal{Report}
	toRun     = []Goal{Running}
	toGo      = []Goal{Gone}
	ofSettled = []Goal{Erased}
	toLook    = []Goal{Report, Erased}
	toStay    = []Goal{Report, Running, Erased}
)

// rows are the rules of Decide: what holds, what comes next, and why.
var rows = []struct {
	name    string
	because string
	goals   []Goal
	survey  Survey
	next    string
}{
	// The task that this process began.
	{"cloning", "its end wakes us", anyGoal, has(underWay(Clone)), "wait: cloning"},
	{"switching on", "its end wakes us", anyGoal, has(underWay(SwitchOn)), "wait: switching on"},
	{"switching off", "its end wakes us", anyGoal, has(underWay(SwitchOff)), "wait: switching off"},
	{"destroying", "its end wakes us", anyGoal, has(underWay(Destroy)), "wait: destroying"},
	{"a task failed", "the user is told once", toStay, has(failed(Clone)), "fail: TaskFailed"},
	{"switching off failed", "the user is told why the VM stays", toGo, has(failed(SwitchOff)), "fail: TaskFailed"},
	{"the clone failed", "nothing was made, and none is wanted", toGo, has(failed(Clone)), "ask: rival clones"},
	{"the clone ended", "the inventory may not have its VM yet", toStay, has(succeeded(Clone)), "ask: what is there"},
	{"somebody was faster", "we look at what is there now", toStay, has(cameTooLate(Clone)), "ask: what is there"},
	{"somebody switched it off first", "we look at what is there now", toGo, has(cameTooLate(SwitchOff)), "ask: rival clones"},
	{"it is off", "it needs no look in between", toGo, has(succeeded(SwitchOff)), "start: destroying vm-1"},
	{"it is destroyed", "another clone may be under way", toGo, has(succeeded(Destroy)), "ask: rival clones"},
	{"whether it is off was forgotten", "only a look tells", toGo, has(forgot(SwitchOff), ran(true)), "ask: what is there"},
	{"whether it is destroyed was forgotten", "only a look tells", toGo, has(forgot(Destroy), ran(true)), "ask: what is there"},
	{"it ran and is destroyed", "its name was taken all the time", toGo, has(succeeded(Destroy), ran(true)), "not found"},
	{
		"it ran, a person destroyed it first", "we look at what is there now", toGo, has(cameTooLate(Destroy), ran(true)),
		"ask: what is there",
	},
	{"it was made a moment ago", "the watch has yet to tell", toStay, has(made), "wait: cloning"},
	{"it was made a while ago", "the watch should have told", toStay, has(madeLong), "ask: what is there"},

	{"erasing", "it changes nothing that is told", toLook, has(underWay(Erase), findsVM(on), known), "report: Running"},
	{
		"erasing", "vSphere does one thing at a time with a VM",
		[]Goal{Running, Gone},
		has(underWay(Erase), findsVM(on), known), "wait: erasing the user data",
	},
	{
		"erasing failed", "that hurts no node",
		[]Goal{Report, Running},
		has(failed(Erase), findsVM(on), known),
		"report: Running",
	},
	{"erasing failed", "the VM goes anyway", toGo, has(failed(Erase), findsVM(on), known), "start: switching off vm-1"},

	// The user data of a machine that is settled.
	{
		"the guest needs it no more", "anyone in the VM can read it", ofSettled, has(findsVM(on), holdsData),
		"start: erasing the user data vm-1",
	},
	{
		"the same, the inventory says", "that costs no call", ofSettled, has(findsVM(on), known, holdsData),
		"start: erasing the user data vm-1",
	},
	{
		"it was stopped", "a VM that is off can be read, too", ofSettled, has(findsVM(off), ran(true), holdsData),
		"start: erasing the user data vm-1",
	},
	{
		"it never ran", "no guest needs it", ofSettled, has(findsVM(off), ran(false), holdsData),
		"start: erasing the user data vm-1",
	},
	{"nothing of ours is there", "what a guest writes is its own", ofSettled, has(findsVM(on)), "report: Running"},
	{"not settled", "the guest needs it", []Goal{Report, Running}, has(findsVM(on), holdsData), "report: Running"},
	{
		"erased a moment ago", "the inventory may not have it yet", ofSettled, has(findsVM(on), holdsData, erased),
		"report: Running",
	},
	{
		"erasing failed a moment ago", "the cause seldom goes away so soon", ofSettled, has(findsVM(on), holdsData, pausing),
		"fail: CloneFailed",
	},
	{
		"erasing failed a while ago", "it may work now", ofSettled, has(findsVM(on), holdsData, paused),
		"start: erasing the user data vm-1",
	},
	{
		"its host is away", "the vCenter cannot reach it", ofSettled, has(findsVM(on), holdsData, disconnected),
		"fail: CloudUnreachable",
	},
	{"it is gone", "a settled machine gets no second VM", ofSettled, has(findsNothing), "not found"},
	{"a stranger has the name", "it is left alone", ofSettled, has(finds(cloud.Foreign)), "not found"},

	// Reports, and the VM that runs or ran.
	{"nothing is known", "the vCenter knows", toStay, has(), "ask: what is there"},
	{"nothing is there", "there is no VM", toReport, has(findsNothing), "not found"},
	{"a stranger has the name", "it is not the machine's VM", toReport, has(finds(cloud.Foreign)), "not found"},
	{
		"its owner is not known", "its marks come a moment later", toStay, has(findsUnread),
		"wait: the vCenter does not yet show which machine the VM of this name belongs to",
	},
	{"some marks are missing", "a person can help", toLook, has(finds(cloud.Unproved)), "fail: VMNotProved"},
	{"its record names another's VM", "its own may be elsewhere", toStay, has(finds(cloud.Foreign), recorded), "fail: VMNotProved"},
	{"it runs", "that is all that is wanted", toStay, has(findsVM(on)), "report: Running"},
	{"it runs, the inventory says", "that costs no call", toStay, has(findsVM(on), known), "report: Running"},
	{
		"it runs on a host that is away", "it may run all the same", toStay, has(findsVM(on), disconnected),
		"report: Running, the vCenter cannot reach the VM (disconnected): bring its host or datastore back",
	},
	{"its storage is away", "what is known of it may be out of date", toStay, has(findsVM(on), blind), "fail: CloudUnreachable"},
	{"it is off", "stopped and never started look alike", toStay, has(findsVM(off)), "ask: whether it ran"},
	{"it was stopped", "a person stopped it for a reason", toStay, has(findsVM(off), ran(true)), "report: Stopped, switched off"},
	{"it is suspended", "it ran", toStay, has(findsVM(suspended)), "report: Stopped, suspended in the vCenter"},

	// A VM that was made and never switched on.
	{
		"it never ran", "it is being made", toLook, has(findsVM(off), ran(false)),
		"report: Creating, made, but not yet switched on",
	},
	{"it never ran", "its clone may still switch it on", toRun, has(findsVM(off), ran(false)), "ask: rival clones"},
	{
		"it was made a moment ago", "DRS switches it on in a task of its own", toRun, has(findsVM(off), idling),
		"report: Creating, made, but not yet switched on",
	},
	{"it never ran, as we heard before", "that costs no call", toRun, has(findsVM(off), noEvents), "ask: rival clones"},
	{
		"its clone may be under way", "that one switches it on", toRun, has(findsVM(off), ran(false), rival(true)),
		"report: Creating, made, but not yet switched on",
	},
	{
		"its clone has ended", "it was never switched on", toRun, has(findsVM(off), ran(false), rival(false)),
		"start: switching on vm-1",
	},
	{
		"its clone has ended, its host is away", "the vCenter cannot reach it", toRun,
		has(findsVM(off), disconnected, ran(false), rival(false)), "fail: CloudUnreachable",
	},

	// No VM, and one is wanted.
	{"a process before us", "may have begun a clone", toRun, has(findsNothing), "ask: earlier clones"},
	{"the inventory has nothing", "the name guards", toRun, has(free), "ask: earlier clones"},
	{"nor is there an earlier clone", "the name guards", toRun, has(free, early(false)), "start: cloning"},
	{"the inventory has nothing", "it cannot prove that", append(toGo, toLook...), has(free, rival(false)), "ask: what is there"},
	{"there was an earlier clone", "it may have made the VM", toRun, has(unsure, early(false)), "ask: what is there"},
	{"it was there a moment ago", "it may be there", toRun, has(shown, early(false)), "ask: what is there"},
	{
		"its clone is under way", "there must not be a second VM", toRun, has(findsNothing, early(true)),
		"wait: waiting for clones that were started earlier",
	},
	{"no clone was begun before us", "no other clone can make it", toRun, has(findsNothing, early(false)), "start: cloning"},
	{"an answer was lost", "our own clone may be under way", toRun, has(findsNothing, early(false), lostNow), "ask: rival clones"},
	{
		"an answer was lost long ago", "a clone can take hours", toRun, has(findsNothing, early(false), lostBefore),
		"ask: rival clones",
	},
	{
		"the lost clone may be under way", "there must not be a second VM", toRun,
		has(findsNothing, early(false), lostNow, rival(true)), "wait: waiting for clones that were started earlier",
	},
	{
		"the lost clone is not under way", "the name is unique, so a late clone fails", toRun,
		has(findsNothing, early(false), lostNow, rival(false)), "start: cloning",
	},
	{
		"a stranger has the name", "a VM gets its marks after its name", toRun, has(finds(cloud.Foreign), early(false)),
		"ask: what is there",
	},
	{"a stranger, seen twice", "only a person can help", toRun, has(finds(cloud.Foreign), twice, early(false)), "fail: NameTaken"},
	{
		"some marks are missing", "a VM gets its marks after its name", toRun, has(finds(cloud.Unproved), early(false)),
		"ask: what is there",
	},
	{
		"some are missing, seen twice", "a person can help", toRun, has(finds(cloud.Unproved), twice, early(false)),
		"fail: VMNotProved",
	},
	{"a stranger that has gone", "the name is free", toRun, has(findsNothing, twice, early(false)), "start: cloning"},
	{
		"a clone failed a moment ago", "the cause seldom goes away so soon", toRun,
		has(findsNothing, early(false), pausing), "fail: CloneFailed",
	},
	{"a clone failed a while ago", "it may work now", toRun, has(findsNothing, early(false), paused), "start: cloning"},

	// No VM is wanted.
	{"it runs", "a VM that runs cannot be destroyed", toGo, has(findsVM(on)), "start: switching off vm-1"},
	{"it runs, the inventory says", "that costs no call", toGo, has(findsVM(on), known), "start: switching off vm-1"},
	{"it is suspended", "a VM that is suspended cannot be destroyed", toGo, has(findsVM(suspended)), "start: switching off vm-1"},
	{"it runs, its host is away", "the vCenter cannot reach it", toGo, has(findsVM(on), disconnected), "fail: CloudUnreachable"},
	{"its storage is away", "what is known of it may be out of date", toGo, has(findsVM(on), blind), "fail: CloudUnreachable"},
	{"nothing is known", "a clone may be under way", toGo, has(), "ask: rival clones"},
	{"the inventory says that it is off", "it may be in the making", toGo, has(findsVM(off), known), "ask: rival clones"},
	{"no rivals", "a clone may have ended meanwhile", toGo, has(rival(false)), "ask: what is there"},
	{"some rivals", "one may have made the VM already", toGo, has(rival(true)), "ask: what is there"},
	{"it is off", "no clone is working on it", toGo, has(findsVM(off), rival(false)), "start: destroying vm-1"},
	{
		"it is off, its host is away", "the vCenter cannot reach it", toGo, has(findsVM(off), disconnected, rival(false)),
		"fail: CloudUnreachable",
	},
	{
		"it is off and may be in the making", "the vCenter refuses to destroy it then", toGo, has(findsVM(off), rival(true)),
		"wait: waiting for the clone to end",
	},
	{"nothing is there", "and nothing can appear", toGo, has(findsNothing, rival(false)), "not found"},
	{"it ran, and is off", "its clone has ended", toGo, has(findsVM(off), ran(true)), "start: destroying vm-1"},
	{"it ran, and nothing is known", "no clone can make it again", toGo, has(ran(true)), "ask: what is there"},
	{"it ran, and nothing is there", "no clone can make it again", toGo, has(findsNothing, ran(true)), "not found"},
	{
		"a process before us may have asked", "its request may be on the way", toGo, has(findsNothing, rival(false), late),
		"wait: waiting for requests that could still make a VM",
	},
	{"a stranger has the name", "it is left alone", toGo, has(finds(cloud.Foreign), rival(false)), "not found"},
	{
		"a clone may make it", "it would be left behind", toGo, has(findsNothing, rival(true)),
		"wait: waiting for requests that could still make a VM",
	},
	{
		"a request may still arrive", "it would be left behind", toGo, has(findsNothing, rival(false), lostNow),
		"wait: waiting for requests that could still make a VM",
	},
	{"a lost request is too old", "it never arrived", toGo, has(findsNothing, rival(false), lostBefore), "not found"},
	{
		"its owner is not known", "it may be the machine's", toGo, has(findsUnread, rival(false)),
		"wait: waiting for requests that could still make a VM",
	},
	{"some marks are missing", "nothing proves whose it is", toGo, has(finds(cloud.Unproved), rival(false)), "fail: VMNotProved"},
	{"its record names another's VM", "nor is it gone", toGo, has(finds(cloud.Foreign), recorded, ran(true)), "fail: VMNotProved"},
	{
		"a stranger has the name of one that ran", "its VM may be elsewhere", toGo, has(finds(cloud.Foreign), ran(true)),
		"fail: NameTaken",
	},
	{"a stranger, and one was seen", "it may be elsewhere", toGo, has(finds(cloud.Foreign), rival(false), shown), "fail: NameTaken"},
}

func TestNext(t *testing.T) {
	m := machines.VSphere("m")
	for _, r := range rows {
		for _, want := range r.goals {
			t.Run(fmt.Sprintf("%s, wanted: %s", r.name, want), func(t *testing.T) {
				if got := outcome(Decide(m, r.survey, want)); got != r.next {
					t.Errorf("next = %q, want %q, because %s", got, r.next, r.because)
				}
			})
		}
	}
	t.Run("a spec of another cloud", func(t *testing.T) {
		m := machines.VSphere("m")
		m.Spec.VSphere = nil
		says := map[Goal]string{
			Report: "fail: SpecInvalid", Running: "fail: SpecInvalid", Erased: "fail: SpecInvalid", Gone: "not found",
		}
		for want, says := range says {
			if got := outcome(Decide(m, has(), want)); got != says {
				t.Errorf("wanted %s: next = %q, want %q", want, got, says)
			}
		}
	})
}
