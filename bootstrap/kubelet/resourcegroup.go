package kubelet

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// allLabels are those of the spec, those for what runs on the node, which win, and the one with the resource group of its VM.
func allLabels(
	labels map[string]bootstrapv1.LabelValue, ownLabels map[string]string, m *infrav1.WindowsMachine,
) (map[string]string, error) {
	if err := checkGroup(labels, m); err != nil {
		return nil, err
	}
	merged := map[string]string{}
	for name, value := range labels {
		merged[name] = string(value)
	}
	maps.Copy(merged, ownLabels)
	if group := namedGroup(m); group != "" && isLabelValue(group) {
		merged[infrav1.ResourceGroupLabel] = group
	}
	return merged, nil
}

// namedGroup is the resource group that the machine's spec names, in lower case as in its providerID. A machine whose spec names
// none has its VM in the group of the AzureCluster, which is that of azure.json: there the cloud controller manager looks by
// itself. Of a group that the spec names nobody here knows whether it is that one; then the label changes nothing.
func namedGroup(m *infrav1.WindowsMachine) string {
	if m == nil || m.Spec.Azure == nil {
		return ""
	}
	return strings.ToLower(m.Spec.Azure.ResourceGroup)
}

func isLabelValue(text string) bool { return len(validation.IsValidLabelValue(text)) == 0 }

var groupInProviderID = regexp.MustCompile(`(?i)^azure:///subscriptions/[^/]+/resourceGroups/([^/]+)/`)

// checkGroup refuses a label with another resource group than the VM's.
func checkGroup(labels map[string]bootstrapv1.LabelValue, m *infrav1.WindowsMachine) error {
	labeled, ok := labels[infrav1.ResourceGroupLabel]
	if !ok || m == nil || m.Spec.Azure == nil {
		return nil
	}
	group := namedGroup(m)
	if in := groupInProviderID.FindStringSubmatch(m.Spec.ProviderID); in != nil {
		group = in[1]
	}
	if group == "" || strings.EqualFold(group, string(labeled)) {
		return nil
	}
	return step.Invalid(labelsField,
		"%s is %q, but the VM is in the resource group %q, and Azure's cloud controller manager would delete "+
			"the Node; remove the label",
		infrav1.ResourceGroupLabel, labeled, group)
}

// groupRisks are about a VM that the cloud controller manager may not find.
func groupRisks(m *infrav1.WindowsMachine) []string {
	group := namedGroup(m)
	if group == "" || isLabelValue(group) {
		return nil
	}
	return []string{fmt.Sprintf("WindowsMachine spec.azure.resourceGroup: %q cannot be the value of the label %s, without "+
		"which Azure's cloud controller manager deletes the Node when it is not ready, unless its azure.json has this "+
		"group; use another group",
		group, infrav1.ResourceGroupLabel)}
}
