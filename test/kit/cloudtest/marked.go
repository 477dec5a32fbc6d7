package cloudtest

import (
	"cmp"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// marked has VMs of ours, of others, and a copy of ours.
func marked(w world) {
	c := w.process()
	if vms, shown := c.Marked(); shown {
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
		vms, shown := c.Marked()
		slices.SortFunc(vms, byName)
		return gocmp.Diff(want, vms), shown && gocmp.Equal(want, vms)
	})
}

func sorted(names ...string) []string {
	slices.Sort(names)
	return names
}

// unmarked: what the cloud itself calls a VM is enough to look after it and to delete it, for any process.
func unmarked(w world) {
	c, m := w.process(), w.machine("m")
	w.ensure(c, m)
	m.Record, m.Asked = *w.observe(c, m).Record, cloud.Existed
	w.Unmark(m.Name)
	for _, c := range []cloud.Cloud{c, w.process()} {
		if vm := w.observe(c, m); vm.State != cloud.Running || vm.Record == nil || !gocmp.Equal(*vm.Record, m.Record) {
			w.t.Errorf("Observe = %+v of the VM without marks, want %+v to be kept", vm, m.Record)
		}
	}
	w.remove(w.process(), m)
	w.wantVMs()
}

func stranger(w world) {
	c, m := w.process(), w.machine("m")
	m.Asked = cloud.NeverAsked // nobody else can have asked for the VM
	w.Occupy(m.Name)
	before := w.Inspect(m.Name)
	for _, c := range []cloud.Cloud{c, w.process()} {
		w.wantAbsent(c, m)
		_, err := c.Ensure(w.t.Context(), m)
		WantError(w.t, err, cloud.Invalid, infrav1.NameTakenReason)
		w.wantAbsent(c, m)
		w.remove(c, m)
	}
	if diff := gocmp.Diff(before, w.Inspect(m.Name)); diff != "" {
		w.t.Errorf("the VM was changed (-before +after):\n%s", diff)
	}
	w.wantVMs(m.Name)
}
