package orphans

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const aDisk, aNIC, anIP = "disk", "network interface", "public IP address"

// TestLeft has what a VM left.
func TestLeft(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		world  func(*stage)
		told   bool
	}{
		"machine is gone":                 {"this is an orphan", func(*stage) {}, true},
		"machine is here":                 {"its controller removes it", func(s *stage) { s.machine("m", "cloud://m") }, false},
		"machine has no provider ID":      {"the cache may be behind", func(s *stage) { s.machine("m", "") }, false},
		"machine has another provider ID": {"it is another machine of that name", func(s *stage) { s.machine("m", "cloud://2") }, true},
		"machine has another name": {
			"a provider ID that someone wrote into a spec hides nothing", func(s *stage) { s.machine("other", "cloud://m") }, true,
		},
		"two machines with its provider ID": {"the one of its mark is here", func(s *stage) {
			s.machine("m", "cloud://m")
			s.machine("z", "cloud://m")
		}, false},
		"another UID":     {"it is another installation's", func(s *stage) { s.sky.vms[0].Cluster.UID = "uid-2" }, false},
		"another Cluster": {"it is not here", func(s *stage) { s.sky.vms[0].Cluster.Name = "red" }, false},
		"Cluster is paused": {"its machines may be on the way here", func(s *stage) {
			s.blue.Spec.Paused = new(true)
			expect.OK(s.t, s.api.Update(s.t.Context(), s.blue))
		}, false},
		"a name that no machine can have": {"we have not written it", func(s *stage) { s.sky.vms[0].Key.Name = "M\n1" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.sky.vms = []accounts.Marked{left(aDisk, "d", "m")}
			c.world(s)
			s.look(0)
			s.look(Lasts)
			if told := len(s.notes) == 1; told != c.told || len(s.lines) != len(s.notes) || len(s.left) != len(s.notes) {
				t.Errorf("told %q, logged %q, counted %v; want it told: %t, because %s", s.notes, s.lines, s.left, c.told, c.reason)
			}
			expect.Same(t, "Clusters with orphaned VMs", 0, len(s.vms))
		})
	}
}

// TestAllThatIsLeft: each thing that a VM left is an orphan of its own, and so is a VM.
func TestAllThatIsLeft(t *testing.T) {
	s := newStage(t)
	ownIdentity := left(anIP, "ip", "m")
	ownIdentity.Secret.Name = "the manager's own identity"
	s.sky.vms = []accounts.Marked{
		made("other", "uid-1"), left(aDisk, "os", "m"), left(aDisk, "data", "m"), left(aNIC, "os", "m"), ownIdentity,
	}
	s.look(0)
	s.sky.vms = append(s.sky.vms, s.sky.vms...) // two accounts see them
	s.look(Lasts)
	s.want("after the time", 5, 5, 5)
	expect.Same(t, "VMs", 1, s.vms["ns/blue"])
	want := []string{
		`Warning OrphanedResource Look ns/blue ns/m: The disk "data" on vcenter.example.com (Secret vcenter) was made for VM ` +
			`cloud://m of WindowsMachine m, which no longer exists. It stays; find out whose ` +
			`it is, and if nothing uses it, delete it by hand`,
		`Warning OrphanedResource Look ns/blue ns/m: The disk "os" on vcenter.example.com (Secret vcenter) was made for VM ` +
			`cloud://m of WindowsMachine m, which no longer exists. It stays; find out whose ` +
			`it is, and if nothing uses it, delete it by hand`,
		`Warning OrphanedResource Look ns/blue ns/m: The network interface "os" on vcenter.example.com (Secret vcenter) was made ` +
			`for VM cloud://m of WindowsMachine m, which no longer exists. It stays; find out whose ` +
			`it is, and if nothing uses it, delete it by hand`,
		`Warning OrphanedResource Look ns/blue ns/m: The public IP address "ip" on vcenter.example.com (the manager's own ` +
			`identity) was made for VM cloud://m of WindowsMachine m, which no longer exists. It stays; find out whose ` +
			`it is, and if nothing uses it, delete it by hand`,
	}
	slices.Sort(s.notes)
	if diff := cmp.Diff(want, s.notes[:4]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	kind := infrav1.GroupVersion.String() + " WindowsMachine"
	related := []string{
		kind, kind + " disk{data}", kind + " disk{os}", kind + " network interface{os}", kind + " public IP address{ip}",
	}
	slices.Sort(s.about)
	if diff := cmp.Diff(related, s.about); diff != "" {
		t.Errorf("what the recorder takes for different (-want +got):\n%s", diff)
	}
	s.sky.vms = s.sky.vms[1:2]
	s.look(time.Minute)
	s.want("when one is left", 5, 5, 1)
	expect.Same(t, "VMs, when one resource is left", 0, len(s.vms))
	s.look(Lasts)
	s.want("some time after that", 5, 7, 1)
	line := `"count"=3 "resources"=["disk data" "network interface os" "public IP address ip"]`
	if all := strings.Join(s.lines[5:], "\n"); !strings.Contains(all, line) || !strings.Contains(all, `"vms"=["vm-other"]`) {
		t.Errorf("the lines are %s, want %s in them", all, line)
	}
}

// sink gets the events that a recorder makes or counts.
type sink chan *eventsv1.Event

func (s sink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return s.Update(ctx, e)
}

func (s sink) Update(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	s <- e
	return e, nil
}

func (s sink) Patch(ctx context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return s.Update(ctx, e)
}

// TestRecorder: two things that one VM left are two events for the recorder that a manager has, which counts equal ones.
func TestRecorder(t *testing.T) {
	s, told := newStage(t), make(sink, 10)
	broadcaster := events.NewBroadcaster(told)
	expect.OK(t, broadcaster.StartRecordingToSinkWithContext(t.Context()))
	t.Cleanup(broadcaster.Shutdown)
	s.Events = broadcaster.NewRecorder(s.api.Scheme(), "test")
	s.sky.vms = []accounts.Marked{left(aDisk, "os", "m"), left(aDisk, "data", "m")}
	s.look(0)
	s.look(Lasts)
	names := []string{(<-told).Related.FieldPath, (<-told).Related.FieldPath}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"disk{data}", "disk{os}"}, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestMachineIsBackForALeft: what was told is none while its machine is here, as after a restore.
func TestMachineIsBackForALeft(t *testing.T) {
	s := newStage(t)
	s.sky.vms = []accounts.Marked{left(aDisk, "d", "m")}
	s.look(0)
	s.look(Lasts)
	s.machine("m", "cloud://m")
	s.look(time.Minute)
	s.want("when its machine is back", 1, 1, 0)
}

// TestLeftBeforeAMove: a resource has the UID that the Cluster had before. A VM of a machine that is here proves that UID; a
// resource proves none, because anybody may write on it the provider ID of a VM that is not theirs.
func TestLeftBeforeAMove(t *testing.T) {
	for name, c := range map[string]struct{ living, lost, told int }{"a VM is here": {0, 1, 1}, "only a disk is": {1, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.machine("living", "cloud://living")
			ofLiving := []accounts.Marked{made("living", "uid-0"), left(aDisk, "of-living", "living")}[c.living]
			lost := []accounts.Marked{made("lost", "uid-0"), left(aDisk, "of-lost", "lost")}[c.lost]
			ofLiving.Cluster.UID, lost.Cluster.UID = types.UID("uid-0"), types.UID("uid-0")
			s.sky.vms = []accounts.Marked{lost, ofLiving}
			s.look(0)
			s.look(Lasts)
			s.want("after a move", c.told, c.told, c.told)
		})
	}
}

// TestLeftLimits: who writes marks on very many disks keeps no VM from being told, and makes no more noise than with VMs.
func TestLeftLimits(t *testing.T) {
	s := newStage(t)
	for n := range 2 * Most {
		s.sky.vms = append(s.sky.vms, left(aDisk, fmt.Sprintf("disk-%04d", n), "m"))
	}
	s.look(0)
	s.sky.vms = append(s.sky.vms, made("late", "uid-1"))
	s.look(time.Second)
	s.look(Lasts)
	s.want("after the time", AtOnce+1, AtOnce+1, Most+1)
	expect.Same(t, "VMs", 1, s.vms["ns/blue"])
	s.look(time.Minute)
	s.want("after one more look", 2*AtOnce+1, 2*AtOnce+1, Most+1)
	s.sky.vms = nil
	s.look(Lasts)
	s.want("when all are gone", 2*AtOnce+1, 2*AtOnce+3, 0)
	expect.Same(t, "what is remembered", 0, len(s.orphans))
}

// TestLongNote: the API server takes 1024 bytes.
func TestLongNote(t *testing.T) {
	for _, kind := range []string{"", strings.Repeat("k", 200) + "\n"} {
		s := newStage(t)
		dns := strings.Repeat(strings.Repeat("m", 60)+".", 4) + "m"
		long := left(kind, strings.Repeat(`"`, 200), dns)
		long.Server, long.Secret.Name = strings.Repeat("s", 300), dns
		s.sky.vms = []accounts.Marked{long}
		s.look(0)
		s.look(Lasts)
		s.want("of long names", 1, 1, 1)
		if _, note, _ := strings.Cut(s.notes[0], ": "); len(note) != maxNote || strings.Contains(note, "\n") {
			t.Errorf("the note has %d bytes: %s", len(note), note)
		}
	}
}
