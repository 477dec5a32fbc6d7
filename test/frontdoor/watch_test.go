package frontdoor

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/frontdoor/linuxvm"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// patience is how long what takes a minute may take on a machine that is busy with other tests.
const patience = 100 * time.Second

// until waits as wait.Until does, and longer.
func (w *world) until(what string, look func() (seen any, good bool)) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
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
	workload, _ := w.demo().Workload()
	if workload == nil {
		return "there is no API server"
	}
	kubectl := "kubectl --kubeconfig " + workload.KubeconfigFile + " "
	out, _ := w.try(&management{Management: &servers.Management{}}, kubectl+"get nodes,pods,daemonsets -A -o wide;"+
		kubectl+"get events -A --sort-by=.lastTimestamp | tail -40; "+
		kubectl+"get nodes -o custom-columns=N:.metadata.name,T:.spec.taints,P:.spec.podCIDR,I:.spec.providerID;"+
		kubectl+"get tigerastatus -o yaml")
	return out
}

// demo is the cluster that the one command makes.
func (w *world) demo() *linuxvm.Cluster {
	return w.vms.Cluster(client.ObjectKey{Namespace: namespace, Name: "demo"})
}

// watch tells of each new sentence why the pool waits, and of the objects around it.
func (w *world) watch(m *management) {
	w.background(func(ctx context.Context) {
		told := map[string]string{}
		tell := func(of, said string) {
			if told[of] != said {
				told[of] = said
				w.tell("%s: %s", of, said)
			}
		}
		for tick := time.NewTicker(time.Second / 4); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			var machines infrav1.WindowsMachineList
			if err := m.client.List(ctx, &machines, client.InNamespace(namespace)); err != nil {
				continue
			}
			for _, one := range machines.Items {
				if ready := meta.FindStatusCondition(one.Status.Conditions, "Ready"); ready != nil {
					tell("windowsmachine", string(ready.Status)+" "+ready.Reason+": "+ready.Message)
				}
			}
			var clusters clusterv1.ClusterList
			if err := m.client.List(ctx, &clusters, client.InNamespace(namespace)); err != nil {
				continue
			}
			for _, one := range clusters.Items {
				for _, condition := range one.Status.Conditions {
					if condition.Type == "TopologyReconciled" || condition.Type == "Available" {
						tell("cluster "+condition.Type, string(condition.Status)+" "+condition.Reason+": "+condition.Message)
					}
				}
			}
		}
	})
}
