package machine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestWakeOfMachine has Machines that changed, and what there is of their WindowsMachine.
func TestWakeOfMachine(t *testing.T) {
	cases := map[string]struct {
		reason          string
		there, had, end bool
		wakes           int
	}{
		"Machine changed":        {"its spec may matter", true, true, false, 1},
		"Machine without object": {"it is gone, or its arrival wakes it", false, false, false, 0},
		"end before the VM":      {"no VM is to be made any more", true, false, true, 1},
		"end of one with a VM":   {"it goes on until it is deleted itself", true, true, true, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			expect.OK(t, infrav1.AddToScheme(scheme))
			api := fake.NewClientBuilder().WithScheme(scheme)
			if c.there {
				windows := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}
				windows.Status.Initialization.Provisioned = &c.had
				api.WithObjects(windows)
			}
			machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core"}}
			machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: "m",
			}
			if c.end {
				machine.DeletionTimestamp = new(metav1.Now())
			}
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			defer queue.ShutDown()
			wakeOfMachine(api.Build()).Update(t.Context(), event.UpdateEvent{ObjectOld: machine, ObjectNew: machine}, queue)
			expect.Same(t, "looks, because "+c.reason, c.wakes, queue.Len())
		})
	}
}

// TestEndsWithAddresses has machines that are gone.
func TestEndsWithAddresses(t *testing.T) {
	plain, pools := &infrav1.WindowsMachine{}, &infrav1.WindowsMachine{}
	plain.Spec.VSphere = &infrav1.VSphereVM{NetworkInterfaces: []infrav1.VSphereNetworkInterface{{}}}
	pools.Spec.VSphere = &infrav1.VSphereVM{NetworkInterfaces: []infrav1.VSphereNetworkInterface{
		{}, {AddressesFromPools: []infrav1.IPPoolReference{{Name: "pool"}}},
	}}
	for _, c := range []struct {
		of    *infrav1.WindowsMachine
		wakes bool
	}{{&infrav1.WindowsMachine{}, false}, {plain, false}, {pools, true}} {
		expect.Same(t, "look after the end", c.wakes, endsWithAddresses().Delete(event.DeleteEvent{Object: c.of}))
		expect.Same(t, "look after a change", true, endsWithAddresses().Update(event.UpdateEvent{ObjectOld: c.of, ObjectNew: c.of}))
	}
}
