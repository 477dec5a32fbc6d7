package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// Manager is a cloud controller manager.
type Manager struct {
	// Program is the real one; the stand-in plays it where that is empty. Name is that of its log, Account that of its login.
	Program, Name, Account string

	Cloud    *armsim.Cloud
	Workload *servers.Workload
	API      kubernetes.Interface
	// Config is azure.json, Arguments are those of its container.
	Config    []byte
	Arguments []string
	// Started is called when it runs, if it is set. Log is what the stand-in prints.
	Started func()
	Log     io.Writer
}

// ChartArguments are those that the manager's chart gives its container, with its defaults: no ranges for pods and no routes,
// which each cluster says itself (helm/cloud-provider-azure).
var ChartArguments = []string{
	"--cloud-provider=azure", "--controllers=*,-cloud-node", "--allocate-node-cidrs=false", "--configure-cloud-routes=false",
	"--cluster-name=kubernetes", "--route-reconciliation-period=10s", "--v=2",
}

// usualPeriod is that of --node-monitor-period, keepsList how long the list of VMs is kept
// (pkg/consts/consts.go, NonVmssUniformNodesCacheTTLDefaultInSeconds).
const (
	usualPeriod = 5 * time.Second
	keepsList   = 15 * time.Minute
)

// Run runs it until the context ends.
func (m *Manager) Run(ctx context.Context) error {
	if m.Program != "" {
		return m.runReal(ctx)
	}
	config, err := ReadConfig(m.Config)
	if err != nil {
		return err
	}
	s := &standIn{Manager: m, config: config, period: usualPeriod}
	if said, err := time.ParseDuration(Argument(m.Arguments, "--node-monitor-period")); err == nil {
		s.period = said
	}
	m.started()
	for tick := time.NewTicker(min(s.period, time.Second) / 2); ; {
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(m.Log, "E0101 %v\n", err)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
	}
}

func (m *Manager) started() {
	if m.Started != nil {
		m.Started()
	}
}

func (m *Manager) runReal(ctx context.Context) error {
	config, err := ofSimulator(m.Config, m.Cloud)
	if err != nil {
		return err
	}
	header := ""
	m.Cloud.Change(func(in *armsim.Inside) { header = in.Tokens.Header })
	stop, err := m.Workload.StartAzureController(ctx, servers.AzureController{
		Program: m.Program, Name: m.Name, Account: m.Account, Config: config, CA: m.Cloud.CA(), Arguments: m.Arguments,
		Environment: []string{"IDENTITY_ENDPOINT=" + m.Cloud.Endpoint() + "/msi/token", "IDENTITY_HEADER=" + header},
	})
	if err != nil {
		return err
	}
	m.started()
	<-ctx.Done()
	return stop()
}

// standIn does what the manager does with Nodes: it looks after those that are not ready, and gives all their ranges for pods.
type standIn struct {
	*Manager
	config Config
	period time.Duration
	// monitored is when it looked after Nodes, listed when it listed VMs, whose provider IDs, in lower case, are known.
	monitored, listed time.Time
	known             map[string]bool
}

func (s *standIn) look(ctx context.Context) error {
	err := giveRanges(ctx, s.API, s.Arguments)
	if time.Since(s.monitored) < s.period {
		return err
	}
	s.monitored = time.Now()
	nodes, listed := s.API.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if listed != nil {
		return errors.Join(err, listed)
	}
	for i := range nodes.Items {
		if node := &nodes.Items[i]; !ready(node) {
			err = errors.Join(err, s.monitor(ctx, node, nodes.Items))
		}
	}
	return err
}

func ready(node *corev1.Node) bool {
	for _, one := range node.Status.Conditions {
		if one.Type == corev1.NodeReady {
			return one.Status == corev1.ConditionTrue
		}
	}
	return false
}

// monitor is k8s.io/cloud-provider v0.36.3, controllers/nodelifecycle, MonitorNodes, with pkg/provider/azure_instances_v2.go,
// InstanceExists. With the VM type vmss the VM must be in a list (azure_vmss_cache.go, getVMManagementTypeByProviderID), and then
// it is asked for by the Node's name in the group of the Node's label (azure_vmsets_repo.go, newVMCache). So a Node whose VM is
// in no list is kept with an error, and one whose VM is in a list of a group, and not in its own, is deleted. That each VM is
// kept for a minute, and that Nodes of VMs that are shut down get a taint, is not played.
func (s *standIn) monitor(ctx context.Context, node *corev1.Node, all []corev1.Node) error {
	const unmanaged = "kubernetes.azure.com/managed"
	if !finds(node.Spec.ProviderID) || strings.EqualFold(node.Labels[unmanaged], "false") {
		return nil
	}
	if s.config.VMType == "vmss" && !s.lists(node.Spec.ProviderID, all) {
		return fmt.Errorf("error checking if node %s exists: getVMManagementTypeByProviderID : failed to check the providerID %s "+
			"management type", node.Name, node.Spec.ProviderID)
	}
	vm := node.Spec.ProviderID[strings.LastIndex(node.Spec.ProviderID, "/")+1:]
	if s.there(s.groupOf(node), vm) {
		return nil
	}
	fmt.Fprintf(s.Log, "I0101 deleting node since it is no longer present in cloud provider: %s\n", node.Name)
	err := s.API.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// groupOf is pkg/provider/azure.go, GetNodeResourceGroup.
func (s *standIn) groupOf(node *corev1.Node) string {
	if group := node.Labels[infrav1.ResourceGroupLabel]; group != "" {
		return strings.ToLower(group)
	}
	return s.config.ResourceGroup
}

// lists says whether a VM is in the list of its groups, which are those of all Nodes (GetResourceGroups). It is kept for long.
func (s *standIn) lists(providerID string, nodes []corev1.Node) bool {
	if s.known == nil || time.Since(s.listed) > keepsList {
		s.known, s.listed = map[string]bool{}, time.Now()
		groups := map[string]bool{strings.ToLower(s.config.ResourceGroup): true}
		for i := range nodes {
			groups[strings.ToLower(s.groupOf(&nodes[i]))] = true
		}
		s.Cloud.Change(func(in *armsim.Inside) {
			for group := range groups {
				of := world.Kind{Type: compute.Provider + "/virtualMachines", Subscription: s.config.SubscriptionID, Group: group}
				for _, vm := range in.World.All(of) {
					s.known[strings.ToLower("azure://"+vm.ID.String())] = true
				}
			}
		})
	}
	return s.known[strings.ToLower(providerID)]
}

func (s *standIn) there(group, vm string) (there bool) {
	s.Cloud.Change(func(in *armsim.Inside) {
		there = in.World.Find(doc.Resource(s.config.SubscriptionID, group, compute.Provider, "virtualMachines", vm)) != nil
	})
	return there
}
