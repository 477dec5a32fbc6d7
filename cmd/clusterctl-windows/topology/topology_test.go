package topology

import (
	"slices"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What Cluster API makes of the flavor windows has the names that a person uses, and the place of its pool; a second call changes
// nothing. TestPluginExpandsAsCluster... of test/suites/release compares it with what the real controller makes.
func TestFlavors(t *testing.T) {
	for cloud, prefix := range map[string]string{"vsphere": "VSphere", "azure": "Azure"} {
		o := setOf(t, files(t, cloud))
		read := len(o.Items)
		expect.OK(t, Admit(o))
		var got []string
		for _, one := range o.Items[read:] {
			got = append(got, one.String()+" of "+one.MadeBy+" at "+strings.TrimPrefix(one.Place, "standard input: document 1, "))
		}
		var want []string
		for _, one := range []string{
			prefix + "Cluster default/prod 19", "KubeadmControlPlane default/prod 23", prefix + "MachineTemplate default/prod 23",
			"KubeadmConfigTemplate default/prod-linux 27", prefix + "MachineTemplate default/prod-linux 27",
			"MachineDeployment default/prod-linux 27", "WindowsBootstrapConfigTemplate default/prod-windows 30",
			"WindowsMachineTemplate default/prod-windows 30", "MachineDeployment default/prod-windows 30",
			"MachineHealthCheck default/prod-windows 30",
		} {
			at := strings.LastIndex(one, " ")
			want = append(want, one[:at]+" of ClusterClass default/windows-"+cloud+" at line"+one[at:])
		}
		expect.Same(t, "objects of "+cloud, want, got)
		all := slices.Clone(o.Items)
		expect.OK(t, Admit(o))
		expect.Same(t, "objects after a second call", len(all), len(o.Items))
	}
}

// load returns an object of the files.
func load[T any, P objects.Pointer[T]](t *testing.T, o *objects.Set, kind, name string) P {
	t.Helper()
	for _, one := range o.Items {
		if one.Kind == kind && one.Key.Name == name {
			return expect.Got(objects.Decode[T, P](one))(t)
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// What a pool says itself counts for it alone: its variables, metadata, failure domain, replicas and health check.
func TestOverrides(t *testing.T) {
	o := setOf(t, files(t, "vsphere", "        name: windows\n        replicas: 1", `        name: windows
        replicas: 1
      - class: windows
        name: build
        replicas: 3
        failureDomain: zone-b
        metadata:
          labels: {example.com/team: build}
        healthCheck:
          enabled: false
        variables:
          overrides:
          - name: windows
            value: {maxPods: 50, systemReservedMemory: 3Gi, kubeReservedMemory: 1Gi}`))
	expect.OK(t, Admit(o))
	for name, want := range map[string]int32{"prod-windows": 110, "prod-build": 50} {
		config := load[bootstrapv1.WindowsBootstrapConfigTemplate](t, o, "WindowsBootstrapConfigTemplate", name)
		expect.Same(t, "maxPods of "+name, want, config.Spec.Template.Spec.Kubelet.MaxPods)
		machine := load[infrav1.WindowsMachineTemplate](t, o, "WindowsMachineTemplate", name)
		expect.Same(t, "datacenter of "+name, "dc0", machine.Spec.Template.Spec.VSphere.Datacenter)
	}
	pool := load[clusterv1.MachineDeployment](t, o, "MachineDeployment", "prod-build")
	expect.Same(t, "replicas", int32(3), *pool.Spec.Replicas)
	expect.Same(t, "failure domain", "zone-b", pool.Spec.Template.Spec.FailureDomain)
	expect.Same(t, "label of the machines", "build", pool.Spec.Template.Labels["example.com/team"])
	isCheck := func(one objects.Object) bool { return one.Kind == "MachineHealthCheck" && one.Key.Name == "prod-build" }
	expect.Same(t, "a health check of the pool", false, slices.ContainsFunc(o.Items, isCheck))
}

// What kubectl prints of a cluster needs no class: its pools are there. A pool of one's own beside a topology stays.
func TestExpanded(t *testing.T) {
	o := setOf(t, files(t, "azure"))
	expect.OK(t, Admit(o))
	var text, pool strings.Builder
	for _, one := range o.Items {
		if one.MadeBy != "" || one.Kind == "Cluster" {
			text.WriteString("---\n" + string(one.Data) + "\n")
		}
		if one.MadeBy != "" && one.Key.Name == "prod-windows" {
			pool.WriteString("---\n" + strings.ReplaceAll(string(one.Data), `,"topology.cluster.x-k8s.io/owned":""`, "") + "\n")
		}
	}
	live := setOf(t, text.String())
	read := len(live.Items)
	expect.OK(t, Admit(live))
	expect.Same(t, "objects of a cluster", read, len(live.Items))

	both := setOf(t, files(t, "azure")+pool.String())
	expect.OK(t, Admit(both))
	var names []string
	for _, one := range both.OfKind("MachineDeployment") {
		names = append(names, one.Key.Name+" "+one.MadeBy)
	}
	const made = " ClusterClass default/windows-azure"
	if len(names) != 3 || names[0] != "prod-windows " || !strings.HasPrefix(names[1], "prod-linux") ||
		!strings.HasPrefix(names[2], "prod-windows-") || !strings.HasSuffix(names[2], made) {
		t.Errorf("the MachineDeployments are %q", names)
	}
	alone := setOf(t, cluster(t, "azure")+pool.String())
	expect.OK(t, Admit(alone))
}

// The versions of before are read as well.
func TestOlderVersion(t *testing.T) {
	o := setOf(t, edited(t, files(t, "azure"),
		"cluster.x-k8s.io/v1beta2\nkind: Cluster\n", "cluster.x-k8s.io/v1beta1\nkind: Cluster\n",
		"    classRef:\n      name:", "    class:"))
	expect.OK(t, Admit(o))
	expect.Same(t, "pools", 2, len(o.OfKind("MachineDeployment")))
}

// The class and its templates may be in another namespace than the Cluster.
func TestNamespaces(t *testing.T) {
	o := setOf(t, files(t, "azure", `namespace: "default"`, "namespace: team-a", `name: "windows-azure"`,
		"name: windows-azure\n      namespace: default"))
	expect.OK(t, Admit(o))
	var places []string
	for _, one := range o.OfKind("MachineDeployment") {
		places = append(places, one.Key.String())
	}
	expect.Same(t, "pools", []string{"team-a/prod-linux", "team-a/prod-windows"}, places)
}

// Names that Cluster API cuts stay apart.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", 55)
	o := setOf(t, files(t, "vsphere", "        name: windows\n", "        name: "+long+"-one\n",
		"    # A class must", "      - class: windows\n        name: "+long+"-two\n        replicas: 1\n    # A class must"))
	expect.OK(t, Admit(o))
	var names []string
	for _, one := range o.OfKind("WindowsMachineTemplate") {
		if one.MadeBy != "" {
			names = append(names, one.Key.Name)
		}
	}
	slices.Sort(names)
	expect.Same(t, "templates", 2, len(slices.Compact(names)))
}
