package credentials

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestPace has 50 Secrets in use by 5,000 machines: no second has more than five reads, and each change is noticed in 15 seconds.
func TestPace(t *testing.T) {
	k := newKeeping(t)
	const secrets, machines = 50, 5000
	for i := range secrets {
		k.put(t, vcenter(fmt.Sprint("ns-", i%30, "-", i)), "one")
	}
	for i := range machines {
		k.saw(machine(fmt.Sprint("m-", i), vcenter(fmt.Sprint("ns-", i%secrets%30, "-", i%secrets)), holding))
	}
	k.pass(t, time.Minute)
	k.woken()
	k.reads = nil
	k.pass(t, 10*time.Minute)
	last := map[types.NamespacedName]time.Duration{}
	for i, r := range k.reads {
		if before, ok := last[r.Name]; ok && r.At-before > 15*time.Second {
			t.Errorf("%s was not read for %s", r.Name, r.At-before)
		}
		last[r.Name] = r.At
		if i >= 5 && r.At-k.reads[i-5].At < time.Second {
			t.Fatalf("six reads from %s to %s", k.reads[i-5].At, r.At)
		}
	}
	expect.Same(t, "Secrets that are read", secrets, len(last))
	if most := 10 * 60 * 5; len(k.reads) > most {
		t.Errorf("%d reads in ten minutes, at most %d are allowed", len(k.reads), most)
	}
	expect.Same(t, "woken by nothing", []string{}, k.woken())
	t.Logf("%d reads in 10 minutes for %d machines", len(k.reads), machines)
}

// TestTurns has a namespace that names a thousand Secrets, and then more and more: others notice a change as soon as before.
func TestTurns(t *testing.T) {
	k := newKeeping(t)
	var good []types.NamespacedName
	for i := range 10 {
		good = append(good, vcenter(fmt.Sprint("good-", i)))
		k.put(t, good[i], "one")
		k.saw(machine("m", good[i]))
	}
	k.pass(t, 10*time.Second)
	k.reads = nil
	for i := range 1000 {
		k.saw(machine(fmt.Sprint("m-", i), types.NamespacedName{Namespace: "bad", Name: fmt.Sprint("old-", i)}))
	}
	for i := range 120 {
		k.saw(machine(fmt.Sprint("new-", i), types.NamespacedName{Namespace: "bad", Name: fmt.Sprint("new-", i)}))
		k.pass(t, time.Second)
	}
	last := map[types.NamespacedName]time.Duration{}
	for _, r := range k.reads {
		if before, ok := last[r.Name]; ok && slices.Contains(good, r.Name) && r.At-before > 15*time.Second {
			t.Errorf("%s was not read for %s", r.Name, r.At-before)
		}
		last[r.Name] = r.At
	}
	for _, name := range good {
		if since := k.clock.Sub(start) - last[name]; since > 15*time.Second {
			t.Errorf("%s was not read for %s in the end", name, since)
		}
	}
	late := vcenter("late")
	k.put(t, late, "one")
	k.saw(machine("m", late))
	k.pass(t, time.Second)
	if !slices.ContainsFunc(k.reads, func(r read) bool { return r.Name == late }) {
		t.Error("a first use waits for those of another namespace")
	}
}

// TestReadTimes has the figures: any two reads are 200 ms apart, and a Secret is read every 10 seconds, the one that was named
// first before the others.
func TestReadTimes(t *testing.T) {
	k := newKeeping(t)
	second, first := types.NamespacedName{Namespace: "a", Name: "a"}, types.NamespacedName{Namespace: "a", Name: "b"}
	k.saw(machine("m-1", first))
	k.clock = k.clock.Add(time.Millisecond)
	k.saw(machine("m-2", second))
	k.pass(t, 20300*time.Millisecond)
	const at = time.Millisecond
	expect.Same(t, "reads", []read{
		{at, first}, {201 * at, second}, {10001 * at, first}, {10201 * at, second}, {20001 * at, first}, {20201 * at, second},
	}, k.reads)
	k.lost(machine("m-1", first))
	k.lost(machine("m-2", second))
	k.pass(t, reads.Interval)
	expect.Same(t, "reads without machines", 6, len(k.reads))
	expect.Same(t, "what is remembered", 0, len(k.secrets)+len(k.uses)+len(k.freed))
	_, wait := k.Next(k.wanted)
	expect.Same(t, "wait for nothing", 10*time.Second, wait)
}

// TestNewAmongMany: the first use of a Secret does not wait for the many others of its namespace, nor they for many new ones.
func TestNewAmongMany(t *testing.T) {
	k := newKeeping(t)
	for i := range 200 {
		k.saw(machine(fmt.Sprint("m-", i), types.NamespacedName{Namespace: "a", Name: fmt.Sprint("s-", i)}))
	}
	k.pass(t, 2*time.Minute)
	k.reads = nil
	for i := range 4 {
		k.saw(machine(fmt.Sprint("n-", i), types.NamespacedName{Namespace: "a", Name: fmt.Sprint("new-", i)}))
	}
	k.pass(t, 1400*time.Millisecond)
	var order []string
	for _, r := range k.reads {
		kind, _, _ := strings.Cut(r.Name.Name, "-")
		order = append(order, kind)
	}
	expect.Same(t, "reads", "new s new s new s new", strings.Join(order, " "))
}
