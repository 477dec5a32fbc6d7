package objects

import (
	"fmt"
	"net"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capilabels "sigs.k8s.io/cluster-api/util/labels"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// These refuse what Cluster API's validating webhooks refuse of a new object (cluster-api v1.14.2, core/webhooks/admission), with
// its feature gates as they are without flags.

// refuseCluster leaves out the topology, which depends on the ClusterClass: cmd/clusterctl-windows/topology refuses that.
func refuseCluster(c *clusterv1.Cluster) (refused field.ErrorList) {
	refused = append(refuseName(c.Name), refuseLongName(c)...)
	spec := field.NewPath("spec")
	made := c.Spec.ControlPlaneRef.IsDefined() || c.Spec.InfrastructureRef.IsDefined() || c.Spec.Topology.IsDefined()
	if !made {
		refused = append(refused, field.Forbidden(spec, "set infrastructureRef, controlPlaneRef or topology"))
	}
	network := spec.Child("clusterNetwork")
	refused = append(refused, refuseCIDRs(network.Child("pods", "cidrBlocks"), c.Spec.ClusterNetwork.Pods.CIDRBlocks)...)
	return append(refused, refuseCIDRs(network.Child("services", "cidrBlocks"), c.Spec.ClusterNetwork.Services.CIDRBlocks)...)
}

func refuseMachine(m *clusterv1.Machine) (refused field.ErrorList) {
	spec := field.NewPath("spec")
	if !capilabels.IsMachinePoolOwned(m) { // whose machines share a config
		refused = refuseNoConfig(spec, m.Spec)
	}
	refused = append(refused, refuseVersion(spec, m.Spec)...)
	return append(refused, refuseTaints(spec.Child("taints"), m.Spec.Taints)...)
}

func refuseMachineSet(m *clusterv1.MachineSet) field.ErrorList {
	spec := field.NewPath("spec")
	refused := refuseTemplate(spec, m.Spec.ClusterName, m.Spec.Template)
	refused = append(refused, refuseSelector(spec, m.Spec.Selector, m.Spec.Template.Labels)...)
	refused = append(refused, refuseSkipped(m.Annotations)...)
	return append(refused, refuseNaming(spec.Child("machineNaming", "template"), m.Spec.MachineNaming.Template)...)
}

func refuseMachineDeployment(m *clusterv1.MachineDeployment) field.ErrorList {
	spec := field.NewPath("spec")
	refused := refuseName(m.Name)
	refused = append(refused, refuseTemplate(spec, m.Spec.ClusterName, m.Spec.Template)...)
	refused = append(refused, refuseSelector(spec, m.Spec.Selector, m.Spec.Template.Labels)...)
	refused = append(refused, refuseSkipped(m.Annotations)...)
	rolling := spec.Child("rollout", "strategy", "rollingUpdate")
	refused = append(refused, refuseRollout(rolling, m.Spec.Rollout.Strategy.RollingUpdate)...)
	refused = append(refused, refuseShare(spec.Child("remediation", "maxInFlight"), m.Spec.Remediation.MaxInFlight)...)
	return append(refused, refuseNaming(spec.Child("machineNaming", "template"), m.Spec.MachineNaming.Template)...)
}

func refuseMachinePool(m *clusterv1.MachinePool) field.ErrorList {
	return refuseTemplate(field.NewPath("spec"), m.Spec.ClusterName, m.Spec.Template)
}

// leastStartup is the shortest time for a Node; 0 switches that check off.
const leastStartup = 30

func refuseHealthCheck(m *clusterv1.MachineHealthCheck) (refused field.ErrorList) {
	path := field.NewPath("spec", "selector")
	switch selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector); {
	case err != nil:
		refused = append(refused, field.Invalid(path, nil, "must be a selector of labels"))
	case selector.Empty():
		refused = append(refused, field.Required(path, ""))
	}
	if name, ok := m.Spec.Selector.MatchLabels[clusterv1.ClusterNameLabel]; ok && name != m.Spec.ClusterName {
		refused = append(refused, field.Invalid(path, nil, "must select machines of spec.clusterName, not of another Cluster"))
	}
	checks := field.NewPath("spec", "checks", "nodeStartupTimeoutSeconds")
	if limit := ptr.Deref(m.Spec.Checks.NodeStartupTimeoutSeconds, leastStartup); limit != 0 && limit < leastStartup {
		refused = append(refused, field.Invalid(checks, limit, "must be at least 30, or 0 for no limit"))
	}
	return append(refused, refuseShare(field.NewPath("spec", "remediation", "triggerIf", "unhealthyLessThanOrEqualTo"),
		m.Spec.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo)...)
}

// refuseName refuses a name that is no value of a label, which it becomes.
func refuseName(name string) (refused field.ErrorList) {
	for _, reason := range validation.IsValidLabelValue(name) {
		refused = append(refused, field.Invalid(field.NewPath("metadata", "name"), nil, "must be a valid label value: "+reason))
	}
	return refused
}

// refuseLongName refuses what our own policy refuses of the Clusters of the flavors: config/infrastructure/windows_clusters.yaml.
// The bootstrap checks their CIDRs in the same way.
func refuseLongName(c *clusterv1.Cluster) field.ErrorList {
	cloud, ofFlavor := c.Labels[infrav1.CloudLabel]
	longest := map[bool]int{true: 44, false: 51}[cloud == infrav1.CloudAzure]
	if !ofFlavor || len(c.Name) <= longest || ptr.Deref(c.Spec.Paused, false) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), nil, fmt.Sprintf("has %d characters; add-ons and the "+
		"infrastructure of a Cluster with the label capwin.io/cloud carry its name, so use at most %d", len(c.Name), longest))}
}

func refuseCIDRs(path *field.Path, cidrs []string) (refused field.ErrorList) {
	for i, cidr := range cidrs {
		if _, _, err := net.ParseCIDR(cidr); err != nil {
			refused = append(refused, field.Invalid(path.Index(i), nil, "must be a CIDR, such as 10.0.0.0/16"))
		}
	}
	return refused
}

// refuseTemplate is for what makes machines of a template.
func refuseTemplate(spec *field.Path, cluster string, template clusterv1.MachineTemplateSpec) field.ErrorList {
	machineSpec := spec.Child("template", "spec")
	refused := refuseNoConfig(machineSpec, template.Spec)
	if cluster != template.Spec.ClusterName {
		refused = append(refused, field.Invalid(spec.Child("clusterName"), nil,
			"spec.clusterName and spec.template.spec.clusterName must be the same"))
	}
	refused = append(refused, refuseVersion(machineSpec, template.Spec)...)
	refused = append(refused, refuseTaints(machineSpec.Child("taints"), template.Spec.Taints)...)
	return append(refused, template.Validate(spec.Child("template", "metadata"))...)
}

func refuseNoConfig(spec *field.Path, m clusterv1.MachineSpec) field.ErrorList {
	if m.Bootstrap.ConfigRef.IsDefined() || m.Bootstrap.DataSecretName != nil {
		return nil
	}
	return field.ErrorList{field.Required(spec.Child("bootstrap"), "")}
}

func refuseVersion(spec *field.Path, m clusterv1.MachineSpec) field.ErrorList {
	if m.Version == "" {
		return nil
	}
	_, err := version.ParseSemantic(m.Version)
	if err != nil || strings.TrimSpace(m.Version) != m.Version { // the parser takes a blank at the end
		return field.ErrorList{field.Invalid(spec.Child("version"), nil, "must be a full version, such as v1.36.3")}
	}
	return nil
}

// refuseTaints refuses all: the gate MachineTaintPropagation is off.
func refuseTaints(path *field.Path, taints []clusterv1.MachineTaint) field.ErrorList {
	if len(taints) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "Cluster API's feature gate MachineTaintPropagation is off; a "+
		"WindowsBootstrapConfig has spec.node.taints")}
}

func refuseSelector(spec *field.Path, s metav1.LabelSelector, templateLabels map[string]string) field.ErrorList {
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return field.ErrorList{field.Invalid(spec.Child("selector"), nil, "must be a selector of labels")}
	}
	if !selector.Matches(labels.Set(templateLabels)) {
		path := spec.Child("template", "metadata", "labels")
		return field.ErrorList{field.Forbidden(path, "must match spec.selector \""+selector.String()+"\": write "+
			"the labels of spec.selector.matchLabels there, too, or leave spec.selector out, which Cluster API then fills in")}
	}
	return nil
}

func refuseSkipped(annotations map[string]string) field.ErrorList {
	checks := []clusterv1.MachineSetPreflightCheck{
		clusterv1.MachineSetPreflightCheckAll, clusterv1.MachineSetPreflightCheckKubeadmVersionSkew,
		clusterv1.MachineSetPreflightCheckKubernetesVersionSkew, clusterv1.MachineSetPreflightCheckControlPlaneIsStable,
		clusterv1.MachineSetPreflightCheckControlPlaneVersionSkew,
	}
	const annotation = clusterv1.MachineSetSkipPreflightChecksAnnotation
	if annotations[annotation] == "" {
		return nil
	}
	for check := range strings.SplitSeq(annotations[annotation], ",") {
		if !slices.Contains(checks, clusterv1.MachineSetPreflightCheck(strings.TrimSpace(check))) {
			path := field.NewPath("metadata", "annotations", annotation)
			return field.ErrorList{field.Invalid(path, nil, "must be one of All, KubeadmVersionSkew, KubernetesVersionSkew, "+
				"ControlPlaneIsStable, ControlPlaneVersionSkew")}
		}
	}
	return nil
}

func refuseRollout(path *field.Path, r clusterv1.MachineDeploymentRolloutStrategyRollingUpdate) field.ErrorList {
	refused := refuseShare(path.Child("maxUnavailable"), r.MaxUnavailable)
	refused = append(refused, refuseShare(path.Child("maxSurge"), r.MaxSurge)...)
	isZero := func(share *intstr.IntOrString) bool { return share != nil && *share == intstr.FromInt32(0) }
	if isZero(r.MaxSurge) && isZero(r.MaxUnavailable) {
		refused = append(refused, field.Invalid(path, nil, "maxSurge and maxUnavailable must not both be 0"))
	}
	return refused
}

func refuseShare(path *field.Path, share *intstr.IntOrString) field.ErrorList {
	if share == nil {
		return nil
	}
	if _, err := intstr.GetScaledValueFromIntOrPercent(share, 0, false); err != nil {
		return field.ErrorList{field.Invalid(path, nil, "must be a whole number, or a percentage such as 20%")}
	}
	return nil
}

// random is what makes a name unlike others.
const random = "{{ .random }}"

// refuseNaming fills in what a template of names may refer to. A template can do more; then only a cluster knows the name.
func refuseNaming(path *field.Path, template string) (refused field.ErrorList) {
	if template == "" {
		return nil
	}
	if !strings.Contains(template, random) {
		refused = append(refused, field.Invalid(path, nil, "must have "+random+", or all names are the same"))
	}
	names := strings.NewReplacer(random, "abcde", "{{ .cluster.name }}", "cluster", "{{ .machineSet.name }}", "machineset")
	name := names.Replace(template)
	switch {
	case strings.Count(name, "{{") != strings.Count(name, "}}"):
		refused = append(refused, field.Invalid(path, nil, "must be a template: a {{ has no }}"))
	case !strings.Contains(name, "{{") && len(validation.IsDNS1123Subdomain(name)) > 0:
		refused = append(refused, field.Invalid(path, nil, "must give names of lower case letters, digits, - and ."))
	}
	return refused
}
