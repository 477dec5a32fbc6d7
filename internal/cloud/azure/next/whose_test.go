package next

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// TestWhose: Azure's own ID decides, then all marks together with a proof, and what may be the machine's is never a stranger's.
func TestWhose(t *testing.T) {
	marks := func(change ...func(*Shown)) Shown {
		of := Shown{VMID: "1", Marked: true, MadeFor: cloud.ClusterMark{Name: "blue", UID: "u", Manager: "here"}, Digest: "d"}
		for _, f := range change {
			f(&of)
		}
		return of
	}
	unmarked := func(of *Shown) { of.Marked = false }
	another := func(of *Shown) { of.VMID = "2" }
	early := func(of *Shown) { of.Early = true }
	hidden := func(of *Shown) { of.VMID = "" }
	old := func(of *Shown) { of.Digest = "" }
	there := func(of *Shown) { of.MadeFor.Manager = "there" }
	own, vouched, data := cloud.Proof{Own: true}, cloud.Proof{Vouched: true}, cloud.Proof{Digest: "d"}
	never := cloud.Proof{Asked: cloud.NeverAsked}
	for name, c := range map[string]struct {
		known string
		of    Shown
		proof cloud.Proof
		facts []fact
		want  cloud.Whose
	}{
		"its own ID":                       {known: "1", of: marks(), want: cloud.Ours},
		"its own ID, whatever its marks":   {known: "1", of: marks(unmarked), want: cloud.Ours},
		"another ID, too early":            {known: "1", of: marks(another, early), proof: own, want: cloud.Unseen},
		"another ID, all marks":            {known: "1", of: marks(another), proof: own, want: cloud.Unproved},
		"another ID, not all marks":        {known: "1", of: marks(another, unmarked), proof: own, want: cloud.Foreign},
		"no ID shown, all marks":           {known: "1", of: marks(hidden), proof: own, want: cloud.Ours},
		"no ID shown, not all marks":       {known: "1", of: marks(hidden, unmarked), proof: own, want: cloud.Unproved},
		"no ID known, an early list":       {of: marks(early), proof: own, want: cloud.Ours},
		"no ID known, and none shown":      {of: marks(hidden, unmarked), proof: own, want: cloud.Unproved},
		"its UID":                          {of: marks(there), proof: own, want: cloud.Ours},
		"its data":                         {of: marks(there), proof: data, want: cloud.Ours},
		"other data":                       {of: marks(), proof: cloud.Proof{Digest: "e", Vouched: true}, want: cloud.Unproved},
		"no data are there":                {of: marks(), proof: vouched, want: cloud.Unproved},
		"of an earlier release, vouched":   {of: marks(old), proof: vouched, want: cloud.Ours},
		"of an earlier release, by nobody": {of: marks(old), want: cloud.Unproved},
		"of another manager, vouched":      {of: marks(old, there), proof: vouched, want: cloud.Unproved},
		"of a manager that was taken over": {
			of: marks(there), proof: cloud.Proof{TookOver: []types.UID{"there"}}, want: cloud.Ours,
		},
		"not all marks, asked by an earlier": {of: marks(unmarked), want: cloud.Unproved},
		"not all marks, never asked":         {of: marks(unmarked), proof: never, want: cloud.Foreign},
		"not all marks, accepted": {
			of: marks(unmarked), proof: never, facts: []fact{put(Accepted, 0)}, want: cloud.Unproved,
		},
		"not all marks, an answer is lost":      {of: marks(unmarked), proof: never, facts: []fact{put(Lost, 0)}, want: cloud.Unproved},
		"not all marks, a lost one was refused": {of: marks(unmarked), proof: never, facts: []fact{answerLost}, want: cloud.Unproved},
		"not all marks, the name was taken":     {of: marks(unmarked), proof: never, facts: []fact{taken}, want: cloud.Unproved},
		"not all marks, refused": {
			of: marks(unmarked), proof: never, facts: []fact{refusedUntil(0)}, want: cloud.Foreign,
		},
		"all marks, never asked, no proof": {of: marks(), proof: never, want: cloud.Unproved},
	} {
		m := cloud.Machine{Proof: c.proof, Cluster: cloud.ClusterMark{Name: "blue", UID: "new", Manager: "here"}}
		s := Survey{Now: noon, VMID: c.known}
		for _, f := range c.facts {
			f(&m, &s)
		}
		if got := s.OwnerOf(m, c.of); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestWhatIsNotProvedIsTold: what is missing and what helps, and the way out of a deletion; and no namespace but the machine's.
func TestWhatIsNotProvedIsTold(t *testing.T) {
	not := func(change func(*Shown)) fact {
		of := Shown{VMID: "2", Marked: true, MadeFor: cloud.ClusterMark{Manager: "here"}}
		change(&of)
		return shown(Sight{Shown: of, Owner: cloud.Unproved, State: Succeeded, Power: PoweredOn})
	}
	tags, id := not(func(of *Shown) { of.Marked = false }), both(known, not(func(*Shown) {}))
	manager, data := not(func(of *Shown) { of.MadeFor.Manager = "there" }), not(func(*Shown) {})
	for name, c := range map[string]struct {
		of     fact
		says   []string
		silent []string
	}{
		"tags":    {tags, []string{"give it the tags capwin-namespace=team,"}, []string{"identity", "user data"}},
		"ID":      {id, []string{"the ID 2,", "has the ID 1,", "delete it in Azure"}, []string{"not all of", "user data"}},
		"manager": {manager, []string{"UID there ", "--took-over-from=there ", "restore the bootstrap Secret"}, []string{"not all of"}},
		"data":    {data, []string{"spec.providerID is neither", "restore the bootstrap Secret"}, []string{"not all of", "took-over"}},
	} {
		for _, want := range []Goal{Report, Running, Gone} {
			here := func(m *cloud.Machine, _ *Survey) { m.Key.Namespace, m.Cluster.Manager = "team", "here" }
			err := decided(want, older, here, c.of).Err
			told := ""
			if e, ok := err.(*cloud.Error); ok && e.Reason == infrav1.VMNotProvedReason { //nolint:errorlint // because it is never wrapped
				told = e.Message
			}
			for _, says := range c.says {
				if !strings.Contains(told, says) {
					t.Errorf("%s, %s: told is %v, want %q", name, want, err, says)
				}
			}
			for _, silent := range append(c.silent, map[Goal]string{Report: "finalizer", Running: "finalizer"}[want]) {
				if silent != "" && strings.Contains(told, silent) {
					t.Errorf("%s, %s: told is %v, with %q", name, want, err, silent)
				}
			}
			if out := strings.Contains(told, "remove the finalizer "+infrav1.MachineFinalizer); out != (want == Gone) {
				t.Errorf("%s, %s: the way out is told: %t", name, want, out)
			}
		}
	}
}

// TestHeldAndTold: a VM that certainly is not the machine's is told as a taken name, and only to a machine that is to run.
func TestHeldAndTold(t *testing.T) {
	err, _ := decided(Running, stranger).Err.(*cloud.Error) //nolint:errorlint // because it is never wrapped
	if err == nil || err.Reason != infrav1.NameTakenReason {
		t.Errorf("told is %v", err)
	}
	got := decided(Report, missed(2, time.Minute), stranger).Err
	if got != cloud.ErrNotFound { //nolint:errorlint // because it is itself
		t.Errorf("a report is %v", got)
	}
}
