package release

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

type tree = map[string]any

// Cluster API's own topology controller patches our templates, and replaces them when a variable changes.
func TestClusterClass(t *testing.T) {
	needsServers(t)
	t.Parallel()
	u := offline(t)
	management := u.prepared(u.components())
	u.kubectl(management, testdata(t, "class.yaml"), "apply", "--validate=strict", "--warnings-as-errors", "-f", "-")
	u.kubectl(management, nil, "wait", "--for=condition=VariablesReady", "clusterclass/mixed", "--timeout=60s")

	names := map[string]bool{}
	for _, c := range []struct {
		variables tree
		windows   tree
		cpus      int64
	}{
		{variables: tree{}, windows: tree{}, cpus: 4},
		{variables: tree{"timeZone": "UTC"}, windows: tree{"timeZone": "UTC"}, cpus: 4},
		{
			variables: tree{"timeZone": "UTC", "proxy": "http://proxy:3128", "cpus": 8},
			windows:   tree{"timeZone": "UTC", "proxy": tree{"http": "http://proxy:3128"}}, cpus: 8,
		},
	} {
		u.kubectl(management, cluster(t, c.variables), "apply", "-f", "-")
		u.reconciled(management, "demo")
		config, machine := u.usedBy(management, "bootstrap.configRef"), u.usedBy(management, "infrastructureRef")
		expect.Same(t, "spec of the config", tree{"node": patchedNode, "windows": c.windows}, spec(t, config))
		expect.Same(t, "CPUs", any(c.cpus), spec(t, machine)["vsphere"].(tree)["cpus"])
		names[config.GetName()] = true
	}
	if len(names) != 3 {
		t.Errorf("three configs have the names %v: want a new template for each", names)
	}
}

// patchedNode is what two patches write into the node's map and list.
var patchedNode = tree{
	"labels": tree{"example.com/pool": "workers", "example.com/os": "windows"},
	"taints": []any{
		tree{"key": "pool", "value": "build", "effect": "NoSchedule"}, tree{"key": "os", "value": "windows", "effect": "NoSchedule"},
	},
}

// cluster is a Cluster of the class.
func cluster(t *testing.T, variables tree) []byte {
	t.Helper()
	values := []any{}
	for name, value := range variables {
		values = append(values, tree{"name": name, "value": value})
	}
	topology := tree{
		"classRef": tree{"name": "mixed"}, "version": "v1.36.3", "controlPlane": tree{"replicas": 1},
		"workers": tree{"machineDeployments": []any{tree{"class": "windows", "name": "workers", "replicas": 2}}},
	}
	if len(values) > 0 { // Cluster API refuses an empty list
		topology["variables"] = values
	}
	return expect.Got(json.Marshal(tree{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": tree{"name": "demo", "namespace": "default"},
		"spec": tree{"topology": topology},
	}))(t)
}

// reconciled waits until the topology controller has done all that it has to for the Cluster as it is. It writes references into
// the Cluster itself, so that nobody knows the generation before.
func (u user) reconciled(management *servers.Management, name string) {
	u.t.Helper()
	wait.Until(u.t, "the topology to be reconciled", func() (any, bool) {
		cluster := &clusterv1.Cluster{}
		expect.OK(u.t, json.Unmarshal(u.kubectl(management, nil, "get", "cluster", name, "-o", "json"), cluster))
		done := conditions.Get(cluster, clusterv1.ClusterTopologyReconciledCondition)
		return done, done != nil && done.Status == metav1.ConditionTrue && done.ObservedGeneration == cluster.Generation
	})
}

// usedBy returns the template to which the MachineDeployment refers.
func (u user) usedBy(management *servers.Management, field string) *unstructured.Unstructured {
	u.t.Helper()
	list := &unstructured.UnstructuredList{}
	expect.OK(u.t, json.Unmarshal(u.kubectl(management, nil, "get", "machinedeployments",
		"-l", "cluster.x-k8s.io/cluster-name=demo", "-o", "json"), list))
	if len(list.Items) != 1 {
		u.t.Fatalf("%d MachineDeployments, want 1", len(list.Items))
	}
	path := append([]string{"spec", "template", "spec"}, strings.Split(field, ".")...)
	reference, _, err := unstructured.NestedStringMap(list.Items[0].Object, path...)
	expect.OK(u.t, err)
	template := &unstructured.Unstructured{}
	expect.OK(u.t, json.Unmarshal(u.kubectl(management, nil, "get", reference["kind"], reference["name"], "-o", "json"), template))
	return template
}

func spec(t *testing.T, of *unstructured.Unstructured) tree {
	t.Helper()
	found, _, err := unstructured.NestedMap(of.Object, "spec", "template", "spec")
	expect.OK(t, err)
	return found
}
