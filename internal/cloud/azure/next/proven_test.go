package next

import (
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
)

// TestProven: two looks without a VM prove nothing while Azure gives no list, as in a storm of 404 to everything.
func TestProven(t *testing.T) {
	for name, test := range map[string]struct {
		listed, first, last time.Time
		times               int
		want                bool
	}{
		"two looks, and a list after the first":   {ago(0), ago(time.Minute), ago(time.Minute - Apart), 2, true},
		"two looks, and no list since":            {ago(time.Hour), ago(time.Minute), ago(0), 2, false},
		"a list that began with the first look":   {ago(time.Minute), ago(time.Minute), ago(0), 2, false},
		"a hundred looks, and no list since":      {ago(time.Hour), ago(30 * time.Minute), ago(0), 100, false},
		"one look":                                {ago(0), ago(time.Minute), ago(time.Minute), 1, false},
		"two looks at once, and a list":           {ago(0), ago(time.Minute), ago(time.Minute - time.Second), 2, false},
		"a list before all looks, and none since": {ago(2 * time.Minute), ago(time.Minute), ago(0), 3, false},
	} {
		s := Survey{
			Now: noon, Listed: test.listed,
			Memory: Memory{Sought: noon, Missed: Missed{Times: test.times, First: test.first, Latest: test.last}},
		}
		if got := s.proven(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestCounts: a look proves something once Azure shows what it accepted, of this process or of an earlier one.
func TestCounts(t *testing.T) {
	for name, test := range map[string]struct {
		first                    bool
		put, opened, deleted, at time.Time
		want                     bool
	}{
		"nothing was sent":                       {first: true, opened: ago(lag - 1), at: ago(0), want: true},
		"sent just now":                          {put: ago(lag - 1), first: true, opened: ago(time.Hour), at: ago(0)},
		"sent long ago":                          {put: ago(lag), first: true, opened: ago(time.Hour), at: ago(0), want: true},
		"sent just now, and perhaps before, too": {put: ago(1), opened: ago(time.Hour), at: ago(0)},
		"an earlier process may have, just now":  {opened: ago(lag - 1), at: ago(0)},
		"an earlier process may have, long ago":  {opened: ago(lag), at: ago(0), want: true},
		"sent just now, and deleted since": {
			put: ago(2), first: true, opened: ago(time.Hour), deleted: ago(1), at: ago(0), want: true,
		},
	} {
		s := Survey{Now: noon, Opened: test.opened, Memory: Memory{Put: Put{Sent: test.put}}}
		s.Delete = Delete{Sent: test.deleted, Accepted: !test.deleted.IsZero()}
		if got := s.Counts(asked(test.first), test.at); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// asked is a machine for which nobody but this process has asked, or anybody may have.
func asked(first bool) (m cloud.Machine) {
	if first {
		m.Asked = cloud.NeverAsked
	}
	return m
}

// TestNeverRan: only a VM that is off, and that was not stopped after it ran, never ran.
func TestNeverRan(t *testing.T) {
	for name, test := range map[string]struct {
		ran    bool
		power  Power
		answer Answer
		want   bool
	}{
		"being made":                    {power: "", want: true},
		"it is on":                      {power: PoweredOn},
		"it ran":                        {ran: true, power: ""},
		"off, of an earlier process":    {power: Deallocated},
		"off, and made by this process": {power: Deallocated, answer: Accepted, want: true},
		"on, and made by this process":  {power: PoweredOn, answer: Accepted},
	} {
		s := Survey{Memory: Memory{Ran: test.ran, Put: Put{Answer: test.answer}}, Seen: &Sight{Owner: cloud.Ours, Power: test.power}}
		if got := s.neverRan(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestSentences: what people read of a VM that runs, or is being made.
func TestSentences(t *testing.T) {
	ours := func(state ProvisioningState) *Sight {
		return &Sight{Shown: Shown{Marked: true}, Owner: cloud.Ours, State: state}
	}
	lacks := Survey{SizesUnknown: cloud.Errorf(cloud.Denied, "R", "no right to it")}
	view := &fault.Verdict{Error: cloud.Errorf(cloud.Exhausted, "R", "the extension failed"), Word: "capwin1|x"}
	refused := cloud.Errorf(cloud.Denied, "R", "no right to its disk")
	for want, got := range map[string]string{
		"the extension failed": Survey{Memory: Memory{View: view}, Seen: ours(Failed), Refused: refused}.complaint(),
		"the VM runs, but its disks and adapters cannot be checked: no right to its disk": Survey{
			Memory: Memory{View: view}, Seen: ours(Succeeded), Refused: refused,
		}.complaint(),
		"capwin1|x":              Survey{Memory: Memory{View: view}, Seen: ours(Succeeded)}.running().VM.Report,
		"Azure is making the VM": Survey{}.making(),
		"Azure is making the VM; CPUs and memory of its size are unknown: no right to it": lacks.making(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSeenBeforeTheList: a VM that was seen needs no list first.
func TestSeenBeforeTheList(t *testing.T) {
	m := cloud.Machine{Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}}
	s := Survey{Now: noon, Seen: &Sight{Owner: cloud.Ours, State: Succeeded, Power: PoweredOn}}
	if got := Decide(m, s, Running); got.Act != "" || got.VM.State != cloud.Running {
		t.Errorf("%+v", got)
	}
}

// TestPauses: what Azure was asked for is asked for again once its time has passed, and no earlier.
func TestPauses(t *testing.T) {
	refused := func(since time.Duration) fact {
		return func(_ *cloud.Machine, s *Survey) { s.Delete = Delete{Sent: ago(since), Err: errGone} }
	}
	for _, test := range []struct {
		what   string
		want   Goal
		seen   fact
		asked  func(time.Duration) fact
		pause  time.Duration
		before error // what is told before; nil for a wait
		act    Act
	}{
		{"a look", Report, existed, looked, Apart, nil, Look},
		{
			"a deletion", Gone, vm(Succeeded, PoweredOn), func(since time.Duration) fact { return deleted(true, since) },
			retry, nil, Remove,
		},
		{"a deletion that Azure refused", Gone, vm(Succeeded, PoweredOn), refused, Apart, errGone, Remove},
	} {
		early := decided(test.want, test.seen, test.asked(test.pause-1))
		due := decided(test.want, test.seen, test.asked(test.pause))
		if early.Act != "" || !wanted(early.Err, test.before) || due.Act != test.act {
			t.Errorf("%s: before its time %+v, in time %+v", test.what, early, due)
		}
	}
}
