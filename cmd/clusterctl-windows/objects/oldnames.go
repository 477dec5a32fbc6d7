package objects

import (
	"maps"
	"slices"
	"strings"
)

// oldField is what became of a field of Cluster API's v1beta1, as the conversions of its module api say.
type oldField struct {
	// newPath is the field in v1beta2, from where the old one begins; empty if there is none.
	newPath string
	// note describes what differs, or why there is no new field.
	note string
}

// findOld finds the old name that a path ends with, and what is before it.
func findOld(kind, path string) (found oldField, prefix string) {
	rest := strings.TrimPrefix(path, "spec.")
	prefix = path[:len(path)-len(rest)]
	for rest != "" {
		name := indexes.ReplaceAllString(rest, "")
		for _, key := range []string{kind + " " + name, name} {
			if found, ok := oldNames[key]; ok {
				return found, prefix
			}
		}
		var first string
		first, rest, _ = strings.Cut(rest, ".")
		prefix += first + "."
	}
	return found, ""
}

// oldName is the name in v1beta1 of a field of v1beta2.
func oldName(path string) string {
	path = indexes.ReplaceAllString(path, "")
	for _, key := range slices.Sorted(maps.Keys(oldNames)) {
		newPath := strings.ReplaceAll(oldNames[key].newPath, "[]", "")
		if newPath != "" && strings.HasSuffix(path, "."+newPath) {
			return key[strings.LastIndex(key, " ")+1:]
		}
	}
	return ""
}

const (
	bySeconds    = "it counts seconds"
	noVersion    = "write the group, without its version"
	noEffect     = "it never had an effect; remove it"
	ownNamespace = "it refers to an object of its own namespace; remove it"
	byItself     = "Cluster API writes it by itself; remove it"
	ofStrategy   = "write it there; of it, rollingUpdate.deletePolicy is now deletion.order"
	ofTheCluster = "the Cluster has it; remove it"
)

// oldNames are by the end of their path, behind their kind if others have the same name. A test compares them with the schemas.
var oldNames = map[string]oldField{
	// References.
	"infrastructureRef.apiVersion":      {"infrastructureRef.apiGroup", noVersion},
	"infrastructureRef.namespace":       {"", ownNamespace},
	"infrastructureRef.uid":             {"", byItself},
	"infrastructureRef.resourceVersion": {"", byItself},
	"infrastructureRef.fieldPath":       {"", byItself},
	"controlPlaneRef.apiVersion":        {"controlPlaneRef.apiGroup", noVersion},
	"controlPlaneRef.namespace":         {"", ownNamespace},
	"controlPlaneRef.uid":               {"", byItself},
	"controlPlaneRef.resourceVersion":   {"", byItself},
	"controlPlaneRef.fieldPath":         {"", byItself},
	"configRef.apiVersion":              {"configRef.apiGroup", noVersion},
	"configRef.namespace":               {"", ownNamespace},
	"configRef.uid":                     {"", byItself},
	"configRef.resourceVersion":         {"", byItself},
	"configRef.fieldPath":               {"", byItself},
	// Machines, and what makes them.
	"nodeDrainTimeout":                               {"deletion.nodeDrainTimeoutSeconds", bySeconds},
	"nodeVolumeDetachTimeout":                        {"deletion.nodeVolumeDetachTimeoutSeconds", bySeconds},
	"nodeDeletionTimeout":                            {"deletion.nodeDeletionTimeoutSeconds", bySeconds},
	"MachineDeployment minReadySeconds":              {"template.spec.minReadySeconds", ""},
	"MachineSet minReadySeconds":                     {"template.spec.minReadySeconds", ""},
	"MachinePool minReadySeconds":                    {"template.spec.minReadySeconds", ""},
	"MachineSet deletePolicy":                        {"deletion.order", ""},
	"rollingUpdate.deletePolicy":                     {"", "the field is deletion.order, beside rollout; write it there"},
	"MachineDeployment rollout.strategy.remediation": {"remediation", ""},
	"machineNamingStrategy":                          {"machineNaming", ""},
	"MachineDeployment strategy":                     {"rollout.strategy", ofStrategy},
	"ClusterClass strategy":                          {"rollout.strategy", ofStrategy},
	"Cluster strategy":                               {"rollout.strategy", ofStrategy},
	"progressDeadlineSeconds":                        {"", noEffect},
	"revisionHistoryLimit":                           {"", "Cluster API deletes old MachineSets by itself; remove it"},
	// MachineHealthCheck, and the same in a topology and its class.
	"machineHealthCheck":                 {"healthCheck", "write it there, with checks and remediation"},
	"healthCheck.enable":                 {"healthCheck.enabled", ""},
	"maxUnhealthy":                       {"remediation.triggerIf.unhealthyLessThanOrEqualTo", ""},
	"unhealthyRange":                     {"remediation.triggerIf.unhealthyInRange", ""},
	"nodeStartupTimeout":                 {"checks.nodeStartupTimeoutSeconds", bySeconds},
	"unhealthyConditions":                {"checks.unhealthyNodeConditions", "write it there, with timeoutSeconds for timeout"},
	"unhealthyMachineConditions":         {"checks.unhealthyMachineConditions", ""},
	"unhealthyNodeConditions.timeout":    {"unhealthyNodeConditions[].timeoutSeconds", bySeconds},
	"unhealthyMachineConditions.timeout": {"unhealthyMachineConditions[].timeoutSeconds", bySeconds},
	"remediationTemplate":                {"remediation.templateRef", ""},
	// Cluster and ClusterClass.
	"topology.class":               {"topology.classRef.name", "write classRef: {name: NAME}"},
	"topology.classNamespace":      {"topology.classRef.namespace", ""},
	"topology.rolloutAfter":        {"", noEffect},
	"definitionFrom":               {"", "a variable has one definition; remove it"},
	"ClusterClass ref":             {"templateRef", "write apiVersion, kind and name there"},
	"infrastructureNamingStrategy": {"infrastructure.naming", ""},
	"namingStrategy":               {"naming", ""},
	"machineDeployments.template":  {"", "its metadata, bootstrap and infrastructure are beside class; write them there"},
	"machinePools.template":        {"", "its metadata, bootstrap and infrastructure are beside class; write them there"},
	"generateExtension":            {"generatePatchesExtension", ""},
	"validateExtension":            {"validateTopologyExtension", ""},
	"variables.metadata":           {"variables[].deprecatedV1Beta1Metadata", ""},
	// KubeadmControlPlane and KubeadmConfig.
	"rolloutStrategy":                         {"rollout.strategy", ""},
	"rolloutAfter":                            {"rollout.after", ""},
	"rolloutBefore":                           {"rollout.before", ""},
	"remediationStrategy":                     {"remediation", "write it there; its times count seconds"},
	"remediation.retryPeriod":                 {"remediation.retryPeriodSeconds", bySeconds},
	"remediation.minHealthyPeriod":            {"remediation.minHealthyPeriodSeconds", bySeconds},
	"machineTemplate.infrastructureRef":       {"machineTemplate.spec.infrastructureRef", ""},
	"machineTemplate.readinessGates":          {"machineTemplate.spec.readinessGates", ""},
	"machineTemplate.taints":                  {"machineTemplate.spec.taints", ""},
	"machineTemplate.nodeDrainTimeout":        {"machineTemplate.spec.deletion.nodeDrainTimeoutSeconds", bySeconds},
	"machineTemplate.nodeVolumeDetachTimeout": {"machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds", bySeconds},
	"machineTemplate.nodeDeletionTimeout":     {"machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds", bySeconds},
	"clusterConfiguration.apiVersion":         {"", byItself},
	"clusterConfiguration.kind":               {"", byItself},
	"initConfiguration.apiVersion":            {"", byItself},
	"initConfiguration.kind":                  {"", byItself},
	"joinConfiguration.apiVersion":            {"", byItself},
	"joinConfiguration.kind":                  {"", byItself},
	"clusterConfiguration.clusterName":        {"", ofTheCluster},
	"clusterConfiguration.networking":         {"", ofTheCluster},
	"clusterConfiguration.kubernetesVersion":  {"", "the version of the KubeadmControlPlane or Machine is taken; remove it"},
	"clusterConfiguration.apiServer.timeoutForControlPlane": {
		"initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds", "it counts seconds, as in joinConfiguration",
	},
	"bootstrapTokens.ttl":                 {"bootstrapTokens[].ttlSeconds", bySeconds},
	"joinConfiguration.discovery.timeout": {"joinConfiguration.timeouts.tlsBootstrapSeconds", bySeconds},
	"useExperimentalRetryJoin":            {"", "a join is tried again without it; remove it"},
}
