package guests

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/odd"
)

// FuzzReports: whatever a watch tells, in whatever order, what is kept is counted and bounded, and only a machine that has asked
// is woken.
func FuzzReports(f *testing.F) {
	odd.Fuzz(f, checkReports)
}

func checkReports(t *testing.T, source *odd.Source) {
	ears := &Ears{Heard: make(chan cloud.Key, 100), Now: time.Now}
	h := &hearing{objects: map[string]*object{}, stop: func() {}}
	ours := cloud.Key{Namespace: "ns", Name: "machine"}
	for range 1 + source.N(40) {
		name := odd.One(source, "win-0", "a", source.Text())
		if source.Once(6) && h.objects[name] == nil {
			h.objects[name] = &object{machine: ours, last: time.Now()}
		}
		object := source.JSON(said(name, source.Text()))
		if source.Once(6) {
			object = source.Object("nodes")
		}
		ears.take(t.Context(), h, workload.Event{
			Type: odd.One(source, watch.Added, watch.Modified, watch.Deleted, workload.LeftOut, "x"), Object: object,
		})
		if source.Once(10) {
			ears.end(h, time.Now().Add(time.Duration(source.N(3)-1)*time.Minute), source.Once(2))
		}
		strange := 0
		for name, o := range h.objects {
			if o.isStrange() {
				strange += o.size(name)
			}
		}
		if strange != h.strange || strange > maxStrange {
			t.Fatalf("%d bytes are kept, counted %d", strange, h.strange)
		}
	}
	close(ears.Heard)
	for woken := range ears.Heard {
		if woken != ours {
			t.Errorf("%v was woken", woken)
		}
	}
}
