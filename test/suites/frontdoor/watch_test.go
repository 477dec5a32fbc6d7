package frontdoor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/suites/frontdoor/linuxvm"
)

// patience bounds what hangs. On a machine that is busy with other tests the Helm provider may fail at a chart for minutes, and
// tries again after pauses that double, up to 17 minutes (controller-runtime's default, cluster-api-addon-provider-helm v0.6.4).
const patience = 20 * time.Minute

// until waits as wait.Until does, and longer.
func (w *world) until(what string, look func() (seen any, good bool)) {
	w.Helper()
	ctx, cancel := wait.Within(w.Context(), patience)
	defer cancel()
	err := wait.Poll(ctx, func(context.Context) error {
		if seen, good := look(); !good {
			return fmt.Errorf("what is seen is %+v", seen)
		}
		return nil
	})
	if err != nil {
		w.Fatalf("waiting for %s: %v\n%s", what, err, w.show())
	}
}

// show is what a person would look at next.
func (w *world) show() string {
	demo, _ := w.demo().Workload()
	if demo == nil {
		return "there is no API server"
	}
	kubectl := "kubectl --kubeconfig " + demo.KubeconfigFile + " "
	out, _ := w.try(&management{}, kubectl+"get nodes,pods,daemonsets -A -o wide;"+
		kubectl+"get events -A --sort-by=.lastTimestamp | tail -40; "+
		kubectl+"get nodes -o custom-columns=N:.metadata.name,T:.spec.taints,P:.spec.podCIDR,I:.spec.providerID;"+
		kubectl+"get tigerastatus -o yaml")
	return out
}

// demo is the cluster that the one command makes.
func (w *world) demo() *linuxvm.Cluster {
	return w.vms.Cluster(client.ObjectKey{Namespace: namespace, Name: "demo"})
}

// mark notes when something is seen for the first time since the one command began.
func (w *world) mark(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, has := w.marks[what]; !has {
		w.marks[what] = time.Since(w.commanded)
		w.order = append(w.order, what)
	}
}

func (w *world) seen(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, seen := w.marks[what]
	return seen
}

// The steps between the one command and the pod, in the order in which the first Node is made of a Windows VM.
const (
	controlPlaneUp  = "the API server answers"
	initialized     = "the control plane is initialized"
	kindsInstalled  = "the chart of Calico's kinds is installed"
	calicoInstalled = "the chart of Calico's operator is installed"
	linuxReady      = "a Linux Node is Ready"
	linuxKnown      = "a cloud provider has initialized a Linux Node"
	dnsAnswers      = "CoreDNS runs on Linux"
	vmOrdered       = "the first Windows VM is ordered"
	bootstrapEnded  = "its bootstrap has ended"
	windowsNode     = "there is a Windows Node"
	networkRuns     = "calico-node-windows runs on it"
	proxyRuns       = "kube-proxy-windows runs on it"
	windowsKnown    = "a cloud provider has initialized the Windows Node"
	podRuns         = "a Windows pod runs"
)

// watch notes the steps, and each sentence why the pool waits, as long as the test runs.
func (w *world) watch(m *management) {
	w.background(func(ctx context.Context) {
		for tick := time.NewTicker(time.Second / 4); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			w.watchMachines(ctx, m)
			w.watchCharts(ctx, m)
			if _, api := w.demo().Workload(); api != nil {
				w.mark(controlPlaneUp)
				w.watchNodes(ctx, api)
			}
		}
	})
}

func (w *world) watchMachines(ctx context.Context, m *management) {
	var machines infrav1.WindowsMachineList
	if err := m.client.List(ctx, &machines, client.InNamespace(namespace)); err != nil {
		return
	}
	for _, one := range machines.Items {
		if told := one.Status.Bootstrap; told != nil && told.State == string(plan.StateSucceeded) {
			w.mark(bootstrapEnded)
		}
		ready := meta.FindStatusCondition(one.Status.Conditions, "Ready")
		if ready == nil {
			continue
		}
		w.mu.Lock()
		last := len(w.waits) - 1
		if last < 0 || w.waits[last].Reason != ready.Reason || w.waits[last].Message != ready.Message {
			w.waits = append(w.waits, *ready)
			fmt.Fprintf(w.Output(), "%6.1f s  %s: %s\n", time.Since(w.commanded).Seconds(), ready.Reason, ready.Message)
		}
		w.mu.Unlock()
	}
}

func (w *world) watchNodes(ctx context.Context, api kubernetes.Interface) {
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	windows := map[string]bool{}
	for _, node := range nodes.Items {
		moment := map[bool]string{true: windowsKnown, false: linuxKnown}
		windows[node.Name] = node.Labels[corev1.LabelOSStable] == "windows"
		if windows[node.Name] {
			w.mark(windowsNode)
		} else if workload.IsReady(node) {
			w.mark(linuxReady)
		}
		if !workload.IsUninitialized(node) {
			w.mark(moment[windows[node.Name]])
		}
	}
	running, err := api.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		return
	}
	for _, pod := range running.Items {
		switch app := pod.Labels["k8s-app"]; {
		case app == "kube-dns" && !windows[pod.Spec.NodeName]:
			w.mark(dnsAnswers)
		case app == "calico-node-windows":
			w.mark(networkRuns)
		case app == "kube-proxy-windows":
			w.mark(proxyRuns)
		}
	}
}

// ordered is called before a cloud makes a Windows VM: Linux must carry the cluster by then.
func (w *world) ordered() {
	if err := w.linuxCarries(); err != nil {
		w.Errorf("a Windows VM is ordered too early: %v", err)
	}
	w.mark(vmOrdered)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
}

func (w *world) linuxCarries() error {
	_, api := w.demo().Workload()
	if api == nil {
		return errors.New("there is no API server")
	}
	nodes, err := api.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{
		LabelSelector: "node-role.kubernetes.io/control-plane",
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(nodes.Items, workload.CanCarry) {
		return errors.New("no Node of the control plane is Ready and initialized")
	}
	dns, err := api.CoreV1().Pods(metav1.NamespaceSystem).List(context.Background(), metav1.ListOptions{
		LabelSelector: "k8s-app=kube-dns", FieldSelector: "status.phase=Running",
	})
	if err == nil && len(dns.Items) == 0 {
		err = errors.New("no CoreDNS runs")
	}
	return err
}
