package machine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestWakeOfMachine has Machines that changed, with and without a WindowsMachine.
func TestWakeOfMachine(t *testing.T) {
	scheme := runtime.NewScheme()
	expect.OK(t, infrav1.AddToScheme(scheme))
	there := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there"}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build()
	for name, wakes := range map[string]int{"there": 1, "gone": 0} {
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core"}}
		machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: name,
		}
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		wakeOfMachine(api).Delete(t.Context(), event.DeleteEvent{Object: machine}, queue)
		expect.Same(t, "looks at "+name, wakes, queue.Len())
		queue.ShutDown()
	}
}

// TestNeedsLook has changes of Machines that are being deleted or not, and have a VM or not.
func TestNeedsLook(t *testing.T) {
	cases := []struct {
		reason    string
		had, ends bool
		needs     bool
	}{
		{"its spec may matter", true, false, true},
		{"no VM is to be made any more", false, true, true},
		{"it goes on until it is deleted itself", true, true, false},
	}
	for _, c := range cases {
		before := &clusterv1.Machine{}
		before.Status.Initialization.InfrastructureProvisioned = &c.had
		now := before.DeepCopy()
		if c.ends {
			now.DeletionTimestamp = new(metav1.Now())
		}
		got := needsLook().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now})
		expect.Same(t, "look, because "+c.reason, c.needs, got)
	}
}

// TestOtherObjects are none of what these know, and pass.
func TestOtherObjects(t *testing.T) {
	other := &clusterv1.Cluster{}
	expect.Same(t, "look after the end", true, endsWithAddresses().Delete(event.DeleteEvent{Object: other}))
	expect.Same(t, "look after a change", true, needsLook().Update(event.UpdateEvent{ObjectOld: other, ObjectNew: other}))
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

// TestNewWords has configs that say the same as before, or something else.
func TestNewWords(t *testing.T) {
	config := func(status metav1.ConditionStatus, reason string, stalled bool) *bootstrapv1.WindowsBootstrapConfig {
		c := &bootstrapv1.WindowsBootstrapConfig{}
		conditions.Set(c, metav1.Condition{Type: bootstrapv1.DataSecretAvailableCondition, Status: status, Reason: reason})
		if stalled {
			conditions.Set(c, metav1.Condition{Type: bootstrapv1.StalledCondition, Status: metav1.ConditionTrue})
		}
		return c
	}
	nothing := &bootstrapv1.WindowsBootstrapConfig{}
	invalid := config(metav1.ConditionFalse, bootstrapv1.ConfigInvalidReason, true)
	waits := config(metav1.ConditionFalse, bootstrapv1.WaitingForMachineIdentityReason, false)
	for _, c := range []struct {
		reason      string
		before, now *bootstrapv1.WindowsBootstrapConfig
		wakes       bool
	}{
		{"it is invalid", nothing, invalid, true},
		{"it is mended", invalid, nothing, true},
		{"only a person can help now", config(metav1.ConditionFalse, bootstrapv1.ConfigInvalidReason, false), invalid, true},
		{"nothing is new", invalid, invalid, false},
		{"it waits for the machine itself", nothing, waits, false},
		{"it is made", nothing, config(metav1.ConditionTrue, bootstrapv1.DataSecretAvailableReason, false), false},
	} {
		type update = event.TypedUpdateEvent[*bootstrapv1.WindowsBootstrapConfig]
		expect.Same(t, "look, because "+c.reason, c.wakes, newWords().Update(update{ObjectOld: c.before, ObjectNew: c.now}))
	}
	for of, wakes := range map[*bootstrapv1.WindowsBootstrapConfig]bool{nothing: false, invalid: true} {
		type create = event.TypedCreateEvent[*bootstrapv1.WindowsBootstrapConfig]
		expect.Same(t, "look at a first sight", wakes, newWords().Create(create{Object: of}))
	}
	type deleted = event.TypedDeleteEvent[*bootstrapv1.WindowsBootstrapConfig]
	expect.Same(t, "look after the end", false, newWords().Delete(deleted{Object: invalid}))
}
