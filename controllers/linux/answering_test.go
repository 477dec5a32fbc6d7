package linux

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// machines are those of a cache, which finds them by namespace and label.
type machines struct {
	client.Reader
	all     []clusterv1.Machine
	windows []infrav1.WindowsMachine
	fails   string // the type of a list
}

// List implements client.Reader.
func (m machines) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if fmt.Sprintf("%T", list) == m.fails {
		return errLinux
	}
	has := func(o client.Object) bool {
		return o.GetNamespace() == asked.Namespace && asked.LabelSelector.Matches(labels.Set(o.GetLabels()))
	}
	switch found := list.(type) {
	case *clusterv1.MachineList:
		for _, one := range m.all {
			if has(&one) {
				found.Items = append(found.Items, one)
			}
		}
	case *infrav1.WindowsMachineList:
		for _, one := range m.windows {
			if has(&one) {
				found.Items = append(found.Items, one)
			}
		}
	}
	return nil
}

// A list of what is no object wakes none, and one that is no list is an error.
func TestStrangeLists(t *testing.T) {
	cluster := client.ObjectKey{Namespace: "tenant", Name: "prod"}
	none := Waiting{Reader: machines{}, List: &metav1.Status{}}
	_, err := none.of(t.Context(), cluster)
	expect.Says(t, "what is no list", err, "Items")
	others := Waiting{Reader: machines{}, List: &metav1.List{Items: []runtime.RawExtension{{}}}}
	expect.Same(t, "woken", 0, len(expect.Got(others.of(t.Context(), cluster))(t)))
}

// A Cluster that answers wakes what needs it, of its own objects, and nothing else.
func TestWhenAnswering(t *testing.T) {
	world := machines{}
	add := func(namespace, cluster, name string) {
		one := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
		}}
		world.all = append(world.all, one)
	}
	add("tenant", "prod", "waits")
	add("tenant", "prod", "has its VM")
	add("tenant", "prod", "waits, too")
	add("tenant", "other", "waits")
	add("neighbour", "prod", "waits")

	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	answering := make(chan client.ObjectKey)
	waiting := Waiting{Reader: world, List: &clusterv1.MachineList{}, Needs: func(o client.Object) bool {
		return o.GetName() != "has its VM"
	}}
	expect.OK(t, waiting.When(answering).Start(t.Context(), queue))
	answering <- client.ObjectKey{Namespace: "tenant", Name: "prod"}
	var woken []string
	for range 2 {
		request, _ := queue.Get()
		woken = append(woken, request.String())
	}
	slices.Sort(woken)
	expect.Same(t, "woken", []string{"tenant/waits", "tenant/waits, too"}, woken)
	answering <- client.ObjectKey{Namespace: "tenant", Name: "none"} // taken after all of the first are woken
	expect.Same(t, "others in the queue", 0, queue.Len())
}
