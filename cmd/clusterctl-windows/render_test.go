package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// inputOf returns what a controller has for a Machine of Cluster blue, whose WindowsMachine it has identified.
func inputOf(t *testing.T, windows *infrav1.WindowsMachine, uid types.UID) bootstrap.Input {
	t.Helper()
	identity := expect.Got(vsphere.Provider{}.Identify(windows))(t)
	windows.Spec.ProviderID, windows.Status.ComputerName = identity.ProviderID, identity.Name
	return bootstrap.Input{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: windows.Namespace, Name: "blue"},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.10", Port: 6443}},
		},
		Machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: windows.Namespace, Name: windows.Name, UID: uid},
			Spec:       clusterv1.MachineSpec{ClusterName: "blue", Version: "v1.36.3"},
		},
		WindowsMachine: windows,
		Config:         &bootstrapv1.WindowsBootstrapConfig{},
		ClusterCA:      []byte(readText(t, "../../bootstrap/testdata/ca.crt")),
	}
}

// ofController returns what the controller renders from the objects in testdata/machine.yaml.
func ofController(t *testing.T) []byte {
	t.Helper()
	const providerID = "vsphere://420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11"
	in := inputOf(t, &infrav1.WindowsMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: machineName},
		Spec: infrav1.WindowsMachineSpec{
			ProviderID: providerID, VSphere: &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384},
		},
	}, "0b6f2f0e-52b0-4a5c-9d53-2f1f3f7f9d10")
	in.WindowsMachine.Spec.ProviderID = providerID
	in.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"example.com/pool": "blue"}
	in.Token = testToken
	userData := expect.Got(bootstrap.Render(in))(t)
	return userData.Bytes()
}

// A machine that is made from templates gets the same user data as a Machine with these UIDs.
func TestMachineOfTemplatesGetsTheSame(t *testing.T) {
	in := inputOf(t, &infrav1.WindowsMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "blue-windows-1", UID: "0511fb82-b721-5d3d-bb47-5e6506585efe"},
		Spec:       infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}},
	}, "d5d74958-3344-5fa1-b7fe-34c4df387a27")
	in.Config.Spec.BootstrapDeadlineSeconds = 1500
	in.Token = sampleToken
	want := expect.Got(bootstrap.Render(in))(t)
	files := rendered(t, t.TempDir(), readText(t, gitFile), "--machine", "blue-windows-1", "--show-secrets")
	if files["userdata"] != string(want.Bytes()) {
		t.Error("userdata is not what the controller would make")
	}
	name := in.WindowsMachine.Status.ComputerName
	if !strings.Contains(files["metadata"], name) {
		t.Errorf("metadata is %s", files["metadata"])
	}
}

func rendered(t *testing.T, folder, stdin string, args ...string) map[string]string {
	t.Helper()
	got := call(t, stdin, append([]string{"render", "-f", "-", "-o", folder}, args...)...)
	if got.Code != exitDone {
		t.Fatal(got.Err)
	}
	entries := expect.Got(os.ReadDir(folder))(t)
	files := map[string]string{}
	for _, entry := range entries {
		files[entry.Name()] = readText(t, filepath.Join(folder, entry.Name()))
	}
	return files
}

func TestRenderWritesWhatTheGuestSees(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made", "anew")
	files := rendered(t, folder, readText(t, machineFile), "--machine", machineName, "--show-secrets")
	want := ofController(t)
	if files["userdata"] != string(want) {
		t.Error("userdata is not what the controller makes")
	}
	names := `{"instance-id":"420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11","local-hostname":"blue-9pr28t2qb2"}`
	if files["metadata"] != names {
		t.Errorf("metadata is %s, want %s", files["metadata"], names)
	}
	inside := expect.Got(scripts.Plan(want))(t)
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(files["node.json"])); err != nil || compact.String() != string(inside) {
		t.Errorf("node.json in clear is not the plan in userdata (%v)", err)
	}
	if len(files) != 3 {
		t.Errorf("%d files are written, want 3", len(files))
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	for _, file := range []string{machineFile, gitFile} {
		first := rendered(t, t.TempDir(), readText(t, file), "--machine", machineName)
		second := rendered(t, t.TempDir(), readText(t, file), "--machine", machineName)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s gives other files the second time:\n%s", file, diff)
		}
	}
}

func TestRenderMasksSecrets(t *testing.T) {
	files := rendered(t, t.TempDir(), readText(t, machineFile), "--machine", machineName)
	node := files["node.json"]
	if strings.Contains(node, testSecret) || strings.Contains(node, "abcdef.") || !strings.Contains(node, bootstrap.MaskedToken) {
		t.Error("the token in node.json is not masked")
	}
	plain := rendered(t, t.TempDir(), readText(t, machineFile), "--machine", machineName, "--show-secrets")
	hidden := strings.ReplaceAll(plain["node.json"], testToken, bootstrap.MaskedToken)
	if strings.ReplaceAll(hidden, testSecret, strings.TrimPrefix(bootstrap.MaskedToken, "hidden.")) != node {
		t.Error("more than the token is masked")
	}
	if plain["userdata"] != string(ofController(t)) {
		t.Error("with the flag, userdata is not what the guest gets")
	}
	var compact bytes.Buffer
	expect.OK(t, json.Compact(&compact, []byte(node)))
	if string(expect.Got(scripts.Plan([]byte(files["userdata"])))(t)) != compact.String() {
		t.Error("userdata does not have the plan of node.json")
	}
}

// A file that was there before may be readable by others.
func TestRenderReplacesItsFilesOnly(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"userdata", "metadata", "node.json", "notes.txt"} {
		//nolint:gosec // because the case needs a file that all users can read
		expect.OK(t, os.WriteFile(filepath.Join(folder, name), []byte("old"), 0o644))
	}
	files := rendered(t, folder, readText(t, machineFile), "--machine", machineName)
	if files["notes.txt"] != "old" || len(files) != 4 {
		t.Errorf("other files are touched, or left behind: %d files", len(files))
	}
	for _, name := range []string{"userdata", "metadata", "node.json"} {
		stat, err := os.Stat(filepath.Join(folder, name))
		if err != nil || stat.Mode().Perm() != 0o600 || files[name] == "old" {
			t.Errorf("%s: mode %v, %v; want it anew with 0600", name, stat.Mode(), err)
		}
	}
	files = rendered(t, folder, onAzure(t), "--machine", machineName)
	if _, left := files["metadata"]; left {
		t.Error("the metadata of another machine is left beside a machine that has none")
	}
}

// onAzure returns a machine in Azure, which has its identity already.
func onAzure(t *testing.T) string {
	t.Helper()
	return changed(t, machineFile,
		"vsphere://420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11", "azure:///subscriptions/11111111-2222-3333-4444-555555555555/"+
			"resourceGroups/group/providers/Microsoft.Compute/virtualMachines/win-1",
		"    vsphere:\n", "    azure:\n",
		"      datacenter: dc\n      image:\n        template: windows-2022\n      cpus: 4\n      memoryMiB: 16384\n",
		azureFields("      ")+"  status:\n    computerName: win-1\n")
}

// azureFields are those of a VM in Azure that needs no AzureCluster, without the credentials.
func azureFields(indent string) string {
	var text string
	for _, field := range []string{
		"subscriptionID: 11111111-2222-3333-4444-555555555555", "resourceGroup: group", "location: westeurope",
		"vmSize: Standard_D4s_v5", "image: {communityGallery: {gallery: images, name: ws2022}}",
		"networkInterfaces: [{name: node, subnet: {id: /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/group/" +
			"providers/Microsoft.Network/virtualNetworks/net/subnets/nodes}}]",
	} {
		text += indent + field + "\n"
	}
	return text
}

func TestRenderSaysWhatItWrote(t *testing.T) {
	folder := t.TempDir()
	got := call(t, "", "render", "-f", machineFile, "--machine", machineName, "-o", folder)
	for _, want := range []string{"userdata: ", "metadata: 89 bytes, ", "node.json: ", "secrets masked"} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("%q does not say %q", got.Out, want)
		}
	}
	if got.Err != "" {
		t.Errorf("there are notes without a reason: %q", got.Err)
	}
}

func TestRenderIntoAFile(t *testing.T) {
	got := call(t, "", "render", "-f", machineFile, "--machine", machineName, "-o", machineFile)
	if got.Code != exitRefused || !strings.Contains(got.Err, "not a directory") {
		t.Errorf("got %+v", got)
	}
}
