package lab_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// assertAskedOnce checks that each of the two VMs in Azure was asked for and removed by one call.
func (s *story) assertAskedOnce() {
	s.Helper()
	calls := map[string]int{}
	for _, call := range s.lab.Azure.Calls() {
		if call.Class == "vm" && call.Method != http.MethodGet {
			calls[call.Method+" "+call.Resource]++
		}
	}
	for what, times := range calls {
		if times != 1 {
			s.Errorf("%s was sent %d times", what, times)
		}
	}
	if len(calls) != 4 {
		s.Errorf("VMs were asked for and removed by %v, and these must be two of each", calls)
	}
}

// assertInAzure checks that so many machines are in Azure, each with its VM, and that nothing else is left there. They inherit
// place and identity from the AzureCluster.
func (s *story) assertInAzure(ctx context.Context, wanted int) {
	s.Helper()
	var machines []string
	for _, m := range s.machines(ctx) {
		if m.Spec.Azure == nil {
			continue
		}
		machines = append(machines, m.Status.ComputerName)
		if !strings.HasPrefix(m.Spec.ProviderID, "azure:///subscriptions/"+armsim.Subscription+"/resourceGroups/") {
			s.Errorf("machine %s has the provider ID %s", m.Name, m.Spec.ProviderID)
		}
		s.assertAzureNode(ctx, m)
	}
	slices.Sort(machines)
	s.assertReports(ctx, machines)
	vms := s.lab.Azure.Names(armsim.Group, "Microsoft.Compute/virtualMachines")
	if diff := cmp.Diff(machines, vms); diff != "" || len(machines) != wanted {
		s.Errorf("%d machines were wanted; their VMs differ (-machines +azure):\n%s", wanted, diff)
	}
	for _, kind := range []string{"Microsoft.Network/networkInterfaces", "Microsoft.Compute/disks"} {
		if left := s.lab.Azure.Names(armsim.Group, kind); len(left) != wanted {
			s.Errorf("%d %s are there for %d VMs: %v", len(left), kind, wanted, left)
		}
	}
}

// assertReports checks that each guest in Azure has its object in the workload cluster, and that no object is left of others.
func (s *story) assertReports(ctx context.Context, machines []string) {
	s.Helper()
	var all corev1.ConfigMapList
	s.must(s.lab.WorkloadClient.List(ctx, &all, client.InNamespace(bootstrap.GuestNamespace)))
	var told []string
	for _, object := range all.Items {
		if node, _, _ := strings.Cut(object.Name, "."); node != "kube-root-ca" { // Kubernetes' own
			told = append(told, node)
		}
	}
	if diff := cmp.Diff(machines, told, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("objects that guests report to are not those of the machines (-machines +objects):\n%s", diff)
	}
}

func (s *story) assertAzureNode(ctx context.Context, m infrav1.WindowsMachine) {
	s.Helper()
	for _, n := range s.nodes(ctx) {
		if n.Name != m.Status.ComputerName {
			continue
		}
		seen := fmt.Sprintf("%s %s", n.Spec.ProviderID, n.Labels["example.com/pool"])
		if want := m.Spec.ProviderID + " az"; seen != want {
			s.Errorf("node %s has %s, wanted %s", n.Name, seen, want)
		}
		return
	}
	s.Errorf("machine %s has no node", m.Name)
}
