package orphans

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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
	about []string       // to which they relate
	vms   map[string]int // as the metric has it
	left  map[string]int // as the metric of what VMs left has it
}

func newStage(t *testing.T) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, clusterv1.AddToScheme(scheme))
	expect.OK(t, infrav1.AddToScheme(scheme))
	s := &stage{t: t, sky: &sky{}, now: time.Now(), vms: map[string]int{}, left: map[string]int{}}
	s.api = fake.NewClientBuilder().WithScheme(scheme).Build()
	s.blue = s.cluster("ns", "blue", "uid-1")
	s.Lookout = &Lookout{Client: s.api, Accounts: s.sky, Events: s, Now: func() time.Time { return s.now }, Count: s.count}
	return s
}

// Eventf is part of events.EventRecorder.
//
//nolint:revive // because the interface has so many arguments
func (s *stage) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	about, of := client.ObjectKeyFromObject(regarding.(client.Object)), related.(*corev1.ObjectReference)
	s.notes = append(s.notes, fmt.Sprintf("%s %s %s %s %s/%s: ", kind, reason, action, about, of.Namespace, of.Name)+
		fmt.Sprintf(note, args...))
	s.about = append(s.about, strings.TrimSpace(fmt.Sprint(of.APIVersion, " ", of.Kind, " ", of.FieldPath)))
}

func (s *stage) count(cluster string, vms, resources int) {
	for metric, n := range map[*map[string]int]int{&s.vms: vms, &s.left: resources} {
		(*metric)[cluster] = n
		if n == 0 {
			delete(*metric, cluster)
		}
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

// left is what the VM of a machine of the Cluster blue left.
func left(kind, name, machine string) accounts.Marked {
	m := made(machine, "uid-1")
	m.Kind, m.Name = kind, name
	return m
}

// look looks, so much later.
func (s *stage) look(later time.Duration) {
	s.t.Helper()
	s.now = s.now.Add(later)
	log := funcr.New(func(_, args string) { s.lines = append(s.lines, args) }, funcr.Options{})
	expect.OK(s.t, s.Look(ctrl.LoggerInto(s.t.Context(), log)))
}

// want compares the numbers of events and lines so far, and what the metrics say of the Cluster blue.
func (s *stage) want(when string, events, lines, orphans int) {
	s.t.Helper()
	have := []int{len(s.notes), len(s.lines), s.vms["ns/blue"] + s.left["ns/blue"]}
	if diff := cmp.Diff([]int{events, lines, orphans}, have); diff != "" {
		s.t.Errorf("events, lines and orphans %s (-want +got):\n%s\n%s\n%s", when, diff, strings.Join(s.notes, "\n"),
			strings.Join(s.lines, "\n"))
	}
}
