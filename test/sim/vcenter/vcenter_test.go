package vcenter

import (
	"context"
	"net/url"
	"testing"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// client of the vCenter, through its main door, not logged in.
func (v *VCenter) client(t *testing.T) *vim25.Client {
	t.Helper()
	at := expect.Got(url.Parse(v.URL + vim25.Path))(t)
	return expect.Got(vim25.NewClient(t.Context(), soap.NewClient(at, true)))(t)
}

func login(t *testing.T, c *vim25.Client, user string) error {
	t.Helper()
	return session.NewManager(c).Login(t.Context(), url.UserPassword(user, Password))
}

// loggedIn is a client with a session.
func (v *VCenter) loggedIn(t *testing.T, user string) *vim25.Client {
	t.Helper()
	c := v.client(t)
	expect.OK(t, login(t, c, user))
	return c
}

// TestHoldMethod: a method hangs, and others answer meanwhile. A client that leaves takes its call with it.
func TestHoldMethod(t *testing.T) {
	v := New(t)
	c := v.loggedIn(t, Username)
	held := v.HoldMethod("CurrentTime")
	answered := make(chan error)
	leave, left := context.WithCancel(t.Context())
	for _, ctx := range []context.Context{t.Context(), leave} {
		go func() {
			_, err := methods.GetCurrentTime(ctx, c)
			answered <- err
		}()
	}
	for now := 0; now < 2; now, _ = held.Now() {
		_, err := methods.GetServiceContent(t.Context(), c)
		expect.OK(t, err)
	}
	left()
	if err := <-answered; err == nil {
		t.Error("a call that hangs was answered")
	}
	held.Release()
	expect.OK(t, <-answered)
	_, most := held.Now()
	expect.Same(t, "calls that hung at once", 2, most)
}

// TestLimitSessions: each user has places of his own, and gets one back with a logout.
func TestLimitSessions(t *testing.T) {
	v := New(t)
	v.LimitSessions(2)
	first := v.loggedIn(t, Username)
	v.loggedIn(t, Username)
	third := v.client(t)
	expect.Says(t, "a third login", login(t, third, Username), "503")
	v.loggedIn(t, Another)
	expect.OK(t, session.NewManager(first).Logout(t.Context()))
	expect.OK(t, login(t, third, Username))
}

// TestLimited: a user without rights on the root folder cannot have a view of it, but of the datacenter's folders.
func TestLimited(t *testing.T) {
	v := New(t)
	vms := []string{"VirtualMachine"}
	of := func(user string, container types.ManagedObjectReference) error {
		_, err := view.NewManager(v.loggedIn(t, user)).CreateContainerView(t.Context(), container, vms, true)
		return err
	}
	root := v.model.ServiceContent.RootFolder
	expect.OK(t, of(Username, root))
	err := of(Limited, root)
	if !soap.IsSoapFault(err) {
		t.Fatal(err)
	}
	fault, ok := soap.ToSoapFault(err).VimFault().(types.NoPermission)
	expect.Same(t, "fault", true, ok)
	expect.Same(t, "privilege", "System.View", fault.PrivilegeId)
	expect.OK(t, of(Limited, v.model.Map().Any("Datacenter").Reference()))
}
