package next

import (
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// Facts about the machine. Without one it was made after this process began.
func existed(m *cloud.Machine, _ *Survey)       { m.Asked = cloud.Existed }
func settled(m *cloud.Machine, _ *Survey)       { m.Settled = true }
func noSpec(m *cloud.Machine, _ *Survey)        { m.Spec.Azure = nil }
func older(m *cloud.Machine, _ *Survey)         { m.Asked = cloud.MaybeAsked }
func justOpened(m *cloud.Machine, s *Survey)    { s.Opened = ago(time.Minute); older(m, s) }
func unlisted(_ *cloud.Machine, s *Survey)      { s.Listed = time.Time{} }
func powersAwaited(_ *cloud.Machine, s *Survey) { s.PowersAwaited = true }
func ran(_ *cloud.Machine, s *Survey)           { s.Ran = true }
func closed(_ *cloud.Machine, s *Survey)        { s.Choice, s.Closed = nil, errShut }
func deleteFails(_ *cloud.Machine, s *Survey) {
	s.Delete = Delete{Sent: ago(time.Second), Err: errGone}
}

func evictable(_ *cloud.Machine, s *Survey)   { s.Seen.Evictable = true }
func sizesDue(_ *cloud.Machine, s *Survey)    { s.SizesDue = true }
func sizeKnown(_ *cloud.Machine, s *Survey)   { s.Seen.VM.Size.CPUs = 4 }
func firstClosed(_ *cloud.Machine, s *Survey) { s.Closed = errShut }

func taken(_ *cloud.Machine, s *Survey) {
	s.Put = Put{Sent: ago(time.Second), Answer: Refused, Took: true}
}

func vm(state ProvisioningState, power Power) fact {
	return shown(Sight{Shown: Shown{Marked: true}, Owner: cloud.Ours, State: state, Power: power})
}

// shown: Azure shows a VM of the machine's name.
func shown(of Sight) fact {
	return func(_ *cloud.Machine, s *Survey) { s.Seen = &of }
}

// A VM of the machine's name that lacks marks, or that has all of them and is not proved, or that is certainly not the machine's.
var (
	unmarked = shown(Sight{Owner: cloud.Unproved, State: Succeeded, Power: PoweredOn})
	doubtful = shown(Sight{Shown: Shown{Marked: true}, Owner: cloud.Unproved, State: Succeeded, Power: PoweredOn})
	stranger = shown(Sight{Owner: cloud.Foreign, State: Succeeded, Power: PoweredOn})
)

func put(answer Answer, since time.Duration) fact {
	return func(_ *cloud.Machine, s *Survey) { s.Put = Put{Sent: ago(since), Answer: answer} }
}

func refusedUntil(d time.Duration) fact {
	return func(_ *cloud.Machine, s *Survey) {
		s.Put = Put{Sent: ago(time.Minute), Answer: Refused, Err: errPut, NotBefore: noon.Add(d)}
	}
}

func deleted(accepted bool, since time.Duration) fact {
	return func(_ *cloud.Machine, s *Survey) { s.Delete = Delete{Sent: ago(since), Accepted: accepted} }
}

func because(code string) fact {
	return func(_ *cloud.Machine, s *Survey) {
		verdict := fault.Judge(fault.Answer{Code: code})
		s.View = &verdict
	}
}

func looked(since time.Duration) fact {
	return func(_ *cloud.Machine, s *Survey) { s.Looked = ago(since) }
}

// missed: looks that count found nothing, and neither did a search of the subscription; the last was just now.
func missed(times int, over time.Duration) fact {
	return func(_ *cloud.Machine, s *Survey) {
		s.Missed, s.Looked, s.Sought = Missed{Times: times, First: ago(over), Latest: noon}, noon, noon.Add(1)
	}
}

func sought(since time.Duration) fact {
	return func(_ *cloud.Machine, s *Survey) { s.Sought = ago(since) }
}

func elsewhere(_ *cloud.Machine, s *Survey) { s.Elsewhere, s.Sought = Elsewhere{Group: "other"}, noon }

func resembled(_ *cloud.Machine, s *Survey) {
	s.Elsewhere, s.Sought = Elsewhere{Group: "other", Unproved: true}, noon
}

func candidates(_ *cloud.Machine, s *Survey) { s.Candidates = true }

func removed(_ *cloud.Machine, s *Survey) { s.Removed = true }

func answerLost(_ *cloud.Machine, s *Survey) { s.Lost = noon }

func unsearched(_ *cloud.Machine, s *Survey) { s.Unsearched = errHidden }

// another: a VM that certainly is not the machine's has the name of its VM, which was there.
var another = both(stranger, known)

func both(one, other fact) fact {
	return func(m *cloud.Machine, s *Survey) {
		one(m, s)
		other(m, s)
	}
}

func known(_ *cloud.Machine, s *Survey) { s.VMID = "1" }

func untaggedVM(_ *cloud.Machine, s *Survey) { s.Seen.Marked = false }

func noGroup(times int, over time.Duration) fact {
	return func(_ *cloud.Machine, s *Survey) {
		s.GroupMissed = Missed{Times: times, First: ago(over), Latest: noon}
	}
}

// swept: the lists of adapters and disks are from just now.
func swept(_ *cloud.Machine, s *Survey) { s.Swept = noon }

func used(_ *cloud.Machine, s *Survey) { s.Used = true }

func hidden(_ *cloud.Machine, s *Survey) { s.Hidden = errHidden }

func left(since time.Duration) fact {
	return func(_ *cloud.Machine, s *Survey) { s.Left = &Remnant{ID: "nic", FirstSeen: ago(since)} }
}
