package vcenter

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// collecting is a client with a property collector.
type collecting struct {
	t         *testing.T
	client    *vim25.Client
	collector types.ManagedObjectReference
	version   string
}

func collect(t *testing.T, v *VCenter) *collecting {
	t.Helper()
	c := &collecting{t: t, client: v.loggedIn(t, Username)}
	c.collector = expect.Got(property.DefaultCollector(c.client).Create(t.Context()))(t).Reference()
	return c
}

// allVMs makes a filter for all VMs.
func (c *collecting) allVMs(paths ...string) {
	c.t.Helper()
	root := c.client.ServiceContent.RootFolder
	all := expect.Got(view.NewManager(c.client).CreateContainerView(c.t.Context(), root, []string{"VirtualMachine"}, true))(c.t)
	c.filter(all.Reference(), "VirtualMachine", paths...)
}

func (c *collecting) filter(from types.ManagedObjectReference, kind string, paths ...string) {
	c.t.Helper()
	_, err := methods.CreateFilter(c.t.Context(), c.client, &types.CreateFilter{This: c.collector, Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj: from, Skip: new(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: from.Type, Path: "view"}},
		}},
		PropSet: []types.PropertySpec{{Type: kind, PathSet: paths}},
	}})
	expect.OK(c.t, err)
}

// ask for what has changed since a version.
func (c *collecting) ask(ctx context.Context, version string, options types.WaitOptions) (*types.UpdateSet, error) {
	answer, err := methods.WaitForUpdatesEx(ctx, c.client, &types.WaitForUpdatesEx{
		This: c.collector, Version: version, Options: &options,
	})
	if err != nil {
		return nil, err
	}
	return answer.Returnval, nil
}

// next change, as "enter name=x"; the properties are in the order of their names.
func (c *collecting) next() []string {
	c.t.Helper()
	set := expect.Got(c.ask(c.t.Context(), c.version, types.WaitOptions{}))(c.t)
	c.version = set.Version
	return told(set)
}

// until hears changes until there is one that is wanted.
func (c *collecting) until(wanted string) {
	c.t.Helper()
	var heard []string
	for !slices.Contains(heard, wanted) {
		if len(heard) > 20 {
			c.t.Fatalf("heard %q, but not %q", heard, wanted)
		}
		heard = append(heard, c.next()...)
	}
}

func told(set *types.UpdateSet) (all []string) {
	for _, f := range set.FilterSet {
		for _, o := range f.ObjectSet {
			text := string(o.Kind)
			for _, change := range o.ChangeSet {
				value := change.Val
				if option, ok := value.(types.OptionValue); ok {
					value = option.Value
				}
				text += fmt.Sprintf(" %s %s=%v", change.Op, change.Name, value)
			}
			all = append(all, text)
		}
	}
	return all
}

// faulted says whether a call ended with a fault of this type.
func faulted[F types.AnyType](t *testing.T, err error) {
	t.Helper()
	if !soap.IsSoapFault(err) {
		t.Fatalf("the error is %v, want a fault", err)
	}
	if _, ok := soap.ToSoapFault(err).VimFault().(F); !ok {
		t.Errorf("the fault is %#v", soap.ToSoapFault(err).VimFault())
	}
}

// TestCollectorVM tells of a VM when it comes, when what is asked for has changed, and when it goes.
func TestCollectorVM(t *testing.T) {
	v := New(t)
	owner, c := v.Owner(t), collect(t, v)
	c.allVMs("name", "runtime.powerState", `config.extraConfig["guestinfo.x"]`)
	expect.Same(t, "at first", []string{"enter assign name=" + Template + " assign runtime.powerState=poweredOff"}, c.next())
	owner.Clone("one", types.VirtualMachineCloneSpec{})
	c.until("enter assign name=one assign runtime.powerState=poweredOff")
	owner.SetExtra("one", "guestinfo.y", "not asked for")
	owner.SetExtra("one", "guestinfo.x", "first")
	expect.Same(t, "new key", []string{`modify assign config.extraConfig["guestinfo.x"]=first`}, c.next())
	owner.SetExtra("one", "guestinfo.x", "")
	expect.Same(t, "no key", []string{`modify remove config.extraConfig["guestinfo.x"]=<nil>`}, c.next())
	owner.Remove("one")
	c.until("leave")
}

// TestCollectorTasks: a task leaves when the list loses it, and when vCenter forgets it.
func TestCollectorTasks(t *testing.T) {
	v := New(t)
	owner, c := v.Owner(t), collect(t, v)
	owner.Occupy("one")
	list := expect.Got(view.NewManager(c.client).CreateListView(t.Context(), nil))(t)
	c.filter(list.Reference(), "Task", "info.state")
	expect.Same(t, "at first", []string(nil), c.next())
	vm := object.NewVirtualMachine(c.client, owner.VM("one").Reference())
	follow := func(task *object.Task, err error) types.ManagedObjectReference {
		t.Helper()
		expect.OK(t, err)
		expect.OK(t, task.Wait(t.Context()))
		_, err = list.Add(t.Context(), []types.ManagedObjectReference{task.Reference()})
		expect.OK(t, err)
		expect.Same(t, "in the list", []string{"enter assign info.state=success"}, c.next())
		return task.Reference()
	}
	off := follow(vm.PowerOff(t.Context()))
	_, err := list.Remove(t.Context(), []types.ManagedObjectReference{off})
	expect.OK(t, err)
	expect.Same(t, "lost by the list", []string{"leave"}, c.next())
	follow(vm.PowerOn(t.Context()))
	owner.ForgetTasks()
	expect.Same(t, "forgotten", []string{"leave"}, c.next())
}

// TestCollectorVersions: an answer that was lost is given again, but not one that was truncated.
func TestCollectorVersions(t *testing.T) {
	v := New(t, func(m *simulator.Model) { m.Machine = 5 })
	owner, c := v.Owner(t), collect(t, v)
	c.allVMs("name")
	ask := func(version string) *types.UpdateSet {
		t.Helper()
		return expect.Got(c.ask(t.Context(), version, types.WaitOptions{MaxObjectUpdates: 2}))(t)
	}
	first := ask("")
	expect.Same(t, "first page", []any{2, true}, []any{len(told(first)), *first.Truncated})
	second := ask(first.Version)
	expect.Same(t, "second page", []any{2, true}, []any{len(told(second)), *second.Truncated})
	_, err := c.ask(t.Context(), first.Version, types.WaitOptions{})
	faulted[types.InvalidCollectorVersion](t, err)
	last := ask(second.Version)
	expect.Same(t, "last page", []any{1, false}, []any{len(told(last)), *last.Truncated})

	owner.Clone("one", types.VirtualMachineCloneSpec{})
	lost := ask(last.Version)
	expect.Same(t, "lost answer", []string{"enter assign name=one"}, told(lost))
	again := ask(last.Version)
	expect.Same(t, "given again", told(lost), told(again))
	expect.Same(t, "begun anew", 2, len(told(ask(""))))
}

// TestCollectorEnds: a wait ends after its time, when its client cancels it, and with its session.
func TestCollectorEnds(t *testing.T) {
	v := New(t)
	owner, c := v.Owner(t), collect(t, v)
	c.allVMs("name")
	c.next()
	set, err := c.ask(t.Context(), c.version, types.WaitOptions{MaxWaitSeconds: new(int32(0))})
	expect.OK(t, err)
	expect.Same(t, "after its time", (*types.UpdateSet)(nil), set)

	ended := make(chan error)
	wait := func() {
		_, err := c.ask(context.Background(), c.version, types.WaitOptions{})
		ended <- err
	}
	go wait()
	faulted[types.RequestCanceled](t, repeat(ended, func() {
		_, err := methods.CancelWaitForUpdates(t.Context(), c.client, &types.CancelWaitForUpdates{This: c.collector})
		expect.OK(t, err)
	}))
	go wait()
	faulted[types.NotAuthenticated](t, repeat(ended, owner.EndSessions))
	_, err = c.ask(t.Context(), c.version, types.WaitOptions{})
	faulted[types.NotAuthenticated](t, err)

	c = collect(t, v)
	c.allVMs("name")
	c.next()
	go wait()
	for waiting := false; !waiting; {
		i, _ := v.waiting.Load(c.collector.Value)
		waiting = i.(*incremental).isWaiting()
	}
	expect.OK(t, session.NewManager(c.client).Logout(t.Context()))
	faulted[types.NotAuthenticated](t, <-ended)
}

// repeat an act until a wait has ended: an end that comes before the wait has begun is forgotten.
func repeat(ended <-chan error, act func()) error {
	for {
		select {
		case err := <-ended:
			return err
		default:
			act()
		}
	}
}

// TestCollectorCrowd: a change among 5,000 VMs is told without a look at the others.
func TestCollectorCrowd(t *testing.T) {
	const vms = 5000
	v := New(t)
	owner, c := v.Owner(t), collect(t, v)
	owner.Populate(vms - 1)
	c.allVMs("name", "runtime.powerState", "guest.ipAddress", `config.extraConfig["guestinfo.x"]`)
	seen, pages := 0, 0
	for more := true; more; pages++ {
		set := expect.Got(c.ask(t.Context(), c.version, types.WaitOptions{MaxObjectUpdates: 1000}))(t)
		seen, c.version, more = seen+len(told(set)), set.Version, *set.Truncated
	}
	expect.Same(t, "VMs and pages", []int{vms, vms / 100}, []int{seen, pages})
	i, _ := v.waiting.Load(c.collector.Value)
	reads := i.(*incremental).reads
	owner.SetExtra("other-4711", "guestinfo.x", "first")
	expect.Same(t, "change", []string{`modify assign config.extraConfig["guestinfo.x"]=first`}, c.next())
	expect.Same(t, "reads", 1, i.(*incremental).reads-reads)
}
