package release

import (
	"encoding/json"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

const linuxTemplates = "vspheremachinetemplates"

// wantTemplatesDisk asks for the disk of the Linux template, which the vSphere provider keeps where the field is not there
// (v1.16.1, pkg/services/govmomi/vcenter/clone.go, getDiskConfigSpec). Its kinds refuse 0, which the plain flavor hands on.
func (u user) wantTemplatesDisk(management *servers.Management) {
	u.t.Helper()
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere", "VSPHERE_LINUX_DISK_GIB": "0"}
	u.kubectl(management, []byte(u.clusterAlone("unsized")), "apply", "-f", "-")
	u.reconciled(management, "unsized")
	said := u.refused(management, u.generate("unsized", "--flavor", "windows-vsphere"), "apply", "--dry-run=server", "-f", "-")
	wantIn(u.t, said, "diskGiB: Invalid value: 0")
	wait.Until(u.t, "the Linux templates of the class", func() (any, bool) {
		made := u.kubectl(management, nil, "get", linuxTemplates, "-l", "cluster.x-k8s.io/cluster-name=unsized", "-o", "json")
		return string(made), len(disksOf(u, made)) == 2
	})
	made := u.kubectl(management, nil, "get", linuxTemplates, "-l", "cluster.x-k8s.io/cluster-name=unsized", "-o", "json")
	expect.Same(u.t, "disks of the class", []any{nil, nil}, disksOf(u, made))
}

// disksOf the VSphereMachineTemplates in a list; nil where the template of the VMs decides.
func disksOf(u user, list []byte) (disks []any) {
	u.t.Helper()
	var objects struct{ Items []tree }
	expect.OK(u.t, json.Unmarshal(list, &objects))
	for _, object := range objects.Items {
		if object["kind"] == "VSphereMachineTemplate" {
			disks = append(disks, object["spec"].(tree)["template"].(tree)["spec"].(tree)["diskGiB"])
		}
	}
	return disks
}

// wantOneLogin: the vSphere provider deletes the Secret of its login with the Cluster, whoever else names it (v1.16.1,
// controllers/vspherecluster_reconciler.go, reconcileDelete). So that of the Cluster's name is the only one that a class or a
// plain flavor can give it, and no pool of another Cluster gets that.
func (u user) wantOneLogin(management *servers.Management) {
	u.t.Helper()
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere", "VSPHERE_CREDENTIALS_SECRET": "other"}
	own := u.clusterAlone("own")
	cluster := named(objectsIn(u.t, own))["Cluster/own"]
	chosen := cluster["spec"].(tree)["topology"].(tree)["variables"].([]any)
	chosen[0].(tree)["value"].(tree)["credentials"] = "other"
	said := u.refused(management, string(expect.Got(json.Marshal(cluster))(u.t)), "apply", "-f", "-")
	wantIn(u.t, said, "spec.topology.variables[vsphere]", `"credentials" field(s) are not specified`)
	u.kubectl(management, []byte(own), "apply", "-f", "-")
	u.reconciled(management, "own")
	const path = "-o=jsonpath={.items[*].spec.identityRef.name}{.items[*].spec.template.spec.identityRef.name}"
	for _, kind := range []string{"vsphereclusters", "windowsmachinetemplates"} {
		got := u.kubectl(management, nil, "get", kind, "-l", "cluster.x-k8s.io/cluster-name=own", path)
		expect.Same(u.t, "login of "+kind, "own", string(got))
	}
	plain := named(objectsIn(u.t, u.generate("own", "--flavor", "windows-vsphere")))
	expect.Same(u.t, "login of the plain flavor", any(tree{"kind": "Secret", "name": "own"}),
		plain["VSphereCluster/own"]["spec"].(tree)["identityRef"])
	machines := plain["WindowsMachineTemplate/own-windows"]["spec"].(tree)["template"].(tree)["spec"].(tree)
	expect.Same(u.t, "login of its Windows machines",
		any(tree{"kind": "Secret", "name": "own-windows-vsphere"}), machines["identityRef"])
}
