package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withPool is an adapter whose address a controller must have found.
const withPool = "[{name: nodes, addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]}]"

// refusals are all that can be wrong with the objects, and what is said of it: whole, for people act on it.
func refusals(t *testing.T) map[string]struct{ reason, objects, machine, want string } {
	return map[string]struct{ reason, objects, machine, want string }{
		"nothing": {
			"comments are no objects", "# nothing\n---\n", "m",
			"no Machine m is in standard input, which has neither a Machine nor a MachineDeployment of Windows machines; " +
				"another one is printed by: kubectl get machine m -o yaml",
		},
		"unknown machine": {
			"the name may be misspelt", readText(t, machineFile), "blue-windows",
			"no Machine blue-windows is in standard input, which has Machines team-a/" + machineName + "; " +
				"another one is printed by: kubectl get machine blue-windows -o yaml",
		},
		"machine of another namespace": {
			"a namespace that is written counts", readText(t, machineFile), "team-b/" + machineName,
			"no Machine team-b/" + machineName + " is in standard input, which has Machines team-a/" + machineName + "; " +
				"another one is printed by: kubectl get machine " + machineName + " -o yaml",
		},
		"unknown among deployments": {
			"of two pools the name must say which", changed(t, gitFile, "name: blue-windows\n", "name: green\n") + "---\n" + readText(t, gitFile), "x",
			"no Machine x is in standard input, which has MachineDeployment default/green, whose machines are named green-...; " +
				"MachineDeployment default/blue-windows, whose machines are named blue-windows-...; " +
				"another one is printed by: kubectl get machine x -o yaml",
		},
		"machine twice": {
			"nobody knows which one counts", readText(t, machineFile) + "---\n" + changed(t, machineFile, "team-a", "team-b"), machineName,
			"standard input has several Machines of this name: team-a/" + machineName + ", team-b/" + machineName +
				"; write --machine NAMESPACE/NAME, and leave one of each",
		},
		"cluster twice": {
			"nobody knows which one counts", readText(t, machineFile) + "---\n" + without(t, machineFile, "kind: Machine\n", "kind: List", "kind: Secret"), machineName,
			"Cluster team-a/blue is 2 times in standard input; leave one",
		},
		"all but the machine missing": {
			"all that is missing is told at once", without(t, machineFile, "kind: Cluster\n", "kind: List", "blue-ca"), machineName,
			"WindowsMachine team-a/" + machineName + " is not in standard input; add what this prints: kubectl get windowsmachine " + machineName + " -n team-a -o yaml\n" +
				"WindowsBootstrapConfig team-a/" + machineName + " is not in standard input; add what this prints: kubectl get windowsbootstrapconfig " + machineName + " -n team-a -o yaml\n" +
				"Cluster team-a/blue is not in standard input; add what this prints: kubectl get cluster blue -n team-a -o yaml\n" +
				"Secret team-a/blue-ca is not in standard input; add what this prints: kubectl get secret blue-ca -n team-a -o yaml " +
				"(its tls.crt is enough: leave out tls.key, the private key)",
		},
		"templates missing": {
			"a MachineDeployment alone says little", without(t, gitFile, "kind: WindowsMachineTemplate\nmetadata", "kind: WindowsBootstrapConfigTemplate\nmetadata"), "m",
			"WindowsMachineTemplate default/blue-windows is not in standard input; add what this prints: kubectl get windowsmachinetemplate blue-windows -n default -o yaml\n" +
				"WindowsBootstrapConfigTemplate default/blue-windows is not in standard input; add what this prints: kubectl get windowsbootstrapconfigtemplate blue-windows -n default -o yaml",
		},
		"CA without a certificate": {
			"a node joins no cluster that it cannot verify", changed(t, machineFile, "tls.crt:", "ca.crt:"), machineName,
			"Secret team-a/blue-ca has nothing under the key tls.crt; write the cluster's CA in PEM",
		},
		"other infrastructure": {
			"Linux machines are in the same files", changed(t, machineFile, "    kind: WindowsMachine\n    name", "    kind: VSphereMachine\n    name"), machineName,
			"Machine team-a/" + machineName + " refers to the VSphereMachine " + machineName + " where a Windows machine has a WindowsMachine",
		},
		"other bootstrap": {
			"KubeadmConfigs make Linux nodes", changed(t, machineFile, "      kind: WindowsBootstrapConfig\n", "      kind: KubeadmConfig\n"), machineName,
			"Machine team-a/" + machineName + " refers to the KubeadmConfig " + machineName + " where a Windows machine has a WindowsBootstrapConfig",
		},
		"no bootstrap in the deployment": {
			"it would make machines without user data", without(t, gitFile, "kind: MachineDeployment") + "---\n" + deploymentWithoutConfig, "m",
			"MachineDeployment default/blue-windows refers to no WindowsBootstrapConfigTemplate, which it needs",
		},
		"no name for a machine": {
			"the API server would refuse it", readText(t, gitFile), "Blue_1",
			`"Blue_1" is no name of a Machine: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		},
		"control plane": {
			"the controller refuses it too", changed(t, machineFile, "  uid: 0b6f2f0e", "  labels: {cluster.x-k8s.io/control-plane: \"\"}\n  uid: 0b6f2f0e"), machineName,
			"Machine team-a/" + machineName + " is a control-plane machine; control planes run on Linux",
		},
		"two clouds": {
			"a rule of the API server", changed(t, machineFile, "    vsphere:\n", "    azure:\n      credentialsRef: {name: identity}\n"+azureFields("      ")+"    vsphere:\n"), machineName,
			"WindowsMachine team-a/" + machineName + `: spec: Invalid value: set exactly one of spec.vsphere and spec.azure`,
		},
		"out of range": {
			"limits of the API server, all at once", changed(t, machineFile, "cpus: 4", "cpus: 1", "memoryMiB: 16384", "memoryMiB: 2"), machineName,
			"WindowsMachine team-a/" + machineName + ": spec.vsphere.cpus: Invalid value: 1: spec.vsphere.cpus in body should be greater than or equal to 2\n" +
				"WindowsMachine team-a/" + machineName + ": spec.vsphere.memoryMiB: Invalid value: 2: spec.vsphere.memoryMiB in body should be greater than or equal to 4096",
		},
		"pools without addresses": {
			"the user data is made of them", changed(t, machineFile, "cpus: 4", "networks: "+withPool+"\n      cpus: 4"), machineName,
			"WindowsMachine team-a/" + machineName + " has pools in spec.vsphere.networks, and no status.networks with an address of each: " +
				"take it from the cluster once it has them, or write them",
		},
		"a misspelt field": {
			"the API server would drop it, and nobody would notice", changed(t, machineFile, "cpus: 4", "cpu: 4"), machineName,
			"WindowsMachine team-a/" + machineName + `: unknown field "spec.vsphere.cpu"`,
		},
		"a field of the wrong type": {
			"what cannot be read is not guessed", changed(t, machineFile, "cpus: 4", "cpus: many"), machineName,
			"WindowsMachine team-a/" + machineName + ": spec.vsphere.cpus: Invalid value: \"string\": spec.vsphere.cpus in body must be of type integer: \"string\"",
		},
		"an older API": {
			"Cluster API converts, this program does not", changed(t, machineFile, "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine", "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Machine"), machineName,
			"Machine team-a/" + machineName + " has apiVersion cluster.x-k8s.io/v1beta1; only cluster.x-k8s.io/v1beta2 is read, which this prints: " +
				"kubectl get machine.v1beta2.cluster.x-k8s.io " + machineName + " -n team-a -o yaml",
		},
		"not YAML": {
			"the place is named", "kind: Cluster\n---\n\tx", "m",
			"standard input: document 1: no object of Kubernetes: apiVersion or kind is missing",
		},
		"broken YAML": {
			"the place is named", readText(t, machineFile) + "---\na: [", machineName,
			"standard input: document 6: yaml: line 1: did not find expected node content",
		},
		"no object": {
			"a values file is none", "just text", "m",
			"standard input: document 1: no object of Kubernetes: json: cannot unmarshal string into Go value of type main.envelope",
		},
		"broken list": {
			"an item is an object as any other", "apiVersion: v1\nkind: List\nitems:\n- kind: Cluster\n", "m",
			"standard input: document 1: no object of Kubernetes: apiVersion or kind is missing",
		},
		"several tokens": {
			"nobody knows which one is the machine's", without(t, machineFile, "  token: ") + workloadToken("a") + workloadToken("b"), machineName,
			"standard input has 2 Secrets of type bootstrap.kubernetes.io/token; leave the machine's own",
		},
		"a provider ID of another cloud": {
			"a rule of the API says so", changed(t, machineFile, "vsphere://420f", "azure://420f"), machineName,
			"WindowsMachine team-a/" + machineName + ": spec.providerID: Invalid value: providerID of a vSphere VM must be vsphere:// followed " +
				"by a lowercase UUID; remove it: the controller sets it",
		},
		"Azure without an identity": {
			"nothing here makes it", changed(t, gitFile, "      vsphere:\n", "      azure:\n", "        datacenter: dc\n        template: windows-2022\n", azureFields("        ")), "m",
			"WindowsMachine default/m: this release runs no machines in Azure and cannot tell who the VM will be: write spec.providerID and status.computerName",
		},
		"no endpoint": {
			"Render's own words: field and sentence", changed(t, machineFile, "    host: 10.0.0.10\n", ""), machineName,
			"Cluster spec.controlPlaneEndpoint: host or port is missing; write them, or wait until the cluster's infrastructure has",
		},
		"an endpoint of the infrastructure that cannot be read": {
			"what cannot be read is not guessed", changed(t, gitFile, "port: 6443", "port: many"), "m",
			"VSphereCluster default/blue: json: cannot unmarshal string into Go struct field APIEndpoint.spec.controlPlaneEndpoint.port of type int32",
		},
		"a label that a kubelet may not have": {
			"a rule of the API server", changed(t, machineFile, "name: example.com/pool", "name: kubernetes.io/os"), machineName,
			"WindowsBootstrapConfig team-a/" + machineName + ": spec.node.labels[0].name: " +
				"Invalid value: a kubelet must not set this label of kubernetes.io or k8s.io on its own node; set it in metadata.labels of " +
				"the Machine, from where Cluster API copies it to the node, or use a name under node.kubernetes.io/",
		},
	}
}

const deploymentWithoutConfig = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: blue-windows}
spec:
  clusterName: blue
  template: {spec: {clusterName: blue, infrastructureRef: {kind: WindowsMachineTemplate, name: blue-windows}}}
`

// workloadToken is a bootstrap token as it stands in a workload cluster.
func workloadToken(id string) string {
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: bootstrap-token-" + id + ", namespace: kube-system}\n" +
		"type: bootstrap.kubernetes.io/token\nstringData: {token-id: fedcb" + id + ", token-secret: fedcba9876543210}\n"
}

func TestRefusals(t *testing.T) {
	for name, c := range refusals(t) {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "out")
			for _, args := range [][]string{{"plan"}, {"render", "-o", folder}} {
				got := call(t, c.objects, append(args, "-f", "-", "--machine", c.machine)...)
				if want := (ended{Code: exitRefused, Err: c.want + "\n"}); got != want {
					t.Errorf("%s: %s gives\n%d %q, want\n%d %q", c.reason, args[0], got.Code, got.Err, want.Code, want.Err)
				}
			}
			if _, err := os.Stat(folder); err == nil {
				t.Error("a folder is made for nothing")
			}
		})
	}
}

func TestFileThatIsNotThere(t *testing.T) {
	got := call(t, "", "plan", "-f", "testdata/none.yaml", "--machine", "m")
	if want := (ended{Code: exitRefused, Err: "open testdata/none.yaml: no such file or directory\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Whatever is made up is said, and nothing else is.
func TestNotes(t *testing.T) {
	const (
		made     = "note: Machine blue-windows-1 is not there yet: it is made as MachineDeployment default/blue-windows would make it\n"
		endpoint = "note: Cluster blue has no spec.controlPlaneEndpoint yet: that of VSphereCluster default/blue is used, 10.0.0.10:6443\n"
		token    = "note: there is no bootstrap token: sample.placeholdertoken stands in for it, with which no node joins\n"
		uids     = "note: Machine default/blue-windows-1 has no UID yet: d5d74958-3344-5fa1-b7fe-34c4df387a27 stands in for it, and the plan will differ in a real machine\n" +
			"note: WindowsMachine default/blue-windows-1 has no UID yet: 0511fb82-b721-5d3d-bb47-5e6506585efe stands in for it, and providerID and computer name will differ in a real machine\n"
	)
	cases := map[string]struct{ reason, objects, machine, want string }{
		"all there":  {"there is nothing to note", readText(t, machineFile), machineName, ""},
		"git":        {"there is no machine yet", readText(t, gitFile), "blue-windows-1", made + endpoint + token + uids},
		"git, token": {"one token is the machine's", readText(t, gitFile) + workloadToken("a"), "blue-windows-1", made + endpoint + uids},
		"no token":   {"of a machine too", without(t, machineFile, "  token: "), machineName, token},
		"provider ID is enough": {
			"nothing follows from the UID then", changed(t, machineFile, "    uid: 5c1b2a7e-7a06-4c3f-9d0e-1d5a3a0c6b42\n", ""), machineName, "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := call(t, c.objects, "plan", "-f", "-", "--machine", c.machine)
			if got.Code != exitDone || got.Err != c.want {
				t.Errorf("%s: got %d\n%s\nwant\n%s", c.reason, got.Code, got.Err, c.want)
			}
		})
	}
}

func TestNamespaceOfObjectsThatNameNone(t *testing.T) {
	got := call(t, readText(t, gitFile), "plan", "-f", "-", "--machine", "team-c/m", "-n", "team-c")
	if got.Code != exitDone || !strings.HasPrefix(got.Out, "Machine team-c/m of Cluster blue ") {
		t.Errorf("got %+v", got)
	}
}

// Of several pools the one counts whose machines are named so.
func TestDeploymentOfAName(t *testing.T) {
	both := readText(t, gitFile) + "---\n" + changed(t, gitFile, "name: blue-windows\n", "name: blue-windows-big\n", "name: blue\n", "name: red\n", "name: blue-ca", "name: red-ca",
		"clusterName: blue\n", "clusterName: red\n")
	for name, want := range map[string]string{
		"blue-windows": "blue", "blue-windows-x": "blue", "default/blue-windows-x": "blue", "blue-windows-big": "red", "blue-windows-big-x": "red", "blue-windows-bigger": "blue",
	} {
		got := call(t, both, "plan", "-f", "-", "--machine", name)
		if !strings.Contains(got.Out, " of Cluster "+want+" becomes") {
			t.Errorf("%s is of another cluster than %s: %s%s", name, want, got.Out[:min(80, len(got.Out))], got.Err)
		}
	}
}

func TestPlaceholderTokenHasTheForm(t *testing.T) {
	got := call(t, readText(t, gitFile), "plan", "-f", "-", "--machine", "m")
	if got.Code != exitDone || strings.Contains(got.Out, placeholderToken) {
		t.Errorf("got %+v", got)
	}
	if len(placeholderToken) != len(testToken) {
		t.Error("it is not of the form of a token")
	}
}
