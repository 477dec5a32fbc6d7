package cloudtest

import (
	"cmp"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// marked has VMs of ours, of others, and a copy of ours.
func marked(w world) {
	c := w.process()
	if vms, known := c.Marked(); known {
		w.t.Errorf("Marked = %v before there is a watch, want that nothing is known", vms)
	}
	a, b := w.machine("a"), w.machine("b")
	b.Cluster = cloud.ClusterMark{}
	w.ensure(c, a)
	w.Occupy("another")
	w.watch(c)
	w.wantMarked(c, a)
	w.ensure(c, b)
	w.Copy(a.Name, "copy")
	w.wantVMs(sorted(a.Name, b.Name, "another", "copy")...)
	w.wantMarked(c, a, b)
	w.Remove(a.Name)
	w.wantMarked(c, b)
}

// markedLate has a process that lost its leadership while its request was on the way: it arrives after the next leader has let
// the machine go.
func markedLate(w world) {
	late, next, m := w.process(), w.process(), w.machine("m")
	w.watch(next)
	w.remove(next, m)
	w.ensure(late, m)
	w.wantMarked(next, m)
}

// wantMarked wants the machines' VMs to be known, and no others.
func (w world) wantMarked(c cloud.Cloud, machines ...cloud.Machine) {
	w.t.Helper()
	var want []cloud.Marked
	for _, m := range machines {
		want = append(want, cloud.Marked{Name: m.Name, Key: m.Key, ProviderID: m.ProviderID, Cluster: m.Cluster})
	}
	byName := func(a, b cloud.Marked) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(want, byName)
	wait.Until(w.t, "the VMs with our marks to be known", func() (any, bool) {
		vms, known := c.Marked()
		slices.SortFunc(vms, byName)
		return gocmp.Diff(want, vms), known && gocmp.Equal(want, vms)
	})
}

func sorted(names ...string) []string {
	slices.Sort(names)
	return names
}
