package frontdoor

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// rotates changes the size of the Linux pool and that of the control plane in the Cluster's topology, as a user does: each new
// machine becomes a Node, once, the old one goes, and the Windows pool stays as it is.
func (w *world) rotates(m *management) {
	w.Helper()
	windows := w.windowsVMs()
	made, removed := w.counts()
	const topology, size = "the topology's ", "Standard_D4s_v5"
	pool := client.MatchingLabels{clusterv1.ClusterTopologyMachineDeploymentNameLabel: "linux"}
	w.rotate(m, topology+"linuxSize", pool, func() { w.setAzure(m, "linuxSize", size) })
	w.rotate(m, topology+"controlPlaneSize", controlPlane, func() { w.setAzure(m, "controlPlaneSize", size) })
	madeNow, removedNow := w.counts()
	expect.Same(w, "Windows VMs made and removed by the rotation", []int{made, removed}, []int{madeNow, removedNow})
	expect.Same(w, "Windows VMs after the rotation", windows, w.windowsVMs())
	w.assertAzureJSON(m)
}

var controlPlane = client.HasLabels{clusterv1.MachineControlPlaneLabel}

// rotate changes something, and waits until all machines with the labels are new, and their Nodes Ready.
func (w *world) rotate(m *management, what string, which client.ListOption, change func()) {
	w.Helper()
	begin := time.Now()
	_, api := w.demo().Workload()
	old := w.machines(m, which)
	seen := map[string]bool{}
	change()
	w.until("new machines after a change of "+what, func() (any, bool) {
		now := w.machines(m, which)
		ready := 0
		for _, one := range now {
			if slices.ContainsFunc(old, func(before clusterv1.Machine) bool { return before.Name == one.Name }) {
				continue
			}
			if !seen[one.Name] {
				seen[one.Name] = true
				w.tell("%s: Machine %s is made", what, one.Name)
			}
			node, err := api.CoreV1().Nodes().Get(w.Context(), one.Status.NodeRef.Name, metav1.GetOptions{})
			if err == nil && workload.CanCarry(*node) {
				ready++
			}
		}
		return now, ready == len(now) && len(now) == len(old)
	})
	w.tell("%s: %d new Linux Nodes are Ready, and as many gone, after %.1f s", what, len(old), time.Since(begin).Seconds())
	expect.Same(w, "machines made by a change of "+what, len(old), len(seen))
	for _, one := range old {
		w.until("the old Node to be gone", func() (any, bool) {
			_, err := api.CoreV1().Nodes().Get(w.Context(), one.Status.NodeRef.Name, metav1.GetOptions{})
			return err, apierrors.IsNotFound(err)
		})
		if w.vms.Find(one.Status.NodeRef.Name) != nil {
			w.Errorf("the VM of the old machine %s is left", one.Name)
		}
	}
}

func (w *world) machines(m *management, which client.ListOption) []clusterv1.Machine {
	w.Helper()
	var machines clusterv1.MachineList
	expect.OK(w, m.client.List(w.Context(), &machines, client.InNamespace(namespace), which))
	return machines.Items
}

// setAzure sets a field of the variable azure.
func (w *world) setAzure(m *management, field string, value any) {
	w.Helper()
	w.until("the topology to be taken", func() (any, bool) {
		var cluster clusterv1.Cluster
		expect.OK(w, m.client.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: "demo"}, &cluster))
		for i := range cluster.Spec.Topology.Variables {
			one := &cluster.Spec.Topology.Variables[i]
			if one.Name != "azure" {
				continue
			}
			fields := map[string]any{}
			expect.OK(w, json.Unmarshal(one.Value.Raw, &fields))
			fields[field] = value
			one.Value.Raw = expect.Got(json.Marshal(fields))(w)
		}
		err := m.client.Update(w.Context(), &cluster)
		return err, err == nil
	})
}

// assertAzureJSON: what the class writes for each machine of the control plane is what the Azure provider says in the Secret of
// the machine's template, but for what docs/decisions/020-azure-json-in-the-class.md names. A worker has no such file, and no
// identity.
func (w *world) assertAzureJSON(m *management) {
	w.Helper()
	read := func(text []byte) map[string]any {
		config := map[string]any{}
		expect.OK(w, json.Unmarshal(text, &config))
		return config
	}
	planes := 0
	for _, name := range w.vms.Names() {
		file, err := w.vms.Find(name).File(azureConfigFile)
		about := w.shell(m, "kubectl get azuremachine "+name+" -o jsonpath='{.metadata.labels} {.spec}'")
		if !strings.Contains(about, `"`+clusterv1.MachineControlPlaneLabel+`"`) {
			if !errors.Is(err, os.ErrNotExist) || strings.Contains(about, armsim.IdentityID) {
				w.Errorf("worker %s has azure.json, or an identity: %v\n%s\n%s", name, err, file, about)
			}
			continue
		}
		expect.OK(w, err)
		planes++
		template := w.shell(m, "kubectl get azuremachine "+name+
			` -o jsonpath='{.metadata.annotations.cluster\.x-k8s\.io/cloned-from-name}'`)
		var secret corev1.Secret
		key := client.ObjectKey{Namespace: namespace, Name: template + "-azure-json"}
		w.until("the Secret "+key.Name, func() (any, bool) {
			err := m.client.Get(w.Context(), key, &secret)
			return err, err == nil
		})
		want := read(secret.Data["control-plane-azure.json"])
		clientID := expect.Got(w.azure.ClientID(w.Context(), armsim.IdentityID))(w)
		expect.Same(w, "identity in the Secret", any(clientID), want["userAssignedIdentityID"])
		want["userAssignedIdentityID"] = armsim.IdentityID
		expect.Same(w, "tenant in the Secret", any(armsim.Tenant), want["tenantId"])
		delete(want, "tenantId")
		expect.Same(w, "load balancer in the Secret", any(""), want["loadBalancerName"])
		delete(want, "loadBalancerName")
		expect.Same(w, "azure.json of "+name, want, read(file))
	}
	if planes == 0 || planes == len(w.vms.Names()) {
		w.Errorf("of %d Linux VMs %d are of the control plane", len(w.vms.Names()), planes)
	}
}

// plainRotates: the Linux machines of the plain flavor get another size as the head of its file says.
func plainRotates(t *testing.T) {
	w := newWorld(t)
	w.inAzure()
	m := w.newManagement("management")
	variables := w.azureVariables()
	w.shell(m, servicePrincipal, variables...)
	const plain = "clusterctl generate cluster demo -i windows --flavor windows-azure"
	w.make(m, plain+" | kubectl apply -f -", variables)
	w.windowsPodRuns()
	windows := w.windowsVMs()
	for name, which := range map[string]client.ListOption{
		"demo-linux": client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: "demo-linux"}, "demo-control-plane": controlPlane,
	} {
		w.rotate(m, "the flavor's "+name, which, func() {
			file := filepath.Join(w.dir, name+"-2.yaml")
			whole := w.shell(m, plain, variables...)
			expect.OK(t, os.WriteFile(file, renamed(t, whole, name), 0o600))
			w.shell(m, "kubectl apply -f "+file)
		})
	}
	expect.Same(t, "Windows VMs after the rotation", windows, w.windowsVMs())
	w.deletes(m)
}

// renamed has another name for a machine template, its Secret and the bootstrap that reads that, and another size.
func renamed(t *testing.T, manifest, name string) []byte {
	t.Helper()
	var kept [][]byte
	for _, object := range objects(t, manifest) {
		text := string(expect.Got(sigsyaml.Marshal(object.Object))(t))
		if !strings.Contains(text, name) {
			continue
		}
		own := object.GetKind() == "MachineDeployment"
		text = strings.ReplaceAll(text, name, name+"-2")
		if own {
			text = strings.Replace(text, "\n  name: "+name+"-2\n", "\n  name: "+name+"\n", 1)
		}
		kept = append(kept, []byte(strings.ReplaceAll(text, "vmSize: Standard_D2s_v5", "vmSize: Standard_D4s_v5")))
	}
	return bytes.Join(kept, []byte("---\n"))
}
