package release

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// kubeVIP is where the kubelet finds its Pod, and kubeadmInit what cloud-init writes on the first machine of a control plane
// only.
const (
	kubeVIP     = "/etc/kubernetes/manifests/kube-vip.yaml"
	kubeadmInit = "/run/kubeadm/kubeadm.yaml"
)

// On the first machine of a control plane, kube-vip has the rights of super-admin.conf until kubeadm init is done, and on others
// those of admin.conf.
func TestRightsOfKubeVIP(t *testing.T) {
	t.Parallel()
	var plane controlplanev1.KubeadmControlPlane
	take(t, offline(t).generate("demo", "--flavor", "windows-vsphere"), "KubeadmControlPlane/demo", &plane)
	config := plane.Spec.KubeadmConfigSpec
	for begins, want := range map[string]string{
		kubeadmInit: "/etc/kubernetes/super-admin.conf", "/run/kubeadm/kubeadm-join-config.yaml": "/etc/kubernetes/admin.conf",
	} {
		root := t.TempDir()
		write := func(path, content string) {
			expect.OK(t, os.MkdirAll(filepath.Dir(root+path), 0o700))
			expect.OK(t, os.WriteFile(root+path, []byte(content), 0o600))
		}
		write(begins, "")
		for _, file := range config.Files {
			write(file.Path, file.Content)
		}
		for _, command := range config.PreKubeadmCommands {
			if strings.Contains(command, kubeVIP) {
				run(t, nil, "sh", "-e", "-c", strings.NewReplacer(kubeVIP, root+kubeVIP, kubeadmInit, root+kubeadmInit).Replace(command))
			}
		}
		var pod corev1.Pod
		expect.OK(t, yaml.UnmarshalStrict(expect.Got(os.ReadFile(root+kubeVIP))(t), &pod))
		expect.Same(t, "kubeconfig of the machine with "+begins, want, pod.Spec.Volumes[0].HostPath.Path)
		expect.Same(t, "its place in kube-vip", "/etc/kubernetes/admin.conf", pod.Spec.Containers[0].VolumeMounts[0].MountPath)
		expect.Same(t, "address", variables["CONTROL_PLANE_ENDPOINT_IP"], pod.Spec.Containers[0].Env[0].Value)
	}
}

// take reads one of the objects.
func take(t *testing.T, text, name string, into any) {
	t.Helper()
	object, ok := named(objectsIn(t, text))[name]
	if !ok {
		t.Fatalf("no %s", name)
	}
	expect.OK(t, yaml.UnmarshalStrict(expect.Got(yaml.Marshal(object))(t), into))
}

// In Azure the machines of the control plane have an identity for the cloud provider, and read the Secret that the Azure provider
// makes of their machine template. Workers have neither: every pod of theirs could act with the identity, and without one that
// Secret has the password of a service principal.
func TestAzureJSON(t *testing.T) {
	t.Parallel()
	all := named(objectsIn(t, offline(t).generate("demo", "--flavor", "windows-azure")))
	plane := all["KubeadmControlPlane/demo"]["spec"].(tree)
	template := plane["machineTemplate"].(tree)["spec"].(tree)["infrastructureRef"].(tree)["name"].(string)
	wantSecret(t, plane["kubeadmConfigSpec"].(tree), template, "control-plane-azure.json")
	pool := all["MachineDeployment/demo-linux"]["spec"].(tree)["template"].(tree)["spec"].(tree)
	config := all["KubeadmConfigTemplate/"+pool["bootstrap"].(tree)["configRef"].(tree)["name"].(string)]
	expect.Same(t, "files of Linux workers", nil, config["spec"].(tree)["template"].(tree)["spec"].(tree)["files"])
	for name, want := range map[string]any{template: "UserAssigned", pool["infrastructureRef"].(tree)["name"].(string): nil} {
		machine := all["AzureMachineTemplate/"+name]["spec"].(tree)["template"].(tree)["spec"].(tree)
		expect.Same(t, "identity of "+name, want, machine["identity"])
		expect.Same(t, "are there identities of "+name, want != nil, machine["userAssignedIdentities"] != nil)
	}
}

// The Azure provider's own flavors give a control plane 20 minutes. Cluster API wants the same for init and join.
func TestPatienceInAzure(t *testing.T) {
	t.Parallel()
	var plane controlplanev1.KubeadmControlPlane
	take(t, offline(t).generate("demo", "--flavor", "windows-azure"), "KubeadmControlPlane/demo", &plane)
	for name, timeouts := range map[string]bootstrapv1.Timeouts{
		"init": plane.Spec.KubeadmConfigSpec.InitConfiguration.Timeouts,
		"join": plane.Spec.KubeadmConfigSpec.JoinConfiguration.Timeouts,
	} {
		expect.Same(t, "seconds of "+name, any(new(int32(20*60))), any(timeouts.ControlPlaneComponentHealthCheckSeconds))
	}
}

// A VM has the disks that its template gives it: not each size has a temporary one, and cloud-init fails at a disk that is not
// there.
func TestFormattedDisksInAzure(t *testing.T) {
	t.Parallel()
	all := named(objectsIn(t, offline(t).generate("demo", "--flavor", "windows-azure")))
	var plane controlplanev1.KubeadmControlPlane
	take(t, offline(t).generate("demo", "--flavor", "windows-azure"), "KubeadmControlPlane/demo", &plane)
	machine := all["AzureMachineTemplate/"+plane.Spec.MachineTemplate.Spec.InfrastructureRef.Name]
	disks := machine["spec"].(tree)["template"].(tree)["spec"].(tree)["dataDisks"].([]any)
	var attached, formatted []string
	for _, disk := range disks {
		attached = append(attached, fmt.Sprintf("/dev/disk/azure/scsi1/lun%v", disk.(tree)["lun"]))
	}
	for _, filesystem := range plane.Spec.KubeadmConfigSpec.DiskSetup.Filesystems {
		formatted = append(formatted, filesystem.Device)
	}
	expect.Same(t, "disks with a filesystem", attached, formatted)
}

func wantSecret(t *testing.T, config tree, template, key string) {
	t.Helper()
	expect.Same(t, "files of "+template, any([]any{tree{
		"path": "/etc/kubernetes/azure.json", "owner": "root:root", "permissions": "0644",
		"contentFrom": tree{"secret": tree{"name": template + "-azure-json", "key": key}},
	}}), config["files"])
}
