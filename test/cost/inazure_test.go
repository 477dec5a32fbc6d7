package cost

import (
	"context"
	"flag"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

var inAzure = flag.Int("inazure", 0, "so many machines in Azure that are there when our managers start; "+
	"`make bench-azure` sets it")

const (
	// hurry is how many times as fast as ours Azure's clock runs.
	hurry = 60
	// known is when Azure shows all that it accepted, and its VMs run.
	known = 15 * time.Minute
)

// TestStandingInAzure restarts our managers among many machines in Azure that run: the built program, a real API server, and the
// simulated Azure.
func TestStandingInAzure(t *testing.T) {
	if *inAzure == 0 {
		t.Skip("takes many minutes: run `make bench-azure`")
	}
	s := newStage(t, *inAzure)
	arm := armsim.Hurry(t, hurry)
	arm.Change(func(in *armsim.Inside) { in.Buckets.Off, in.Faults.PageSize = true, 250 })
	credentials := map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
		"resourceManagerEndpoint": []byte(arm.Endpoint()), "authority": []byte(arm.Endpoint()), "caBundle": arm.CA(),
	}
	s.SetCredentials(t, credentials)
	began := time.Now()
	s.standInAzure(arm, credentials)
	t.Logf("%d machines are copies of one, in Kubernetes and in Azure, which took %.0f s", *inAzure, time.Since(began).Seconds())
	s.awaitAll("status of each copy's own", *inAzure, func(m *infrav1.WindowsMachine) bool {
		return m.Status.ObservedGeneration == m.Generation
	})
	s.settle()
	s.pause()
	arm.Forget()
	begin, before := s.counted(), s.list()
	c := s.report("known after a restart, in Azure", begin, s.resume)
	s.settle()
	c.writes = s.since(begin).writes
	for n, m := range s.list() {
		if diff := cmp.Diff(before[n].Status, m.Status); diff != "" {
			t.Fatalf("%s (-before the restart +after):\n%s", m.Name, diff)
		}
	}
	pageSets := 0
	for _, call := range arm.Calls() {
		if call.Page == 1 {
			pageSets++
		}
		if call.Class == "vm" || call.Method != http.MethodGet && call.Class != "token" {
			t.Errorf("after a restart there was %s %s %s", call.Method, call.Class, call.Resource)
		}
	}
	t.Logf("calls of Azure: %v; %d list page-sets; wanted: at most 5, and 2 more each minute", arm.ByClass(), pageSets)
	s.atMost("list page-sets after a restart", 5+2*int(c.took.Minutes()), pageSets)
	s.atMost("writes after a restart", 0, sum(c.writes))
	for _, m := range s.managers {
		peak := expect.Got(shared.Management.PeakMemory(m.Component))(t)
		t.Logf("peak memory of the %s manager: %d MiB", m.Component, peak>>20)
		if m.Component == servers.Infrastructure {
			s.atMost("MiB of memory at a restart", 384, peak>>20)
		}
	}
}

// standInAzure makes one machine with a node, and copies of it in Kubernetes, as our managers left it. The VMs of the copies are
// asked for as our manager does.
func (s *stage) standInAzure(arm *armsim.Cloud, credentials map[string][]byte) {
	s.t.Helper()
	all := s.machines
	s.machines = 1
	m := s.NewMachine(original)
	m.Windows.Spec = world.InAzure(world.Credentials)
	m.Create(s.t)
	s.awaitAll("Ready machine", 1, is(infrav1.ReadyCondition, "True Running"))
	s.join(&s.list()[0])
	s.awaitAll("joined node", 1, is(infrav1.BootstrapSucceededCondition, "True Joined"))
	s.machines = all
	s.settle()
	s.pause()
	parts := s.parts()
	parts.id = "of no object" // the name of the VM is all that differs in a providerID
	ids := make([]string, all-1)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	began := arm.Now()
	s.makeVMs(arm, credentials, ids)
	world.Together(len(ids), func(n int) { s.stand(parts, nameOf(n), ids[n]) })
	<-time.After(known/hurry - arm.Now().Sub(began)/hurry)
	s.resume()
}

// makeVMs asks for the VMs of the copies.
func (s *stage) makeVMs(arm *armsim.Cloud, credentials map[string][]byte, ids []string) {
	s.t.Helper()
	account := expect.Got(azure.Provider{Now: arm.Now}.Connect(credentials))(s.t)
	defer func() { expect.OK(s.t, account.Close(context.Background())) }()
	for n, id := range ids {
		o := &infrav1.WindowsMachine{Spec: world.InAzure(world.Credentials)}
		o.Namespace, o.Name, o.UID = s.Name, nameOf(n), "unused"
		identity := expect.Got(azure.Provider{}.Identify(o))(s.t)
		old := identity.Name
		identity.Name = cloud.ComputerName(nameOf(n), id)
		identity.ProviderID = identity.ProviderID[:len(identity.ProviderID)-len(old)] + identity.Name
		o.Spec.ProviderID = identity.ProviderID
		m := cloud.Machine{
			Identity: identity, Key: cloud.Key{Namespace: s.Name, Name: nameOf(n)}, Spec: o.Spec,
			UserData: cloud.UserData("#ps1\nhello").Read, Created: arm.Now().Add(time.Hour),
		}
		wait.Eventually(s.t, "the request for a VM", func(ctx context.Context) error {
			_, err := account.Ensure(ctx, m)
			return err
		})
	}
}
