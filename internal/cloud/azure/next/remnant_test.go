package next

import (
	"slices"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// TestRemnant has a deletion wait for an adapter that a list shows: looks are ever rarer, and it is removed after ten minutes.
func TestRemnant(t *testing.T) {
	m := cloud.Machine{Proof: cloud.Proof{Asked: cloud.NeverAsked}, Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}}
	left := &Remnant{ID: "nic", FirstSeen: noon}
	s := Survey{Opened: ago(time.Hour), Listed: noon, Left: left}
	var looks []time.Duration
	for since := time.Duration(0); ; since += 5 * time.Second {
		s.Now = noon.Add(since)
		step := Decide(m, s, Gone)
		switch {
		case step.Err != nil:
			t.Fatal(step.Err)
		case step.Act == Check:
			looks, left.Looked = append(looks, since), s.Now
			continue
		case step.Act != Sweep:
			continue
		case since != remnant:
			t.Errorf("it is removed after %s", since)
		}
		break
	}
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute}
	if !slices.Equal(want, looks) {
		t.Errorf("looks after %v, want %v", looks, want)
	}
}
