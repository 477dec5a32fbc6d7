package frontdoor

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// windowsPodRuns makes a pod with nothing but a RuntimeClass, and waits until it runs.
func (w *world) windowsPodRuns() {
	w.Helper()
	_, api := w.demo().Workload()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "iis"},
		Spec: corev1.PodSpec{
			RuntimeClassName: new("windows-2022"), Containers: []corev1.Container{{Name: "iis", Image: "example.com/iis"}},
		},
	}
	w.until("the pod to be taken", func() (any, bool) {
		_, err := api.CoreV1().Pods(namespace).Create(w.Context(), pod, metav1.CreateOptions{})
		return err, err == nil
	})
	w.until("the pod to run", func() (any, bool) {
		found := expect.Got(api.CoreV1().Pods(namespace).Get(w.Context(), pod.Name, metav1.GetOptions{}))(w)
		return found.Status, found.Status.Phase == corev1.PodRunning
	})
	w.mark(podRuns)
}

// assertSteps prints the time of each step, and holds them to their order.
func (w *world) assertSteps() {
	w.Helper()
	// The pod may be faster than who looks for these.
	for _, step := range []string{
		initialized, kindsInstalled, calicoInstalled, bootstrapEnded, windowsKnown, networkRuns, proxyRuns,
	} {
		w.until(step, func() (any, bool) {
			return w.order, w.seen(step)
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var table strings.Builder
	for _, step := range w.order {
		table.WriteString("\n" + w.marks[step].Round(100*time.Millisecond).String() + "  " + step)
	}
	carried := max(w.marks[linuxReady], w.marks[linuxKnown], w.marks[dnsAnswers])
	w.Logf("since the one command (%s):%s\nours of it: %s until the Windows VM was ordered, and %s until its bootstrap had ended",
		w.played(), table.String(), (w.marks[vmOrdered] - carried).Round(100*time.Millisecond),
		(w.marks[bootstrapEnded] - w.marks[vmOrdered]).Round(100*time.Millisecond))
	w.Logf("Calico's operator was installed %s after its kinds and the control plane",
		(w.marks[calicoInstalled] - max(w.marks[initialized], w.marks[kindsInstalled])).Round(time.Second))
	w.assertWaits()
}

// assertWaits: the pool says why it waits, and never goes back to what it has waited for before.
func (w *world) assertWaits() {
	w.Helper()
	order := []string{
		infrav1.WaitingForClusterInfrastructureReason, infrav1.WaitingForControlPlaneReason, infrav1.WaitingForLinuxNodeReason,
		infrav1.WaitingForClusterDNSReason,
	}
	last := -1
	for _, one := range w.waits {
		position := slices.Index(order, one.Reason)
		if position >= 0 && position < last {
			w.Errorf("the pool waits in the order %+v", w.waits)
		}
		last = max(last, position)
	}
	if last < 1 {
		w.Errorf("the pool never said that it waits for the control plane: %+v", w.waits)
	}
}

// assertCluster looks at what is there once the pod runs.
func (w *world) assertCluster(m *management) {
	w.Helper()
	demo, api := w.demo().Workload()
	nodes := expect.Got(api.CoreV1().Nodes().List(w.Context(), metav1.ListOptions{}))(w)
	system := map[string]string{}
	for _, node := range nodes.Items {
		system[node.Name] = node.Labels[corev1.LabelOSStable]
		if !workload.CanCarry(node) {
			w.Errorf("the Node %s is not Ready, or no cloud provider has initialized it: %+v", node.Name, node.Spec.Taints)
		}
	}
	pods := expect.Got(api.CoreV1().Pods(metav1.NamespaceAll).List(w.Context(), metav1.ListOptions{}))(w)
	on := map[string][]string{}
	for _, pod := range pods.Items {
		app := pod.Labels["k8s-app"]
		if app == "kube-dns" && system[pod.Spec.NodeName] == "windows" {
			w.Errorf("CoreDNS is on the Windows Node %s", pod.Spec.NodeName)
		}
		if pod.Status.Phase == corev1.PodRunning {
			on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], app)
		}
	}
	for name, os := range system {
		if os != "windows" {
			continue
		}
		for _, app := range []string{"calico-node-windows", "kube-proxy-windows"} {
			if !slices.Contains(on[name], app) {
				w.Errorf("the Windows Node %s has no %s: %v", name, app, on[name])
			}
		}
	}
	if w.vsphere != nil {
		said := expect.Got(demo.CloudControllerPrinted())(w)
		for name := range system {
			if !strings.Contains(said, "Successfully initialized node "+name) {
				w.Errorf("vSphere's cloud provider has not initialized %s", name)
			}
		}
	}
	if w.azure != nil {
		w.assertAzureJSON(m)
	}
	if w.operator != "" {
		w.assertLabsCalico()
	}
	w.assertValues(m)
	w.assertMachines(m)
}

// assertValues: no template of a chart met a value that is not there.
func (w *world) assertValues(m *management) {
	w.Helper()
	workload, _ := w.demo().Workload()
	seen := w.shell(m, "kubectl get helmreleaseproxies,helmchartproxies,configmaps -A -o yaml") +
		w.shell(m, "kubectl --kubeconfig "+workload.KubeconfigFile+
			" get configmaps,daemonsets,deployments,pods,installations,ipamconfigs -A -o yaml")
	if position := strings.Index(seen, "<no value>"); position >= 0 {
		w.Errorf("a value is not there: %s", seen[max(0, position-300):position+20])
	}
	if !strings.Contains(seen, "strictAffinity: true") {
		w.Error("nothing was looked at: there is no IPAMConfig")
	}
}

// assertMachines: Cluster API knows the Node of each Machine.
func (w *world) assertMachines(m *management) {
	w.Helper()
	w.until("the Nodes of all Machines", func() (any, bool) {
		var machines clusterv1.MachineList
		expect.OK(w, m.client.List(w.Context(), &machines, client.InNamespace(namespace)))
		missing := []string{}
		for _, one := range machines.Items {
			if one.Status.NodeRef.Name == "" {
				missing = append(missing, one.Name)
			}
		}
		return missing, len(machines.Items) == 3 && len(missing) == 0
	})
}

// excused are the checks of smoke that a stand-in cannot carry, with the reason.
var excused = map[string]string{}

// untried are the checks that smoke never tries, as its own sentences say: nobody can.
var untried = []string{"ping out of the cluster", "NodePort on its own node", "volumes"}

// smokeHolds runs the plugin as users do: it ends well, and has tried all that it can.
func (w *world) smokeHolds(m *management) {
	w.Helper()
	found, err := w.smoke(m)
	if err != nil && len(excused) == 0 {
		w.Errorf("clusterctl windows smoke: %v", err)
	}
	for _, finding := range found {
		held := finding.Result == "ok" || finding.Result == "skipped" && slices.Contains(untried, finding.Check)
		if !held && excused[finding.Check] == "" {
			w.Errorf("clusterctl windows smoke: %s is %s: %s", finding.Check, finding.Result, finding.Message)
		}
	}
}

// smoke returns what was found, and how the program ended.
func (w *world) smoke(m *management) ([]report.Finding, error) {
	w.Helper()
	begin := time.Now()
	w.shell(m, "clusterctl get kubeconfig demo > "+w.dir+"/demo.kubeconfig")
	said, err := w.try(m, "clusterctl windows smoke --kubeconfig "+w.dir+"/demo.kubeconfig -o json 2> "+w.dir+"/smoke.err")
	var found report.FindingList
	if failed := json.Unmarshal([]byte(said), &found); failed != nil || len(found.Items) == 0 {
		w.Fatalf("clusterctl windows smoke: %v\n%s", err, said+string(expect.Got(readFile(w.dir+"/smoke.err"))(w)))
	}
	var results []string
	for _, finding := range found.Items {
		results = append(results, finding.Check+" "+string(finding.Result))
	}
	w.tell("clusterctl windows smoke after %.1f s: %s", time.Since(begin).Seconds(), strings.Join(results, ", "))
	return found.Items, err
}
