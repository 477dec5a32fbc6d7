package cloudprovider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// Facts are what the metadata service says of a VM.
type Facts struct{ ProviderID, Address, Size, Zone, Region string }

// FactsOf are those of a VM in the simulated Azure, by its ID. Without zones the zone is the fault domain, which is 0 for a VM of
// no scale set (pkg/provider/azure_instance_metadata.go, azure_zones.go, GetZone).
func FactsOf(cloud *armsim.Cloud, id, address string) Facts {
	facts := Facts{ProviderID: "azure://" + id, Address: address}
	parsed, is := doc.ParseID(id)
	if !is {
		return facts
	}
	cloud.Change(func(in *armsim.Inside) {
		vm := in.World.Find(parsed)
		if vm == nil {
			return
		}
		properties, _ := vm.Body["properties"].(doc.Object)
		hardware, _ := properties["hardwareProfile"].(doc.Object)
		location, _ := vm.Body["location"].(string)
		facts.Size, _ = hardware["vmSize"].(string)
		facts.Region, facts.Zone = strings.ToLower(location), "0"
		if zones, _ := vm.Body["zones"].([]any); len(zones) > 0 {
			facts.Zone = strings.ToLower(fmt.Sprintf("%s-%v", location, zones[0]))
		}
	})
	return facts
}

// uninitialized is the taint that a kubelet with --cloud-provider=external puts on its Node.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// Uninitialized says whether a Node waits for its node manager.
func Uninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isUninitialized)
}

func isUninitialized(t corev1.Taint) bool { return t.Key == uninitialized }

// Initialize is pkg/nodemanager/nodemanager.go, initializeNode: the provider ID of a Node that has none, the labels, and no
// taint; then the addresses.
func Initialize(ctx context.Context, api kubernetes.Interface, name string, facts Facts) error {
	node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil || !Uninitialized(node) {
		return err
	}
	node.Spec.ProviderID = cmp.Or(node.Spec.ProviderID, facts.ProviderID)
	for label, value := range map[string]string{
		corev1.LabelInstanceTypeStable: facts.Size, corev1.LabelTopologyZone: facts.Zone, corev1.LabelTopologyRegion: facts.Region,
	} {
		if value != "" {
			metav1.SetMetaDataLabel(&node.ObjectMeta, label, value)
		}
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isUninitialized)
	if _, err := api.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("initialize node %s: %w", name, err)
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{"addresses": []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: facts.Address},
	}}})
	if err == nil {
		_, err = api.CoreV1().Nodes().PatchStatus(ctx, name, status)
	}
	if err != nil {
		return fmt.Errorf("give node %s its address: %w", name, err)
	}
	return nil
}

// giveRanges is the controller of node addresses (kubernetes v1.36.3, pkg/controller/nodeipam), which the manager runs if its
// arguments say so.
func giveRanges(ctx context.Context, api kubernetes.Interface, args []string) error {
	of, wanted := Argument(args, "--cluster-cidr"), Argument(args, "--allocate-node-cidrs") == "true"
	if !wanted {
		return nil
	}
	_, all, err := net.ParseCIDR(of)
	if err != nil {
		return fmt.Errorf("--cluster-cidr: %w", err)
	}
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, node := range nodes.Items {
		taken[node.Spec.PodCIDR] = true
	}
	for _, node := range nodes.Items {
		for i := byte(0); node.Spec.PodCIDR == "" && i < 255; i++ {
			one := fmt.Sprintf("%d.%d.%d.0/24", all.IP[0], all.IP[1], i)
			if taken[one] {
				continue
			}
			taken[one], node.Spec.PodCIDR = true, one
			patch := fmt.Appendf(nil, `{"spec":{"podCIDR":%q,"podCIDRs":[%q]}}`, one, one)
			if _, err := api.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return fmt.Errorf("give node %s its range: %w", node.Name, err)
			}
		}
	}
	return nil
}

// Argument is the value of a flag, the last of which wins.
func Argument(args []string, name string) (value string) {
	for _, one := range args {
		if after, found := strings.CutPrefix(one, name+"="); found {
			value = after
		}
	}
	return value
}
