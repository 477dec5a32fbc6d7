package placement

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/odd"
)

// FuzzView: whatever the watches tell, in whatever order, the view counts what it keeps, can be looked at, and knows in the end
// what a list says that is complete.
func FuzzView(f *testing.F) {
	odd.Fuzz(f, viewChecker())
}

// viewChecker checks with one cache of the management cluster.
func viewChecker() func(*testing.T, *odd.Source) {
	resources := make([]string, 0, len(watched))
	for _, of := range watched {
		resources = append(resources, of.Name)
	}
	var cache client.Client
	return func(t *testing.T, source *odd.Source) {
		if cache == nil {
			cache = newLookedAt(t).cache
		}
		checkView(newLookedAtBy(t, cache), resources, source)
	}
}

func checkView(l *lookedAt, resources []string, source *odd.Source) {
	for range 1 + source.N(30) {
		l.view.take(odd.One(source, resources...), anEvent(source, odd.One(source, resources...)))
		checkCount(l.t, l.view)
		if source.Once(8) {
			l.view.setVersion(source.Text())
			l.told()
		}
	}
	for _, o := range ownObjects(append(policies.Validating(), policies.Mutating()...)...) {
		l.view.ownBrief(o)
	}
	l.told()
	for _, resource := range resources {
		checkList(l.t, l.view, resource, source)
	}
	l.view.release()
	if l.view.kept != 0 || l.view.store(nodes).shared.Load() != 0 {
		l.t.Errorf("a view that is released keeps %d bytes", l.view.kept)
	}
}

func anEvent(s *odd.Source, resource string) workload.Event {
	switch s.N(10) {
	case 1:
		return workload.Event{Type: workload.Begun}
	case 2:
		return workload.Event{Type: workload.Listed}
	case 3:
		return workload.Event{Type: workload.LeftOut, Of: odd.One(s, "", s.Text(), "kube-system/"+s.Text()), Gone: s.Once(2)}
	case 4:
		return workload.Event{Type: workload.Hidden, Why: odd.One(s,
			error(apierrors.NewNotFound(schema.GroupResource{}, s.Text())), errors.New(s.Text()))}
	}
	return workload.Event{Type: odd.One(s, watch.Added, watch.Modified, watch.Deleted, "x"), Object: s.Object(resource)}
}

func checkCount(t *testing.T, v *view) {
	t.Helper()
	kept := 0
	for _, stores := range []map[string]*store{v.stores, v.own} {
		for _, s := range stores {
			for key, one := range s.objects {
				kept += len(key) + len(one.text)
				if _, left := s.left[key]; left {
					t.Errorf("%q is kept and left out", key)
				}
			}
		}
	}
	if v.kept != kept || v.store(nodes).shared.Load() != int64(kept) {
		t.Errorf("%d bytes are kept, counted %d", kept, v.kept)
	}
}

// checkList: after a list that is complete, the store has its objects and nothing else, and what was deleted is not left out.
func checkList(t *testing.T, v *view, resource string, source *odd.Source) {
	t.Helper()
	fresh := newView()
	var objects [][]byte
	for range source.N(3) {
		objects = append(objects, source.Object(resource))
	}
	for _, one := range []*view{v, fresh} {
		one.take(resource, workload.Event{Type: workload.Begun})
		for _, object := range objects {
			one.take(resource, workload.Event{Type: watch.Added, Object: object})
		}
		one.take(resource, workload.Event{Type: workload.Listed})
	}
	got, want := v.store(resource), fresh.store(resource)
	if keysOf(got) != keysOf(want) || got.leftOut() != want.leftOut() || !got.listed {
		t.Errorf("%s: %q and %d left out, want %q and %d", resource, keysOf(got), got.leftOut(), keysOf(want), want.leftOut())
	}
	unnamed := got.unnamed
	for _, object := range objects {
		v.take(resource, workload.Event{Type: watch.Deleted, Object: object})
	}
	if len(got.objects)+len(got.left) > 0 && got.unnamed == unnamed {
		t.Errorf("%s: deleted, and there is %q, and %v is left out", resource, keysOf(got), got.left)
	}
}

func keysOf(s *store) string {
	var all []string
	for key := range s.objects {
		all = append(all, key)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
