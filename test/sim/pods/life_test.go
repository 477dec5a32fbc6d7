package pods

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// refusing refuses a network as often as there are reasons.
type refusing struct {
	Runtime
	reasons []string
}

func (r *refusing) Connect(context.Context, *corev1.Pod) (string, error) {
	if len(r.reasons) == 0 {
		return "10.244.1.7", nil
	}
	why := r.reasons[0]
	r.reasons = r.reasons[1:]
	return "", errors.New(why)
}

// What is refused again is the same event with a higher count.
func TestEventsOfSandboxes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		k := &Kubelet{Node: "win-1", Client: client, Clock: windows.RealClock{}, Runtime: &refusing{
			reasons: []string{"no plug-in", "no plug-in", "no plug-in", "no address"},
		}}
		l := &life{kubelet: k, pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"}}}
		expect.Same(t, "address", "10.244.1.7", l.connected(t.Context()))
		counts := map[string]int32{}
		for _, e := range expect.Got(client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{}))(t).Items {
			counts[e.Message] = e.Count
		}
		expect.Same(t, "counts", map[string]int32{
			"Failed to create pod sandbox: no plug-in": 3, "Failed to create pod sandbox: no address": 1,
		}, counts)
	})
}
