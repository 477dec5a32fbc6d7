package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refusals has a case for everything that can be wrong with the objects, with the whole error message.
func refusals(t *testing.T) map[string]struct{ reason, objects, machine, want string } {
	const machine, vm = "Machine team-a/" + machineName, "WindowsMachine team-a/" + machineName
	const missing, add = " is not in standard input; ", "add the output of: kubectl get "
	const use = "use such a name with --machine, or "
	all, git := readText(t, machineFile), readText(t, gitFile)
	return map[string]struct{ reason, objects, machine, want string }{
		"unknown machine": {
			"the name may be misspelled", all, "blue-windows",
			"cannot find Machine blue-windows in standard input, which has Machines team-a/" + machineName + "; " +
				use + add + "machine blue-windows -n NAMESPACE -o yaml",
		},
		"machine of another namespace": {
			"a namespace in the name must match", all, "team-b/" + machineName,
			"cannot find Machine team-b/" + machineName + " in standard input, which has Machines team-a/" + machineName + "; " +
				use + add + "machine " + machineName + " -n team-b -o yaml",
		},
		"unknown among deployments": {
			"with two pools, the name must show which one is meant",
			changed(t, gitFile, "name: blue-windows\n", "name: green\n") + "---\n" + git, "x",
			"cannot find Machine x in standard input, which has MachineDeployment default/green, whose machines are named green-...; " +
				"MachineDeployment default/blue-windows, whose machines are named blue-windows-...; " +
				use + add + "machine x -n NAMESPACE -o yaml",
		},
		"machine twice": {
			"the program must not guess which one is meant",
			all + "---\n" + changed(t, machineFile, "team-a", "team-b"), machineName,
			"standard input has several Machines of this name: team-a/" + machineName + ", team-b/" + machineName +
				"; use --machine NAMESPACE/NAME, and keep each Machine once",
		},
		"all but the machine missing": {
			"all missing objects are named at once", without(t, machineFile, "kind: Cluster\n", "kind: List", "blue-ca"), machineName,
			vm + missing + add + "windowsmachine " + machineName + " -n team-a -o yaml\n" +
				"WindowsBootstrapConfig team-a/" + machineName + missing +
				add + "windowsbootstrapconfig " + machineName + " -n team-a -o yaml\n" +
				"Cluster team-a/blue" + missing + add + "cluster blue -n team-a -o yaml",
		},
		"templates missing": {
			"a MachineDeployment needs its templates",
			without(t, gitFile, "kind: WindowsMachineTemplate\nmetadata", "kind: WindowsBootstrapConfigTemplate\nmetadata"), "m",
			"WindowsMachineTemplate default/blue-windows" + missing + add + "windowsmachinetemplate blue-windows -n default -o yaml\n" +
				"WindowsBootstrapConfigTemplate default/blue-windows" + missing +
				add + "windowsbootstrapconfigtemplate blue-windows -n default -o yaml",
		},
		"CA without a certificate": {
			"a node must be able to verify its cluster", changed(t, machineFile, "tls.crt:", "ca.crt:"), machineName,
			"Secret team-a/blue-ca has no value for the key tls.crt; set it to the cluster's CA in PEM",
		},
		"other infrastructure": {
			"Linux machines are in the same files",
			changed(t, machineFile, "    kind: WindowsMachine\n    name", "    kind: VSphereMachine\n    name"), machineName,
			machine + `: spec.infrastructureRef.kind is "VSphereMachine" (` + machineName +
				"), but a Windows machine needs a WindowsMachine; write apiGroup, kind and name of one",
		},
		"other bootstrap": {
			"KubeadmConfigs make Linux nodes",
			changed(t, machineFile, "      kind: WindowsBootstrapConfig\n", "      kind: KubeadmConfig\n"), machineName,
			machine + `: spec.bootstrap.configRef.kind is "KubeadmConfig" (` + machineName +
				"), but a Windows machine needs a WindowsBootstrapConfig; write apiGroup, kind and name of one",
		},
		"no bootstrap in the deployment": {
			"it would make machines without user data",
			without(t, gitFile, "kind: MachineDeployment") + "---\n" + deploymentWithoutConfig, "m",
			"MachineDeployment default/blue-windows: spec.template.spec.bootstrap.configRef does not refer to a " +
				"WindowsBootstrapConfigTemplate, which it needs; write its apiGroup, kind and name",
		},
		"no name for a machine": {
			"the API server would refuse it", git, "Blue_1",
			`"Blue_1" is not a valid name for a Machine: a lowercase RFC 1123 subdomain must consist of lower case ` +
				`alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character ` +
				`(e.g. 'example.com')`,
		},
		"control plane": {
			"the controller refuses it too",
			changed(t, machineFile, "  uid: 0b6f2f0e", "  labels: {cluster.x-k8s.io/control-plane: \"\"}\n  uid: 0b6f2f0e"), machineName,
			"WindowsBootstrapConfig team-a/" + machineName + ": Machine " + machineName +
				" is a control-plane machine; control planes run on Linux: remove cluster.x-k8s.io/control-plane from its " +
				"metadata.labels",
		},
		"a name that Windows does not accept": {
			"a person wrote the status",
			changed(t, machineFile, "      cpus: 4\n      memoryMiB: 16384\n",
				"      cpus: 4\n      memoryMiB: 16384\n  status: {computerName: WIN_1}\n"), machineName,
			"render team-a/" + machineName + `: status.computerName of the WindowsMachine is "WIN_1", but must have at most 15 ` +
				"characters of a-z, 0-9 and -, and begin and end with a letter or digit; remove it, and it is computed",
		},
		"two clouds": {
			"a rule of the API server", changed(t, machineFile, "    vsphere:\n",
				"    azure:\n"+azureFields("      ")+"    vsphere:\n"), machineName,
			vm + `: spec: has azure and vsphere; set exactly one of spec.vsphere and spec.azure`,
		},
		"a misspelt field": {
			"the API server would silently drop it", changed(t, machineFile, "cpus: 4", "cpu: 4"), machineName,
			vm + `: unknown field "spec.vsphere.cpu"; did you mean "spec.vsphere.cpus"?`,
		},
		"broken YAML": {
			"the place is named", all + "---\na: [", machineName,
			"standard input: document 6, line 78: not valid YAML: did not find expected node content",
		},
		"several tokens": {
			"the program must not guess which one is the machine's",
			without(t, machineFile, "  token: ") + workloadToken("a") + workloadToken("b"), machineName,
			"standard input has 2 Secrets of type bootstrap.kubernetes.io/token; keep only the machine's own",
		},
		"a token with a line end": {
			"kubeadm would refuse it on the node", without(t, machineFile, "  token: ") + workloadToken("a\n"), machineName,
			"Secret kube-system/bootstrap-token-a: the bootstrap token is not of the form ID.SECRET, 6 and 16 characters of a-z and " +
				"0-9 without blanks and line ends; correct it, or remove the Secret from the files to use a placeholder",
		},
		"a provider ID of another cloud": {
			"a rule of the API says so", changed(t, machineFile, "vsphere://420f", "azure://420f"), machineName,
			vm + ": spec.providerID: providerID of a vSphere VM must be vsphere:// followed by a lowercase UUID; remove it: the " +
				"controller sets it",
		},
		"an endpoint of the infrastructure that cannot be read": {
			"the program does not guess", changed(t, gitFile, "port: 6443", "port: many"), "m",
			"VSphereCluster default/blue: spec.controlPlaneEndpoint.port: must be a whole number that is not too large, not a text",
		},
		"a label that a kubelet may not have": {
			"a rule of the API server", changed(t, machineFile, "example.com/pool: blue", "kubernetes.io/os: blue"), machineName,
			"WindowsBootstrapConfig team-a/" + machineName + ": spec.node.labels: a kubelet must not set labels of kubernetes.io " +
				"and k8s.io on its own node, but for those under node.kubernetes.io/; use such a name, or set them in " +
				"metadata.labels of the Machine, from where Cluster API copies them to the node",
		},
	}
}

const deploymentWithoutConfig = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: blue-windows}
spec:
  clusterName: blue
  selector: {}
  template:
    spec:
      clusterName: blue
      bootstrap: {dataSecretName: bought}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachineTemplate, name: blue-windows}
`

// workloadToken returns the Secret of a bootstrap token, as in a workload cluster.
func workloadToken(id string) string {
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: bootstrap-token-" + strings.TrimSpace(id) +
		", namespace: kube-system}\ntype: bootstrap.kubernetes.io/token\n" +
		fmt.Sprintf("stringData: {token-id: %q, token-secret: fedcba9876543210}\n", "fedcb"+id)
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
				t.Error("the output folder was created")
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

// All placeholders have one note, and there are no other notes.
func TestNotes(t *testing.T) {
	const (
		made = "note: Machine blue-windows-1 does not exist yet; this is how MachineDeployment " +
			"default/blue-windows would make it\n"
		endpoint = "note: Cluster blue has no spec.controlPlaneEndpoint yet; using 10.0.0.10:6443 from VSphereCluster default/blue\n"
		token    = "the bootstrap token"
		uids     = "the UID of the Machine; the UID of the WindowsMachine, and the computer name and provider ID computed from it\n"
	)
	cases := map[string]struct{ reason, objects, machine, want string }{
		"all there": {"nothing is missing", readText(t, machineFile), machineName, ""},
		"git": {
			"there is no machine yet", readText(t, gitFile), "blue-windows-1",
			made + endpoint + standIns + token + "; " + uids,
		},
		"git, token": {
			"a single token must be the machine's", readText(t, gitFile) + workloadToken("a"), "blue-windows-1",
			made + endpoint + standIns + uids,
		},
		"no token": {
			"a Machine without a token gets the placeholder, too", without(t, machineFile, "  token: "), machineName,
			standIns + token + "\n",
		},
		"no CA": {
			"a review has no Secrets of the cluster", without(t, machineFile, "blue-ca"), machineName,
			standIns + "the cluster's CA in Secret team-a/blue-ca\n",
		},
		"an expired CA": {
			"no node would join", without(t, machineFile, "blue-ca") + expiredCA, machineName,
			"note: the certificate \"old\" in Secret team-a/blue-ca, key tls.crt, expired on 2001-01-01: a node cannot join with " +
				"it alone; renew the cluster's CA\n",
		},
		"provider ID is enough": {
			"nothing is computed from the UID then", changed(t, machineFile, "    uid: 5c1b2a7e-7a06-4c3f-9d0e-1d5a3a0c6b42\n", ""),
			machineName, "",
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

// The name of a machine says which one of several pools it belongs to.
func TestDeploymentOfAName(t *testing.T) {
	both := readText(t, gitFile) + "---\n" + changed(t, gitFile, "name: blue-windows\n", "name: blue-windows-big\n",
		"name: blue\n", "name: red\n", "name: blue-ca", "name: red-ca",
		"clusterName: blue\n", "clusterName: red\n")
	for name, want := range map[string]string{
		"blue-windows": "blue", "blue-windows-x": "blue", "default/blue-windows-x": "blue", "blue-windows-big": "red",
		"blue-windows-big-x": "red", "blue-windows-bigger": "blue",
	} {
		got := call(t, both, "plan", "-f", "-", "--machine", name)
		if !strings.Contains(got.Out, " of Cluster "+want+" becomes") {
			t.Errorf("%s is of another cluster than %s: %s%s", name, want, got.Out[:min(80, len(got.Out))], got.Err)
		}
	}
}

func TestPlaceholderTokenHasTheForm(t *testing.T) {
	got := call(t, readText(t, gitFile), "plan", "-f", "-", "--machine", "m")
	if got.Code != exitDone || strings.Contains(got.Out, sampleToken) {
		t.Errorf("got %+v", got)
	}
	if len(sampleToken) != len(testToken) {
		t.Error("it is not of the form of a token")
	}
}
