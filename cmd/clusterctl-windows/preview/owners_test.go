package preview

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const windowsMachine = `---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachine
metadata: {name: windows-1}
spec:
  identityRef: {kind: Secret, name: vcenter}
  vsphere: {datacenter: dc, image: {template: windows-2022}}
`

// controlPlane is that of the Cluster of vsphereFile.
const controlPlane = `---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: masters}
spec:
  version: v1.36.3
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: m}}}
  kubeadmConfigSpec: {verbosity: 2}
`

// TestRefusedAsByControllers has what an API server takes and a controller of ours refuses, in the controller's own words.
func TestRefusedAsByControllers(t *testing.T) {
	const vm, config = "WindowsMachine default/windows-1: ", "WindowsBootstrapConfig default/windows-1: "
	git := textOf(t, vsphereFile)
	owner := func(kind, name string) string {
		return ", ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: " + kind + ", name: " + name + ", uid: a}]"
	}
	other := strings.ReplaceAll(machineOf("other"), "name: windows-1}", "name: other}")
	for name, c := range map[string]struct{ text, want string }{
		"a failure domain in a vCenter": {
			strings.Replace(git, "      version: v1.36.3\n", "      version: v1.36.3\n      failureDomain: a\n", 1),
			vm + `Machine windows-1 has failure domain "a", but VMs of this cloud are not placed by failure domain; ` +
				"remove spec.failureDomain",
		},
		"a control plane": {
			strings.Replace(git, "  template:\n    spec:\n      clusterName",
				"  template:\n    metadata: {labels: {cluster.x-k8s.io/control-plane: ''}}\n    spec:\n      clusterName", 1),
			config + "Machine windows-1 is a control-plane machine; control planes run on Linux: " +
				"remove cluster.x-k8s.io/control-plane from its metadata.labels",
		},
		"a MachinePool": {
			git + machineOf("windows-1") + windowsMachine + configOf(owner("MachinePool", "pool")),
			config + "MachinePool pool cannot use a WindowsBootstrapConfig; use a MachineDeployment",
		},
		"another's config": {
			git + machineOf("windows-1") + other + windowsMachine + configOf(owner("Machine", "other")),
			config + "ownerReferences has Machine other, but that Machine uses WindowsMachine other and WindowsBootstrapConfig other; " +
				"delete this WindowsBootstrapConfig, or create a Machine that uses it",
		},
		"another's WindowsMachine": {
			git + machineOf("windows-1") + other +
				strings.Replace(windowsMachine, "{name: windows-1}", "{name: windows-1"+owner("Machine", "other")+"}", 1) + configOf(""),
			vm + "ownerReferences has Machine other, but that Machine uses WindowsMachine other and WindowsBootstrapConfig other; " +
				"delete this WindowsMachine, or create a Machine that uses it",
		},
		"a version that is too old": {
			strings.Replace(git, "      version: v1.36.3\n", "      version: v1.32.9\n", 1) + controlPlane,
			"Machine spec.version: v1.32.9 is more than 3 minor versions older than the control plane's v1.36.3; " +
				"use a version from v1.33 to v1.36",
		},
		"IPv6 alone": {
			strings.Replace(git, "  controlPlaneEndpoint", "  clusterNetwork: {pods: {cidrBlocks: ['fd00:1::/56']}}\n  "+
				"controlPlaneEndpoint", 1),
			"Cluster spec.clusterNetwork.pods.cidrBlocks: fd00:1::/56 is IPv6 only, which pods on Windows do not support; " +
				"add an IPv4 CIDR, or set spec.network.mode of the WindowsBootstrapConfig to None if its node runs no pods with an " +
				"address of their own",
		},
		"a kind of another group": {
			strings.Replace(git, "apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachineTemplate",
				"apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsMachineTemplate", 1),
			`MachineDeployment default/windows: spec.template.spec.infrastructureRef.apiGroup is "bootstrap.cluster.x-k8s.io", but a ` +
				"WindowsMachineTemplate is of infrastructure.cluster.x-k8s.io; write that",
		},
		"another kind of machines": {
			strings.Replace(git, "kind: WindowsMachineTemplate, name", "kind: VSphereMachineTemplate, name", 1),
			`MachineDeployment default/windows: spec.template.spec.infrastructureRef.kind is "VSphereMachineTemplate" (windows), ` +
				"but a Windows machine needs a WindowsMachineTemplate; write apiGroup, kind and name of one",
		},
	} {
		t.Run(name, func(t *testing.T) { refusedWith(t, c.text, c.want) })
	}
}

// TestNewerThanTheControlPlane: such a machine waits, and a control plane that is being upgraded is no reason to refuse it.
func TestNewerThanTheControlPlane(t *testing.T) {
	text := strings.Replace(textOf(t, vsphereFile), "      version: v1.36.3\n", "      version: v1.37.0\n", 1) + controlPlane
	_, notes := gathered(t, text)
	if len(notes) == 0 || !strings.HasPrefix(notes[0], "the Machine needs v1.37.0, but a Node of its control plane has v1.36.3") {
		t.Errorf("the notes are %q", notes)
	}
}

// TestOwnersThatAreGood: a Machine that names both objects, whatever the UIDs say, and one that is not among the files.
func TestOwnersThatAreGood(t *testing.T) {
	for _, name := range []string{"windows-1", "elsewhere"} {
		owner := ", ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: " + name + ", uid: a}]"
		text := textOf(t, vsphereFile) + machineOf("windows-1") + windowsMachine + configOf(owner)
		m, notes := gathered(t, text)
		expect.Same(t, name, []string(nil), notes)
		expect.Same(t, name, "windows-1", m.Owner.Name)
	}
}
