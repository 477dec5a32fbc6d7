package orphans

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestOrphans(t *testing.T) {
	cases := map[string]struct {
		reason string
		world  func(*stage)
		told   bool
	}{
		"machine is gone": {"this is an orphan", func(*stage) {}, true},
		"machine is here": {"it has its VM", func(s *stage) { s.machine("m", "cloud://m") }, false},
		"machine is being deleted": {"its VM is being deleted", func(s *stage) {
			m := s.machine("m", "cloud://m")
			m.Finalizers = []string{infrav1.MachineFinalizer}
			expect.OK(s.t, s.api.Update(s.t.Context(), m))
			expect.OK(s.t, s.api.Delete(s.t.Context(), m))
		}, false},
		"machine has no provider ID":      {"the cache may be behind", func(s *stage) { s.machine("m", "") }, false},
		"machine has another provider ID": {"it is another machine of that name", func(s *stage) { s.machine("m", "cloud://2") }, true},
		"machine in another namespace": {"it has nothing to do with the mark", func(s *stage) {
			m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "m"}}
			m.Spec.ProviderID = "cloud://m"
			s.create(m)
		}, true},
		"no mark of a Cluster": {"no one knows whose it is", func(s *stage) { s.sky.vms[0].Cluster = cloud.ClusterMark{} }, false},
		"no UID":               {"we always write one", func(s *stage) { s.sky.vms[0].Cluster.UID = "" }, false},
		"another UID":          {"it is another installation's", func(s *stage) { s.sky.vms[0].Cluster.UID = "uid-2" }, false},
		"another Cluster":      {"it is not here", func(s *stage) { s.sky.vms[0].Cluster.Name = "red" }, false},
		"Cluster of another namespace": {"the namespace is that of the mark", func(s *stage) {
			s.cluster("other", "red", "uid-3")
			s.sky.vms[0].Cluster = cloud.ClusterMark{Name: "red", UID: "uid-3"}
		}, false},
		"Cluster is being deleted": {"people still look at it", func(s *stage) {
			s.blue.Finalizers = []string{"cluster.x-k8s.io/cluster"}
			expect.OK(s.t, s.api.Update(s.t.Context(), s.blue))
			expect.OK(s.t, s.api.Delete(s.t.Context(), s.blue))
		}, true},
		"Cluster is paused": {"its machines may be on the way here", func(s *stage) {
			s.blue.Spec.Paused = new(true)
			expect.OK(s.t, s.api.Update(s.t.Context(), s.blue))
		}, false},
		"Cluster has the annotation of a pause": {"it is paused as well", func(s *stage) {
			s.blue.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			expect.OK(s.t, s.api.Update(s.t.Context(), s.blue))
		}, false},
		"Cluster of another manager": {"that one tells", func(s *stage) { s.WatchFilter = "mine" }, false},
		"Cluster of this manager": {"the label says so", func(s *stage) {
			s.WatchFilter = "mine"
			s.blue.Labels = map[string]string{clusterv1.WatchLabel: "mine"}
			expect.OK(s.t, s.api.Update(s.t.Context(), s.blue))
		}, true},
		"a name that no machine can have": {"we have not written it", func(s *stage) { s.sky.vms[0].Key.Name = "M\n1" }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.sky.vms = []accounts.Marked{made("m", "uid-1")}
			c.world(s)
			s.look(0)
			s.look(Lasts)
			if told := len(s.notes) == 1; told != c.told || len(s.lines) != len(s.notes) || len(s.vms) != len(s.notes) {
				t.Errorf("told %q, logged %q, counted %v; want it told: %t, because %s", s.notes, s.lines, s.vms, c.told, c.reason)
			}
		})
	}
}

// TestToldOnce has the life of an orphan.
func TestToldOnce(t *testing.T) {
	s := newStage(t)
	s.sky.vms = []accounts.Marked{made("m", "uid-1")}
	s.look(0)
	s.look(Lasts - time.Second)
	s.want("too early", 0, 0, 0)
	s.look(time.Second)
	s.want("after the time", 1, 1, 1)
	want := `Warning OrphanedVM Look ns/blue ns/m: VM "vm-m" (cloud://m) on vcenter.example.com (Secret vcenter) was made for ` +
		`WindowsMachine m, which no longer exists. The VM stays; if nothing uses it, delete it in the cloud`
	if diff := cmp.Diff([]string{want}, s.notes); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for range 100 {
		s.look(time.Minute)
	}
	s.want("later", 1, 1, 1)

	orphan := s.sky.vms
	s.sky.vms = nil
	s.look(time.Minute)
	s.want("when it is not seen for a moment", 1, 1, 0)
	s.sky.vms = orphan
	s.look(time.Minute)
	s.want("when it is seen again", 1, 1, 1)
	s.sky.vms = nil
	s.look(time.Minute)
	s.look(Lasts)
	s.want("when it is gone", 1, 2, 0)
	for range 100 {
		s.look(time.Minute)
	}
	s.want("long after", 1, 2, 0)
	expect.Same(t, "VMs that are remembered", 0, len(s.orphans))
}

// TestSeenForAMoment: what was not told counts anew when it is seen again.
func TestSeenForAMoment(t *testing.T) {
	s := newStage(t)
	orphan := []accounts.Marked{made("m", "uid-1")}
	s.sky.vms = orphan
	s.look(0)
	s.sky.vms = nil
	s.look(time.Minute)
	s.sky.vms = orphan
	s.look(time.Minute)
	s.look(Lasts - time.Second)
	s.want("too early", 0, 0, 0)
	s.look(time.Second)
	s.want("after the time", 1, 1, 1)
}

// TestMachineIsBack: what was an orphan is none while its machine is here.
func TestMachineIsBack(t *testing.T) {
	s := newStage(t)
	s.sky.vms = []accounts.Marked{made("m", "uid-1")}
	s.look(0)
	s.look(Lasts)
	s.machine("m", "cloud://m")
	s.look(time.Minute)
	s.want("when its machine is back", 1, 1, 0)
	s.look(Lasts)
	s.want("some time after that", 1, 2, 0)
}

// TestDeletedInTime: a machine is gone before the watch has told that its VM is.
func TestDeletedInTime(t *testing.T) {
	s := newStage(t)
	m := s.machine("m", "cloud://m")
	s.sky.vms = []accounts.Marked{made("m", "uid-1")}
	s.look(0)
	expect.OK(t, s.api.Delete(t.Context(), m))
	s.look(Lasts)
	s.sky.vms = nil
	s.look(time.Minute)
	s.look(Lasts)
	s.want("of a machine that was deleted", 0, 0, 0)
	s.sky.vms = []accounts.Marked{made("m", "uid-1")}
	s.look(time.Minute)
	s.want("of a late clone, at first", 0, 0, 0)
	s.look(Lasts)
	s.want("of a late clone, in the end", 1, 1, 1)
}

// TestMoved: the VMs have the UID that the Cluster had before it was moved or restored. It is known as long as one of them has
// its machine, with which it came.
func TestMoved(t *testing.T) {
	living, lost := made("living", "uid-0"), made("lost", "uid-0")
	for name, c := range map[string]struct {
		change func(living *accounts.Marked, machine *infrav1.WindowsMachine)
		told   int
	}{
		"moved":                         {func(*accounts.Marked, *infrav1.WindowsMachine) {}, 1},
		"a machine of another Cluster":  {ofAnotherCluster, 0},
		"the mark of another machine":   {func(vm *accounts.Marked, _ *infrav1.WindowsMachine) { vm.Key.Name = "other" }, 0},
		"the mark of another namespace": {func(vm *accounts.Marked, _ *infrav1.WindowsMachine) { vm.Key.Namespace = "other" }, 0},
		"the mark of another Cluster":   {func(vm *accounts.Marked, _ *infrav1.WindowsMachine) { vm.Cluster.Name = "red" }, 0},
		"another provider ID":           {func(vm *accounts.Marked, _ *infrav1.WindowsMachine) { vm.ProviderID += "1" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			vm, m := living, s.machine("living", "cloud://living")
			c.change(&vm, m)
			expect.OK(t, s.api.Update(t.Context(), m))
			s.sky.vms = []accounts.Marked{lost, vm}
			s.look(0)
			s.look(Lasts)
			s.want("after a move", c.told, c.told, c.told)
		})
	}
}

func ofAnotherCluster(_ *accounts.Marked, machine *infrav1.WindowsMachine) {
	machine.Labels[clusterv1.ClusterNameLabel] = "red"
}

// TestBlind: an account that has just started or lost its connection says nothing about its VMs.
func TestBlind(t *testing.T) {
	s := newStage(t)
	blind := map[cloud.Key]bool{{Namespace: "ns", Name: "vcenter"}: true}
	s.sky.vms, s.sky.blind = []accounts.Marked{made("m", "uid-1")}, blind
	s.look(0)
	s.look(Lasts)
	s.want("before anything is seen", 0, 0, 0)
	s.sky.blind = nil
	s.look(0)
	s.sky.blind = blind
	s.look(Lasts)
	s.want("when the connection is lost in the meantime", 0, 0, 0)
	s.sky.blind = nil
	s.look(time.Minute)
	s.want("when it is back", 1, 1, 1)
	s.sky.blind = blind
	s.look(Lasts)
	s.look(Lasts)
	s.want("in an outage", 1, 1, 1)
	s.sky.blind = map[cloud.Key]bool{{Namespace: "ns", Name: "another"}: true}
	s.look(time.Minute)
	s.want("after the outage", 1, 1, 1)
	s.sky.vms = nil
	s.look(Lasts)
	s.want("when it is gone, and only another account is out", 1, 2, 0)
}

// TestPausedLater: a pause tells nothing new and takes nothing back.
func TestPausedLater(t *testing.T) {
	s := newStage(t)
	pause := func(paused bool) {
		s.blue.Spec.Paused = &paused
		expect.OK(t, s.api.Update(t.Context(), s.blue))
	}
	s.sky.vms = []accounts.Marked{made("old", "uid-1")}
	s.look(0)
	s.look(Lasts)
	s.sky.vms = append(s.sky.vms, made("new", "uid-1"))
	s.look(time.Minute)
	pause(true)
	s.look(Lasts)
	s.look(Lasts)
	s.want("while the Cluster is paused", 1, 1, 1)
	pause(false)
	s.look(time.Minute)
	s.want("when it goes on", 1, 1, 1)
	s.look(Lasts)
	s.want("some time after that", 2, 2, 2)
}

// TestGoneInAPause: what was told is not known to be gone while its Cluster is paused, nor at once when it goes on.
func TestGoneInAPause(t *testing.T) {
	s := newStage(t)
	s.sky.vms = []accounts.Marked{made("m", "uid-1")}
	s.look(0)
	s.look(Lasts)
	s.blue.Spec.Paused = new(true)
	expect.OK(t, s.api.Update(t.Context(), s.blue))
	s.sky.vms = nil
	s.look(Lasts)
	s.look(Lasts)
	s.blue.Spec.Paused = new(false)
	expect.OK(t, s.api.Update(t.Context(), s.blue))
	s.look(time.Minute)
	s.want("when it goes on", 1, 1, 0)
	s.look(Lasts)
	s.want("some time after that", 1, 2, 0)
}

// TestClusterIsGone: what was told of a Cluster that is gone is forgotten in time.
func TestClusterIsGone(t *testing.T) {
	s := newStage(t)
	s.sky.vms = []accounts.Marked{made("m", "uid-1")}
	s.look(0)
	s.look(Lasts)
	expect.OK(t, s.api.Delete(t.Context(), s.blue))
	s.look(time.Minute)
	s.want("at first", 1, 1, 0)
	s.look(Lasts)
	s.want("in the end", 1, 2, 0)
}
