package credentials

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestUseOf: a machine with our finalizer may have a VM, until Free was told that nothing is left of it.
func TestUseOf(t *testing.T) {
	removed := func(m *infrav1.WindowsMachine) { m.Annotations = map[string]string{infrav1.RemovedAnnotation: "now"} }
	anew := func(m *infrav1.WindowsMachine) { m.UID = "2" }
	for name, c := range map[string]struct {
		change        []func(*infrav1.WindowsMachine)
		freed         bool
		holds, unsure bool
	}{
		"before its VM":                      {nil, false, false, false},
		"with its VM":                        {[]func(*infrav1.WindowsMachine){holding}, false, true, false},
		"with a note of an earlier deletion": {[]func(*infrav1.WindowsMachine){holding, removed}, false, true, false},
		"its VM is gone":                     {[]func(*infrav1.WindowsMachine){holding}, true, false, true},
		"its VM is gone, written down":       {[]func(*infrav1.WindowsMachine){holding, removed}, true, false, false},
		"let go":                             {nil, true, false, false},
		"another machine of its name":        {[]func(*infrav1.WindowsMachine){holding, anew}, true, true, false},
	} {
		k := newKeeping(t)
		if c.freed {
			_ = k.Free(machine("1", vcenter("a"), holding))
		}
		m := machine("1", vcenter("a"), c.change...)
		want := use{secret: vcenter("a"), uid: m.UID, role: role{managed: true, holds: c.holds}, unsure: c.unsure}
		if got := k.useOf(m); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestCounts has the users of a Secret come and go.
func TestCounts(t *testing.T) {
	for of, want := range map[role][3]int{ // ours that hold, other ones of ours, others that hold
		{}: {0, 0, 0}, foreign: {0, 0, 1}, idle: {0, 1, 0}, holder: {1, 0, 0},
	} {
		k := newKeeping(t)
		s := k.entry(vcenter("a"))
		k.Keeper.change(vcenter("m"), use{secret: vcenter("a"), role: of})
		expect.Same(t, "counts", want, [3]int{s.counts[holder], s.counts[idle], s.counts[foreign]})
		k.Keeper.change(vcenter("m"), use{})
		expect.Same(t, "counts without it", [3]int{}, [3]int{s.counts[holder], s.counts[idle], s.counts[foreign]})
	}
}

// TestNeeded: for another manager's machine the finalizer stays, and is not put on; a Secret is read while something may change.
func TestNeeded(t *testing.T) {
	waiting := newKeeping(t).entry(vcenter("a")).waiting
	waiting[vcenter("m")] = true
	holders, others := map[role]int{holder: 1}, map[role]int{foreign: 1}
	for name, c := range map[string]struct {
		s            secret
		needed, used bool
	}{
		"nothing":                 {secret{}, false, false},
		"ours, without VMs":       {secret{counts: map[role]int{idle: 1}}, false, true},
		"ours, with VMs":          {secret{counts: holders}, true, true},
		"theirs, not held":        {secret{counts: others}, false, false},
		"theirs, held":            {secret{counts: others, held: true}, true, false},
		"held for nothing":        {secret{held: true}, false, true},
		"a machine waits":         {secret{waiting: waiting}, false, true},
		"theirs, a machine waits": {secret{counts: others, held: true, waiting: waiting}, true, true},
	} {
		expect.Same(t, name+": needed", c.needed, c.s.needed())
		expect.Same(t, name+": used", c.used, c.s.used())
	}
}

// TestHurry: only a Secret whose finalizer is to be changed, and can be, is read before its time.
func TestHurry(t *testing.T) {
	there, going := Secret{Exists: true}, Secret{Exists: true, Going: true}
	holders := map[role]int{holder: 1}
	for name, c := range map[string]struct {
		s       secret
		hurries bool
	}{
		"to be held":                   {secret{Secret: there, wasRead: true, counts: holders}, true},
		"to be freed":                  {secret{Secret: there, wasRead: true, held: true}, true},
		"to be freed, it is deleted":   {secret{Secret: going, wasRead: true, held: true}, true},
		"to be held, but it goes":      {secret{Secret: going, wasRead: true, counts: holders}, false},
		"held, as it must be":          {secret{Secret: there, wasRead: true, held: true, counts: holders}, false},
		"held and going, as it should": {secret{Secret: going, wasRead: true, held: true, counts: holders}, false},
		"not held, as it must be":      {secret{Secret: there, wasRead: true}, false},
		"not there":                    {secret{wasRead: true, counts: holders}, false},
		"never read":                   {secret{Secret: there, counts: holders}, false},
	} {
		k := newKeeping(t)
		c.s.Due = k.clock.Add(reads.Interval)
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			var chosen atomic.Int64
			go k.Run(ctx, &sync.Mutex{}, func(func(reads.Object, *reads.Turn) bool) { chosen.Add(1) }, nil)
			synctest.Wait()
			k.hurry(&c.s)
			synctest.Wait()
			expect.Same(t, name+": the next one is chosen anew", c.hurries, chosen.Load() == 2)
			end()
		})
		expect.Same(t, name+": is due", c.hurries, c.s.Due.Equal(k.clock))
	}
}

// TestSizeOf counts keys as well: they are as long as their writer likes.
func TestSizeOf(t *testing.T) {
	expect.Same(t, "bytes", 10, sizeOf(map[string][]byte{"user": []byte("a"), "pass": []byte("b")}))
}
