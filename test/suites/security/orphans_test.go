package security

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/orphans"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// notes are the events that orphans make.
type notes []string

// Eventf is part of events.EventRecorder.
//
//nolint:revive // because the interface has so many arguments
func (n *notes) Eventf(regarding, _ runtime.Object, _, _, _, note string, args ...any) {
	about, _ := regarding.(client.Object)
	*n = append(*n, client.ObjectKeyFromObject(about).String()+": "+fmt.Sprintf(note, args...))
}

// orphansOf has VMs with marks in a vCenter, and returns the events about them. The honest namespace has the Cluster blue.
func (b *bystander) orphansOf(t *testing.T, vms int, secret cloud.Key, mark func(n int) (machine, cluster string)) notes {
	t.Helper()
	v := vcenter.New(t)
	var calls atomic.Int64
	count := func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "WaitForUpdatesEx" {
			calls.Add(1)
		}
		next.ServeHTTP(w, r)
	}
	door := v.Open(count, vcenter.Crowd(vms, func(n int) string {
		machine, cluster := mark(n)
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		return vcenter.Property("name", "xsd:string", fmt.Sprint("marked-", n)) +
			vcenter.Property("config.instanceUuid", "xsd:string", id) + vcenter.Extra("capwin.owner", machine) +
			vcenter.Extra("capwin.providerID", "vsphere://"+id) + vcenter.Extra("capwin.cluster", cluster)
	}))
	t.Cleanup(door.Close)
	c := expect.Got(b.Get(vsphere.Provider{}, secret, door.Credentials(), false))(t)
	wait.Until(t, "the VMs to be seen", func() (any, bool) {
		marked, known := c.Marked()
		return len(marked), known && len(marked) == vms
	})
	scheme := runtime.NewScheme()
	expect.OK(t, clusterv1.AddToScheme(scheme))
	expect.OK(t, infrav1.AddToScheme(scheme))
	blue := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "honest", Name: "blue", UID: "the-uid-of-blue"}}
	events, now := notes{}, time.Now()
	lookout := orphans.Lookout{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(blue).Build(), Accounts: b.Register, Events: &events,
		Count: func(string, int, int) {}, Now: func() time.Time { return now },
	}
	before := calls.Load()
	for range 2 {
		expect.OK(t, lookout.Look(t.Context()))
		now = now.Add(orphans.Lasts)
	}
	expect.Same(t, "calls because of the marks", before, calls.Load())
	return events
}

// TestOrphanMarks: an attacker who writes our marks on VMs of their own wants events about them in other namespaces, whose users
// then delete what they need.
func TestOrphanMarks(t *testing.T) {
	b := newBystander(t)
	shared := cloud.Key{Namespace: "honest", Name: "shared"}
	told := func(secret cloud.Key, vms, want int, mark func(int) (machine, cluster string), verdict string) func(*testing.T) string {
		return func(t *testing.T) string {
			seen := b.orphansOf(t, vms, secret, mark)
			expect.Same(t, "VMs that are told: "+strings.Join(seen, "\n"), want, len(seen))
			return verdict
		}
	}
	attempt(t,
		attack{"vCenter", "marks VMs as left by another namespace's Cluster", told(tenantSecret, 3, 0,
			func(n int) (string, string) { return fmt.Sprint("honest/m-", n), "blue/the-uid-of-blue" },
			"not told, because the other namespace has no Secret for the account")},
		attack{"vCenter", "marks VMs of the tenant as left by another namespace's Cluster", told(tenantSecret, 3, 0,
			func(n int) (string, string) { return fmt.Sprint("tenant/m-", n), "blue/the-uid-of-blue" },
			"not told, because the Cluster is looked for in the namespace of the mark")},
		attack{"vCenter user", "marks VMs of a shared account as left by a Cluster whose UID they do not know", told(shared, 3, 0,
			func(n int) (string, string) { return fmt.Sprint("honest/m-", n), fmt.Sprint("blue/guess-", n) },
			"not told, because the UID is another Cluster's")},
		attack{"vCenter user", "marks 2,000 VMs of a shared account as left by a Cluster whose UID they know", told(shared, 2000,
			orphans.AtOnce,
			func(n int) (string, string) { return fmt.Sprint("honest/m-", n), "blue/the-uid-of-blue" },
			"told of 10 at each look, and all are left alone")},
	)
}

// clusterEvents has the thief write events about Clusters, for reasons that are its own and for those that are not.
func (s *thief) clusterEvents(t *testing.T, reasons ...string) {
	cluster := corev1.ObjectReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Namespace: s.namespace, Name: "blue",
	}
	impostor := cluster
	impostor.APIVersion = "example.com/v1"
	create := func(about corev1.ObjectReference, reason string) func(*testing.T, client.Client) error {
		return func(t *testing.T, api client.Client) error {
			event := s.event(about)
			event.Type, event.Reason = corev1.EventTypeWarning, reason
			return api.Create(t.Context(), event)
		}
	}
	tellsOf := map[string]string{
		infrav1.OrphanedVMReason: "a VM without a machine", infrav1.OrphanedResourceReason: "what a VM left",
		infrav1.PlacementFindingReason: "where its pods go", "PlacementFindings": "more than where its pods go",
		"Provisioned": "what others tell", "Orphaned": "a part of our reasons", "OrphanedVMs": "more than our reason",
		"orphanedvm": "our reason in small letters", "OrphanedVM, OrphanedResource": "two reasons in one",
		infrav1.CredentialsRejectedReason:     "what a machine is told",
		bootstrapv1.DaemonRightsRefusedReason: "rights that nodes do not get", bootstrapv1.ConfigInvalidReason: "what a config is told",
		bootstrapv1.ObjectContestedReason: "objects that others undo",
	}
	for reason, what := range tellsOf {
		attempt(t, s.refused("own-events", "tells a kind named Cluster of "+what, create(impostor, reason)))
		if slices.Contains(reasons, reason) {
			s.allowed(t, "an event that tells a Cluster of "+what, create(cluster, reason))
			continue
		}
		attempt(t, s.refused("own-events", "tells a Cluster of "+what, create(cluster, reason)))
	}
}
