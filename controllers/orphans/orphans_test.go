package orphans

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// sky is what the accounts see.
type sky struct {
	vms   []accounts.Marked
	blind map[cloud.Key]bool
}

func (s *sky) Marked(show func(accounts.Marked)) map[cloud.Key]bool {
	for _, vm := range s.vms {
		if !s.blind[vm.Secret] {
			show(vm)
		}
	}
	return s.blind
}

// stage has a Cluster "blue" in the namespace "ns", and no machine.
type stage struct {
	*Lookout
	t     *testing.T
	sky   *sky
	now   time.Time
	api   client.Client
	blue  *clusterv1.Cluster
	lines []string
	notes []string       // of events
	vms   map[string]int // as the metric has it
}

func newStage(t *testing.T) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, clusterv1.AddToScheme(scheme))
	expect.OK(t, infrav1.AddToScheme(scheme))
	s := &stage{t: t, sky: &sky{}, now: time.Now(), vms: map[string]int{}}
	s.api = fake.NewClientBuilder().WithScheme(scheme).Build()
	s.blue = s.cluster("ns", "blue", "uid-1")
	s.Lookout = &Lookout{Client: s.api, Accounts: s.sky, Events: s, Now: func() time.Time { return s.now }, Count: s.count}
	return s
}

// Eventf is part of events.EventRecorder.
func (s *stage) Eventf(regarding, related runtime.Object, kind, reason, _, note string, args ...any) {
	about, of := regarding.(client.Object), related.(client.Object)
	s.notes = append(s.notes, fmt.Sprintf("%s %s %s %s: ", kind, reason, about.GetName(), of.GetName())+fmt.Sprintf(note, args...))
}

func (s *stage) count(cluster string, vms int) {
	s.vms[cluster] = vms
	if vms == 0 {
		delete(s.vms, cluster)
	}
}

func (s *stage) create(o client.Object) { expect.OK(s.t, s.api.Create(s.t.Context(), o)) }

func (s *stage) cluster(namespace, name, uid string) *clusterv1.Cluster {
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
	s.create(c)
	return c
}

// machine of the Cluster blue.
func (s *stage) machine(name, providerID string) *infrav1.WindowsMachine {
	m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "blue"},
	}}
	m.Spec.ProviderID = providerID
	s.create(m)
	return m
}

// vm was made for a machine of the Cluster blue with a UID.
func made(machine, uid string) accounts.Marked {
	return accounts.Marked{
		Marked: cloud.Marked{
			Name: "vm-" + machine, Key: cloud.Key{Namespace: "ns", Name: machine}, ProviderID: "cloud://" + machine,
			Cluster: cloud.ClusterMark{Name: "blue", UID: types.UID(uid)},
		},
		Server: "vcenter.example.com", Secret: cloud.Key{Namespace: "ns", Name: "vcenter"},
	}
}

// look looks, so much later.
func (s *stage) look(later time.Duration) {
	s.t.Helper()
	s.now = s.now.Add(later)
	log := funcr.New(func(_, args string) { s.lines = append(s.lines, args) }, funcr.Options{})
	expect.OK(s.t, s.Look(ctrl.LoggerInto(s.t.Context(), log)))
}

// want compares the numbers of events and lines so far, and what the metric says of the Cluster blue.
func (s *stage) want(when string, events, lines, vms int) {
	s.t.Helper()
	have := []int{len(s.notes), len(s.lines), s.vms["ns/blue"]}
	if diff := cmp.Diff([]int{events, lines, vms}, have); diff != "" {
		s.t.Errorf("events, lines and orphans %s (-want +got):\n%s\n%s\n%s", when, diff, strings.Join(s.notes, "\n"),
			strings.Join(s.lines, "\n"))
	}
}

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
	want := `Warning OrphanedVM blue m: VM "vm-m" (cloud://m) on vcenter.example.com (Secret vcenter) was made for WindowsMachine m, ` +
		`which no longer exists. The VM is left alone; if nothing uses it, delete it in the cloud`
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

// TestMoved: the VMs have the UID that the Cluster had before it was moved or restored. It is known as long as one of them has its
// machine, with which it came.
func TestMoved(t *testing.T) {
	living, lost := made("living", "uid-0"), made("lost", "uid-0")
	for name, c := range map[string]struct {
		change func(living *accounts.Marked, machine *infrav1.WindowsMachine)
		told   int
	}{
		"moved":                         {func(*accounts.Marked, *infrav1.WindowsMachine) {}, 1},
		"a machine of another Cluster":  {func(_ *accounts.Marked, m *infrav1.WindowsMachine) { m.Labels[clusterv1.ClusterNameLabel] = "red" }, 0},
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

// TestLimits: someone who writes marks on very many VMs costs little, and nothing in other namespaces.
func TestLimits(t *testing.T) {
	s := newStage(t)
	s.cluster("other", "blue", "uid-9")
	for n := range 2 * Most {
		s.sky.vms = append(s.sky.vms, made(fmt.Sprint("m-", n), "uid-1"))
	}
	other := made("m", "uid-9")
	other.Key.Namespace = "other"
	s.sky.vms = append(s.sky.vms, other)
	s.look(0)
	s.look(Lasts)
	s.want("after one look", AtOnce+1, AtOnce+1, Most)
	expect.Same(t, "orphans of the other namespace", 1, s.vms["other/blue"])
	s.look(time.Minute)
	s.want("after two looks", 2*AtOnce+1, 2*AtOnce+1, Most)
	s.sky.vms = nil
	s.look(Lasts)
	s.want("when all are gone", 2*AtOnce+1, 2*AtOnce+3, 0) // a line for each Cluster
	if long := s.lines[len(s.lines)-1]; len(long) > 1000 {
		t.Errorf("a line has %d bytes", len(long))
	}
}

// TestHostileTexts: a name in the cloud can be any text.
func TestHostileTexts(t *testing.T) {
	s := newStage(t)
	evil := made("m", "uid-1")
	evil.Name = "x\n\x1b[31mdelete everything%s" + strings.Repeat("ä", 4096)
	evil.ProviderID, evil.Server = evil.Name, evil.Name
	s.sky.vms = []accounts.Marked{evil}
	s.look(0)
	s.look(Lasts)
	s.want("of a hostile name", 1, 1, 1)
	for _, text := range append(s.notes, s.lines...) {
		if len(text) > 1000 || strings.ContainsAny(text, "\n\x1bä") || strings.Contains(text, "MISSING") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}

// TestTwoServers: equal ids on two servers are two VMs, and one VM that two accounts see is one.
func TestTwoServers(t *testing.T) {
	s := newStage(t)
	first, again, second := made("m", "uid-1"), made("m", "uid-1"), made("m", "uid-1")
	again.Secret.Name, second.Server = "of-another-user", "second.example.com"
	s.sky.vms = []accounts.Marked{first, again, second}
	s.look(0)
	s.look(Lasts)
	s.want("on two servers", 2, 2, 2)
}

// TestStart looks again and again until it is stopped.
func TestStart(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	cancel()
	expect.OK(t, <-ended)
}
