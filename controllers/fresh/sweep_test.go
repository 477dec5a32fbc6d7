package fresh

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestSweep: what was written more than half a minute ago is forgotten, and looked for once in that time. Machines come and go,
// and the manager stays.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begun := New[*corev1.Node](nil), time.Now()
		sweepWrite(t, c, "a", begun, 0)
		sweepWrite(t, c, "b", begun, 1)
		sweepWrite(t, c, "c", begun, 30*time.Second)
		sweepWrite(t, c, "d", begun, 30*time.Second+1)
		expect.Same(t, "remembered after half a minute", []string{"b", "c", "d"}, sweepNames(c))
		sweepWrite(t, c, "e", begun, 45*time.Second)
		expect.Same(t, "remembered a little later", []string{"b", "c", "d", "e"}, sweepNames(c))
		sweepWrite(t, c, "f", begun, time.Hour)
		expect.Same(t, "remembered after an hour", []string{"f"}, sweepNames(c))
	})
}

func sweepWrite(t *testing.T, c *Client[*corev1.Node], name string, begun time.Time, at time.Duration) {
	t.Helper()
	<-time.After(time.Until(begun.Add(at)))
	expect.OK(t, c.note(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, func() error { return nil }))
}

func sweepNames(c *Client[*corev1.Node]) (names []string) {
	for key := range c.written {
		names = append(names, key.Name)
	}
	slices.Sort(names)
	return names
}
