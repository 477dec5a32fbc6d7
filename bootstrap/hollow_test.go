package bootstrap_test

import (
	"bytes"
	"testing"
)

// hollow has every object and list of a config that may be empty; an empty list of taints says that there are none.
const hollow = `
node: {labels: {}}
discovery: {kubeconfigFrom: {secret: {}}}
kubelet: {extraArgs: [], featureGates: [], log: {}, configuration: {}}
reservations: {system: {}, kube: {}, eviction: {}}
network: {exceptionCIDRs: [], nodePorts: {}, dynamicPorts: {}, firewall: [], kubeProxy: {}}
containerd: {registries: [], prepullImages: [], dropIns: []}
windows: {proxy: {noProxy: []}, trustedCertificates: [], ntpServers: [], pageFile: {}, users: [], features: [],
  defenderExclusions: {folders: [], processes: []}, csiProxy: {}, domain: {credentialsRef: {}}, gmsaPlugin: {}}
custom: {files: [], preJoin: [], postJoin: [], everyBoot: []}`

// What is empty makes the same node as what is left out, whether it was empty or its parent was.
func TestHollowConfigsSayNothing(t *testing.T) {
	want := render(t, plainInput(t)).Bytes()
	for _, text := range []string{hollow, `
node: {}
discovery: {}
kubelet: {}
reservations: {}
network: {}
containerd: {}
windows: {}
custom: {}`, `discovery: {kubeconfigFrom: {}}
windows: {proxy: {}, defenderExclusions: {}, domain: {}}`} {
		if got := render(t, plainInput(t, spec(text))); !bytes.Equal(want, got.Bytes()) {
			t.Errorf("another node by:%s", text)
		}
	}
}

// The same in a network that says something.
func TestHollowFieldsOfANetwork(t *testing.T) {
	const empty = `network: {exceptionCIDRs: [], nodePorts: {}, dynamicPorts: {}, firewall: []}`
	for _, mode := range []change{inNetwork("Overlay", "Calico"), inNetwork("L2Bridge", "Flannel"), inNetwork("None", "")} {
		want := render(t, plainInput(t, mode)).Bytes()
		if got := render(t, plainInput(t, mode, spec(empty))); !bytes.Equal(want, got.Bytes()) {
			t.Error("another node by empty fields")
		}
	}
}
