package objects

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const oldDeployment = `apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: a}
spec:
  clusterName: a
  selector: {}
  template:
    spec:
      clusterName: a
      version: 1.36.3
      nodeDrainTimeout: 5m
      bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: WindowsBootstrapConfigTemplate, name: a}}
      infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: WindowsMachineTemplate, name: a}
`

const oldCluster = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: a}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}
  controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: a}
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureCluster, name: a}
`

// TestRefusedAsByWebhooks has what the schemas allow and Cluster API's webhooks refuse.
func TestRefusedAsByWebhooks(t *testing.T) {
	long := strings.Repeat("a", 70)
	areRefused(t, map[string]mistake{
		"two names of a Cluster": {
			goodDeployment, "      clusterName: a", "      clusterName: b", "MachineDeployment default/a: spec.clusterName: " +
				`is "a", but spec.clusterName and spec.template.spec.clusterName must be the same, and the second is "b"`,
		},
		"a long name": {
			goodDeployment, "{name: a}\nspec", "{name: " + long + "}\nspec", "MachineDeployment default/" + long + ": metadata.name: " +
				"must be a valid label value: must be no more than 63 bytes",
		},
		"a name too long for add-ons": {
			goodCluster, "{name: a}\nspec", "{name: " + long[:52] + ", labels: {capwin.io/cloud: vsphere}}\nspec",
			"Cluster default/" + long[:52] + ": metadata.name: has 52 characters; add-ons and the infrastructure of a Cluster with the " +
				"label capwin.io/cloud carry its name, so use at most 51",
		},
		"a name too long for Azure": {
			goodCluster, "{name: a}\nspec", "{name: " + long[:45] + ", labels: {capwin.io/cloud: azure}}\nspec",
			"Cluster default/" + long[:45] + ": metadata.name: has 45 characters; add-ons and the infrastructure of a Cluster with the " +
				"label capwin.io/cloud carry its name, so use at most 44",
		},
		"fewer than no replicas": {
			goodDeployment, "replicas: 3", "replicas: -1",
			"MachineDeployment default/a: spec.replicas: is -1, but should be a non-negative integer",
		},
		"replicas as a text, and no selector": {
			strings.Replace(goodDeployment, "  selector: {}\n", "", 1), "replicas: 3", `replicas: "3"`,
			`MachineDeployment default/a: spec.replicas: must be a whole number, not the text "3"; write 3`,
		},
		"fewer than no control planes": {
			goodControlPlane, "replicas: 1", "replicas: -1",
			"KubeadmControlPlane default/a: spec.replicas: is -1, but should be a non-negative integer",
		},
		"a version that is none": {
			goodMachine, "version: v1.36.3", "version: hunter2", "Machine default/a: spec.version: must be a full version, such as " +
				"v1.36.3",
		},
		"a selector of others": {
			goodDeployment, "selector: {}", "selector: {matchLabels: {a: b}}", "MachineDeployment default/a: " +
				"spec.template.metadata.labels: Forbidden; must match spec.selector \"a=b,cluster.x-k8s.io/cluster-name=a\": write the " +
				"labels of spec.selector.matchLabels there, too, or leave spec.selector out, which Cluster API then fills in",
		},
		"no config": {
			goodDeployment, "{configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsBootstrapConfigTemplate, name: a}}",
			"{}", "MachineDeployment default/a: spec.template.spec.bootstrap: is missing; set it",
		},
		"nothing to roll with": {
			goodDeployment, "  replicas: 3",
			"  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}}",
			"MachineDeployment default/a: spec.rollout.strategy.rollingUpdate: has maxSurge and maxUnavailable; " +
				"maxSurge and maxUnavailable must not both be 0",
		},
		"no CIDR": {
			goodCluster, "10.0.0.0/16", "10.0.0.0/166", "Cluster default/a: spec.clusterNetwork.pods.cidrBlocks[0]: " +
				`is "10.0.0.0/166", but must be a CIDR, such as 10.0.0.0/16`,
		},
		"a Cluster of nothing": {
			"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\nspec: {paused: false}\n", "false", "true",
			"Cluster default/a: spec: Forbidden; set infrastructureRef, controlPlaneRef or topology",
		},
		"in v1beta1": {
			oldDeployment, "      clusterName: a", "      clusterName: b", "MachineDeployment default/a: spec.clusterName: " +
				`is "a", but spec.clusterName and spec.template.spec.clusterName must be the same, and the second is "b"`,
		},
		"a field of v1beta2 in v1beta1": {
			oldDeployment, "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1", "apiGroup: infrastructure.cluster.x-k8s.io",
			`MachineDeployment default/a: unknown field "spec.template.spec.infrastructureRef.apiGroup"; ` +
				`it is a field of v1beta2; write apiVersion: cluster.x-k8s.io/v1beta2, or infrastructureRef.apiVersion here`,
		},
		"an autoscaler without a number": {
			strings.Replace(goodDeployment, "  replicas: 3\n", "", 1), "metadata: {name: a}", "metadata: {name: a, annotations: {" +
				autoscaler + "min-size: few, " + autoscaler + "max-size: '3'}}", "MachineDeployment default/a: Cluster API cannot read " +
				"it: the annotation " + autoscaler + "min-size must be a whole number",
		},
		"a reference that is none": {
			oldDeployment, "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1", "apiVersion: a/b/c",
			"MachineDeployment default/a: Cluster API cannot read it: failed to convert object: failed to parse apiVersion: " +
				"unexpected GroupVersion string: a/b/c",
		},
	})
}

// TestConvertedAsByClusterAPI: the references to other objects arrive, which the generated conversions drop.
func TestConvertedAsByClusterAPI(t *testing.T) {
	found := expect.Got(readText(t, "x.yaml", oldCluster+"---\n"+oldDeployment))(t)
	expect.OK(t, found.Admit())
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	cluster := expect.Got(Load[clusterv1.Cluster](found, "Cluster", key))(t)
	expect.Same(t, "infrastructure of the Cluster", clusterv1.ContractVersionedObjectReference{
		APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "AzureCluster", Name: "a",
	}, cluster.Spec.InfrastructureRef)
	expect.Same(t, "its control plane", clusterv1.ContractVersionedObjectReference{
		APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: "a",
	}, cluster.Spec.ControlPlaneRef)
	template := expect.Got(Load[clusterv1.MachineDeployment](found, "MachineDeployment", key))(t).Spec.Template
	expect.Same(t, "infrastructure of a Machine", clusterv1.ContractVersionedObjectReference{
		APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "WindowsMachineTemplate", Name: "a",
	}, template.Spec.InfrastructureRef)
	expect.Same(t, "its config", clusterv1.ContractVersionedObjectReference{
		APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "WindowsBootstrapConfigTemplate", Name: "a",
	}, template.Spec.Bootstrap.ConfigRef)
	expect.Same(t, "a duration that became seconds", int32(300), *template.Spec.Deletion.NodeDrainTimeoutSeconds)
	expect.Same(t, "a version to which the webhook added the v", "v1.36.3", template.Spec.Version)
	expect.OK(t, found.Admit()) // again, now in v1beta2
}

// TestClusterWithATopology: whether it may be used and what it needs only a cluster knows.
func TestClusterWithATopology(t *testing.T) {
	const managed = "kind: Cluster\nmetadata: {name: a}\nspec: {topology: {version: v1.36.3, "
	for _, text := range []string{
		"apiVersion: cluster.x-k8s.io/v1beta2\n" + managed + "classRef: {name: b}}}\n",
		"apiVersion: cluster.x-k8s.io/v1beta1\n" + managed + "class: b}}\n",
	} {
		found := expect.Got(readText(t, "x.yaml", text))(t)
		expect.OK(t, found.Admit())
		key := types.NamespacedName{Namespace: "default", Name: "a"}
		cluster := expect.Got(Load[clusterv1.Cluster](found, "Cluster", key))(t)
		expect.Same(t, text, "b", cluster.Spec.Topology.ClassRef.Name)
		expect.Same(t, "no reference was made up", false, cluster.Spec.InfrastructureRef.IsDefined())
	}
}

// TestLongNamesOfOthers: only Clusters that get add-ons by their label have short names.
func TestLongNamesOfOthers(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, meta := range map[string]string{
		"without the label":         "{name: " + long + "}",
		"the longest on vSphere":    "{name: " + long[:51] + ", labels: {capwin.io/cloud: vsphere}}",
		"the longest in Azure":      "{name: " + long[:44] + ", labels: {capwin.io/cloud: azure}}",
		"paused, as one that moves": "{name: " + long + ", labels: {capwin.io/cloud: azure}}\nspec:\n  paused: true",
	} {
		text := strings.Replace(goodCluster, "{name: a}", meta, 1)
		if strings.Contains(meta, "spec:") {
			text = strings.Replace(goodCluster, "{name: a}\nspec:", meta, 1)
		}
		found := expect.Got(readText(t, "x.yaml", text))(t)
		if err := found.Admit(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
