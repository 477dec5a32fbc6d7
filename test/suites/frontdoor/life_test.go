package frontdoor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

func readFile(name string) ([]byte, error) { return os.ReadFile(name) }

// gone is called before a cloud removes a VM.
func (w *world) gone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removed++
}

func (w *world) counts() (made, removed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made, w.removed
}

// windowsVMs are those that the cloud has.
func (w *world) windowsVMs() (names []string) {
	w.Helper()
	if w.azure != nil {
		return w.azure.windowsVMs()
	}
	for name, ref := range w.vsphere.Owner(w.T).All() {
		if name != vcenter.Template && !w.vsphere.isLinux(context.Background(), ref.Value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// windowsMachines are the names of the pool's machines, with their phases.
func (w *world) windowsMachines(m *management) map[string]string {
	w.Helper()
	var machines infrav1.WindowsMachineList
	expect.OK(w, m.client.List(w.Context(), &machines, client.InNamespace(namespace)))
	phases := map[string]string{}
	for _, one := range machines.Items {
		phases[one.Name] = string(one.Status.Phase)
	}
	return phases
}

// The commands before and after a move, of docs/day-two.md. clusterctl may make HelmReleaseProxies before the Cluster of a class,
// and the add-on provider (v0.6.4, helmchartproxy_controller_phases.go, deleteOrphanedHelmReleaseProxies) would delete them as
// those of no Cluster, and make others.
const (
	pauseAddons  = "kubectl annotate helmchartproxies,helmreleaseproxies --all --overwrite cluster.x-k8s.io/paused=true"
	resumeAddons = "kubectl annotate helmchartproxies,helmreleaseproxies --all cluster.x-k8s.io/paused-"
)

// movesThereAndBack moves the cluster to a second management cluster, and restores it from a backup of that into the first, as
// docs/day-two.md says: no VM is made, none is removed. A machine that is deleted right after goes, and another one comes.
func (w *world) movesThereAndBack(first *management) *management {
	w.Helper()
	second := w.newManagement("second")
	vms, linux := w.windowsVMs(), w.vms.Names()
	made, removed := w.counts()
	addons, releases, pods := w.addons(first), w.releases(), w.pods()
	for i, way := range [][2]*management{{first, second}, {second, first}} {
		begin, restored := time.Now(), i == 1
		if restored {
			w.restore(way[0], way[1])
		} else {
			w.shell(way[0], pauseAddons+"\nclusterctl move --to-kubeconfig "+way[1].KubeconfigFile)
		}
		w.shell(way[1], resumeAddons)
		w.until("the machines to be known after the move", func() (any, bool) {
			phases := slices.Collect(maps.Values(w.windowsMachines(way[1])))
			return phases, len(phases) == 1 && phases[0] == string(infrav1.PhaseRunning)
		})
		w.assertMachines(way[1])
		w.tell("moved in %.1f s, from a backup: %t", time.Since(begin).Seconds(), restored)
		expect.Same(w, "add-ons after the move", addons, w.addons(way[1]))
		if !restored {
			expect.Same(w, "Windows machines in both clusters", 0, len(w.windowsMachines(way[0])))
			expect.Same(w, "add-ons in both clusters", 0, len(w.addons(way[0])))
		}
		w.addonsHold(way[1])
		expect.Same(w, "Helm's releases in the cluster after the move", releases, w.releases())
		expect.Same(w, "pods after the move", pods, w.pods())
	}
	madeNow, removedNow := w.counts()
	expect.Same(w, "Windows VMs made and removed by the move", []int{made, removed}, []int{madeNow, removedNow})
	expect.Same(w, "Windows VMs after the move", vms, w.windowsVMs())
	expect.Same(w, "Linux VMs after the move", linux, w.vms.Names())

	var machines clusterv1.MachineList
	expect.OK(w, first.client.List(w.Context(), &machines, client.InNamespace(namespace)))
	for i := range machines.Items {
		if machines.Items[i].Spec.InfrastructureRef.Kind == "WindowsMachine" {
			expect.OK(w, first.client.Delete(w.Context(), &machines.Items[i]))
		}
	}
	w.until("the VM of the deleted machine to go, and another to come", func() (any, bool) {
		now := w.windowsVMs()
		return now, len(now) == 1 && now[0] != vms[0]
	})
	return first
}

// restore backs the cluster up, loses its management cluster, and restores it into another one.
func (w *world) restore(from, into *management) {
	w.Helper()
	folder := filepath.Join(w.dir, "backup")
	w.shell(from, pauseAddons+"\nmkdir "+folder+"\nclusterctl move --to-directory "+folder)
	from.stop()
	expect.OK(w, from.Stop())
	w.shell(into, "clusterctl move --from-directory "+folder+" --to-kubeconfig "+into.KubeconfigFile)
}

// addons are the objects of a management cluster that bring add-ons into the cluster, with what they read.
func (w *world) addons(m *management) []string {
	w.Helper()
	names := w.shell(m, "kubectl get helmchartproxies,helmreleaseproxies,clusterresourcesets,clusterresourcesetbindings,"+
		"configmaps,secrets -o name 2> /dev/null")
	return slices.DeleteFunc(slices.Sorted(strings.FieldsSeq(names)), func(name string) bool {
		kind, own, _ := strings.Cut(name, "/")
		if strings.HasPrefix(own, "demo-vsphere-cloud") {
			return w.vsphere == nil // in Azure nothing reads it, so that it belongs to nothing
		}
		return kind == "secret" || kind == "configmap" && !strings.HasPrefix(own, "demo-")
	})
}

// addonsHold: the providers of add-ons take what was moved for theirs, and find all in order.
func (w *world) addonsHold(m *management) {
	w.Helper()
	const of = `-o jsonpath='{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="%s")].status}{"\n"}{end}'`
	for kinds, condition := range map[string]string{
		"helmchartproxies,helmreleaseproxies": "Ready", "clusterresourcesets": "ResourcesApplied",
	} {
		w.until(kinds+" to be "+condition, func() (any, bool) {
			said := w.shell(m, "kubectl get "+kinds+" "+fmt.Sprintf(of, condition)+" 2> /dev/null")
			for line := range strings.Lines(said) {
				isVSphere := strings.HasPrefix(line, "demo-vsphere-cloud-provider ") // which in Azure has no Cluster to apply to
				if !strings.HasSuffix(strings.TrimSpace(line), " True") && (w.vsphere != nil || !isVSphere) {
					return said, false
				}
			}
			return said, said != ""
		})
	}
}

// releases are those that Helm has made in the cluster: an install or an upgrade is one more.
func (w *world) releases() []string {
	w.Helper()
	demo, _ := w.demo().Workload()
	return slices.Sorted(strings.FieldsSeq(w.shell(&management{}, "kubectl --kubeconfig "+demo.KubeconfigFile+
		" get secrets -A --field-selector type=helm.sh/release.v1 -o name")))
}

// pods of users and of add-ons, with what tells whether each is still the same and has run all the time. Those of Nodes that are
// gone wait for the garbage collector.
func (w *world) pods() (seen []string) {
	w.Helper()
	_, api := w.demo().Workload()
	nodes := expect.Got(api.CoreV1().Nodes().List(w.Context(), metav1.ListOptions{}))(w)
	for _, one := range []string{namespace, metav1.NamespaceSystem, "tigera-operator", calicoSystem} {
		for _, pod := range expect.Got(api.CoreV1().Pods(one).List(w.Context(), metav1.ListOptions{}))(w).Items {
			if !slices.ContainsFunc(nodes.Items, func(node corev1.Node) bool { return node.Name == pod.Spec.NodeName }) {
				continue
			}
			restarts := int32(0)
			for _, container := range pod.Status.ContainerStatuses {
				restarts += container.RestartCount
			}
			seen = append(seen, fmt.Sprint(pod.Namespace, "/", pod.Name, " ", pod.UID, " ", pod.Status.Phase, " ", restarts))
		}
	}
	slices.Sort(seen)
	return seen
}

// deletes removes the cluster: no VM is left.
func (w *world) deletes(m *management) {
	w.Helper()
	begin := time.Now()
	w.shell(m, "kubectl delete cluster demo --timeout=3m")
	if left := w.windowsVMs(); len(left) > 0 {
		w.Errorf("the Windows VMs %v are left", left)
	}
	w.until("the end of the Linux VMs' guests", func() (any, bool) { // which see a moment later that they are off
		left := w.vms.Names()
		return left, len(left) == 0
	})
	w.tell("deleted in %.1f s", time.Since(begin).Seconds())
}
