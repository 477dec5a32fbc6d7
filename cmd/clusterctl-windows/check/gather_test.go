package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

const vSphere = "vsphere"

func filesOf(t *testing.T, text string) *objects.Set {
	t.Helper()
	return expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t)
}

// inRed puts all objects of files into the namespace red.
func inRed(text string) string {
	return strings.ReplaceAll(text, "metadata: {name: ", "metadata: {namespace: red, name: ")
}

// login is a Secret for vCenter, whose form nothing reads before the vCenter is asked.
var login = secret("vcenter", map[string]string{"server": "vcenter.test"})

// TestGatherRefuses: files of which no machine can be made are refused, in words, before a cloud is asked.
func TestGatherRefuses(t *testing.T) {
	good := inVSphere(1) + login
	for name, c := range map[string]struct{ cloud, machine, files, want string }{
		"good":           {vSphere, "", good, "<nil>"},
		"the one of two": {vSphere, "red/blue-windows-1", good + "---\n" + inRed(good), "<nil>"},
		"the only of two": {vSphere, "", good + "---\n" + inRed(good), "--machine NAME is missing, and the files have several " +
			"machines: MachineDeployment default/blue-windows, whose machines are named blue-windows-...; MachineDeployment " +
			"red/blue-windows, whose machines are named blue-windows-..."},
		"no such machine": {vSphere, "green", good + "---\n" + inRed(good), "cannot find Machine green in standard input, which " +
			"has MachineDeployment default/blue-windows, whose machines are named blue-windows-...; MachineDeployment red/blue-windows, " +
			"whose machines are named blue-windows-...; use such a name with --machine, or add the output of: kubectl get machine " +
			"green -n NAMESPACE -o yaml"},
		"what no API server takes": {vSphere, "", strings.Replace(good, "folder:", "foldr:", 1), "WindowsMachineTemplate " +
			`default/blue: unknown field "spec.template.spec.vsphere.foldr"; did you mean "spec.template.spec.vsphere.folder"?`},
		"what no controller takes": {vSphere, "", strings.Replace(good, "{template: "+vcenter.Template+"}", "{}", 1), "Windows" +
			"Machine default/blue-windows-1: spec.vsphere.image.template is not set, but a VM needs it; set it in a new " +
			"WindowsMachineTemplate, or in a patch of the ClusterClass, and use that in the MachineDeployment, which then replaces its " +
			"machines"},
		"a pool in vCenter": {"azure", "", good, "WindowsMachine default/blue-windows-1 has no spec.azure, so there is no Azure to " +
			"check"},
		"a pool in Azure": {vSphere, "", pool(1, whole("")), "WindowsMachine default/blue-windows-1 has no spec.vsphere, so there is " +
			"no vCenter to check"},
		"a login twice": {vSphere, "", good + login, "Secret default/vcenter exists 2 times; keep only one: standard input: " +
			"document 4, line 33; standard input: document 5, line 39"},
	} {
		_, err := Gather(filesOf(t, c.files), c.cloud, c.machine, Options{})
		expect.Same(t, name, c.want, fmt.Sprint(err))
	}
}

// TestMissingSecret: the Secret that may come from the management cluster is the one that the spec names and the files lack. Of
// files that Gather refuses it says nothing.
func TestMissingSecret(t *testing.T) {
	none := inVSphere(1)
	for name, c := range map[string]struct{ machine, files, want string }{
		"not there":                {"", none, "default/vcenter true"},
		"of one of two":            {"red/blue-windows-1", none + login + "---\n" + inRed(none), "red/vcenter true"},
		"there":                    {"", none + login, "default/vcenter false"},
		"there twice":              {"", none + login + login, "default/vcenter false"},
		"of no identity":           {"", pool(1, whole("")), "/ false"},
		"of an identity of Azure":  {"", pool(1, whole(anIdentity)), "/ false"},
		"of which of two machines": {"", none + "---\n" + inRed(none), "/ false"},
		"of a machine not there":   {"green", none + "---\n" + inRed(none), "/ false"},
		"of no template": {
			"", strings.Replace(none, "kind: WindowsMachineTemplate\nmeta", "kind: Other\nmeta", 1), "/ false",
		},
	} {
		key, missing := MissingSecret(filesOf(t, c.files), c.machine)
		expect.Same(t, name, c.want, fmt.Sprint(key, " ", missing))
	}
}

// TestClusterElsewhere: a pool in another cloud than its Cluster is a note, and the cause of what the spec lacks then.
func TestClusterElsewhere(t *testing.T) {
	asApp(t)
	const cluster = "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: blue}\nspec:\n" +
		"  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: blue}\n"
	lacks := strings.Replace(whole(""), "        subscriptionID: "+armsim.Subscription+"\n", "", 1)
	target := expect.Got(Gather(filesOf(t, pool(1, lacks)+cluster), "azure", "", Options{}))(t)
	const note = "Cluster default/blue is on vSphere (VSphereCluster blue), but spec.azure makes the VM on another cloud. Such a " +
		"node joins only if it reaches the API server and the pods of the others from there; if the pool belongs to the Cluster's " +
		"own cloud, write spec.vsphere in the place of spec.azure"
	expect.Same(t, "notes", []string{note}, target.Notes)
	found, err := target.Run(t.Context(), nil)
	expect.Same(t, "findings", 0, len(found))
	expect.Same(t, "refusal", note+". Otherwise: spec.azure.subscriptionID is not set, but a VM needs it; set it in a new "+
		"WindowsMachineTemplate, or in a patch of the ClusterClass, and use that in the MachineDeployment, which then replaces its "+
		"machines", fmt.Sprint(err))
}
