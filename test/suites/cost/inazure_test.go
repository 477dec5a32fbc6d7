package cost

import (
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
	simulated "github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

var inAzure = flag.Int("inazure", 0, "so many machines in Azure that are there when our managers start; "+
	"`make bench-azure` sets it")

// hurry is how many times as fast as ours Azure's clock runs.
const hurry = 60

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
	s.standInAzure(arm)
	t.Logf("%d machines are copies of one, in Kubernetes and in Azure, which took %.0f s", *inAzure, time.Since(began).Seconds())
	for _, size := range []int{250, 50} {
		s.restartInAzure(arm, size)
	}
}

// restartInAzure restarts our managers, which then read lists in pages of a size.
func (s *stage) restartInAzure(arm *armsim.Cloud, pageSize int) {
	s.t.Helper()
	s.settle()
	s.pause()
	arm.Change(func(in *armsim.Inside) { in.Faults.PageSize = pageSize })
	arm.Forget()
	begin, before := s.counted(), s.list()
	c := s.report(fmt.Sprintf("known after a restart, in Azure, with %d to a page,", pageSize), begin, s.resume)
	s.settle()
	c.writes = s.since(begin).writes
	s.t.Logf("written until all was quiet: %s", text(c.writes))
	for n, m := range s.list() {
		if diff := cmp.Diff(before[n].Status, m.Status); diff != "" {
			s.t.Fatalf("%s (-before the restart +after):\n%s", m.Name, diff)
		}
	}
	pageSets := 0
	for _, call := range arm.Calls() {
		if call.Page == 1 {
			pageSets++
		}
		if call.Class == "vm" || call.Method != http.MethodGet && call.Class != "token" {
			s.t.Errorf("after a restart there was %s %s %s", call.Method, call.Class, call.Resource)
		}
	}
	s.t.Logf("calls of Azure: %v; %d list page-sets; wanted: at most 5, and 2 more each minute", arm.ByClass(), pageSets)
	s.atMost("list page-sets after a restart", 5+2*int(c.took.Minutes()), pageSets)
	s.atMost("writes after a restart", 0, sum(c.writes))
	for _, m := range s.managers {
		peak := expect.Got(shared.Management.PeakMemory(m.Component))(s.t)
		s.t.Logf("peak memory of the %s manager: %d MiB", m.Component, peak>>20)
		if m.Component == servers.Infrastructure {
			s.atMost("MiB of memory at a restart", 384, peak>>20)
		}
	}
}

// standInAzure makes one machine with a node, and copies of it in Kubernetes and in Azure, as our managers left it.
func (s *stage) standInAzure(arm *armsim.Cloud) {
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
	ids, texts := make([]string, all-1), make([]func(string) string, all-1)
	for n := range ids {
		ids[n] = uuid.NewString()
		texts[n] = parts.replacer(ids[n], nameOf(n)).Replace
	}
	arm.Copy(armsim.VMID(parts.vm), texts)
	azures := textsOf(arm)
	s.stand(len(ids), func(n int) {
		own := azures[cloud.ComputerName(nameOf(n), ids[n])]
		var pairs []string
		for i, text := range azures[parts.vm] {
			pairs = append(pairs, strconv.Quote(text), strconv.Quote(own[i]))
		}
		s.copyAll(parts, nameOf(n), ids[n], pairs...)
	})
	s.resume()
}

// textsOf are what Azure gave each VM, by its name: its ID, and the address and the IDs of what it has. Those of a copy are its
// own.
func textsOf(arm *armsim.Cloud) map[string][]string {
	all := map[string][]string{}
	add := func(vm string, texts ...string) {
		_, name, _ := strings.Cut(vm, "/virtualMachines/")
		all[name] = append(all[name], texts...)
	}
	arm.Change(func(in *armsim.Inside) {
		for _, vm := range in.World.All(simulated.Kind{Type: compute.VM}) {
			add(vm.ID.String(), doc.Text(vm.Body, "properties", "vmId"))
		}
		for _, nic := range in.World.All(simulated.Kind{Type: network.NIC}) {
			add(doc.Text(nic.Body, "properties", "virtualMachine", "id"), doc.Text(nic.Body, "properties", "resourceGuid"),
				doc.Text(doc.List(nic.Body, "properties", "ipConfigurations")[0], "properties", "privateIPAddress"))
		}
		for _, disk := range in.World.All(simulated.Kind{Type: compute.Disk}) {
			add(doc.Text(disk.Body, "managedBy"), doc.Text(disk.Body, "properties", "uniqueId"))
		}
	})
	return all
}
