package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// pages has lists come in pages of two objects, of which the first may lack a property, and notes the calls.
type pages struct {
	soap.RoundTripper
	missing []types.MissingProperty
	size    int32 // that was asked for
	fails   int   // the call that has no answer
	none    bool  // a list has no page
	calls   []string
}

func (p *pages) RoundTrip(ctx context.Context, request, answer soap.HasFault) error {
	p.calls = append(p.calls, fmt.Sprintf("%T", request))
	if len(p.calls) == p.fails {
		return io.ErrUnexpectedEOF
	}
	if list, ok := request.(*methods.RetrievePropertiesExBody); ok {
		p.size, list.Req.Options.MaxObjects = list.Req.Options.MaxObjects, 2
	}
	err := p.RoundTripper.RoundTrip(ctx, request, answer)
	if list, ok := answer.(*methods.RetrievePropertiesExBody); ok && list.Res != nil && list.Res.Returnval != nil {
		list.Res.Returnval.Objects[0].MissingSet = p.missing
		if p.none {
			list.Res.Returnval = nil
		}
	}
	return err
}

// names reads the names of seven VMs.
func (p *pages) names(t *testing.T) (Objects, error) {
	t.Helper()
	client := *vcenter.New(t, func(m *simulator.Model) { m.Machine = 7 }).Owner(t).Client
	folder := expect.Got(find.NewFinder(&client).Folder(t.Context(), "/"+vcenter.Datacenter+"/vm"))(t)
	p.RoundTripper = client.RoundTripper
	client.RoundTripper = p
	return Read(t.Context(), &client, Source{Object: folder.Reference(), Via: "childEntity"}, "VirtualMachine", "name")
}

// TestReadInPages: a list of more than a page is read to its end.
func TestReadInPages(t *testing.T) {
	var p pages
	expect.Same(t, "objects", 7, len(expect.Got(p.names(t))(t)))
	expect.Same(t, "objects of a page", int32(1000), p.size)
	more := "*methods.ContinueRetrievePropertiesExBody"
	expect.Same(t, "calls", []string{"*methods.RetrievePropertiesExBody", more, more, more}, p.calls)
}

// TestReadNothing: a list without a page is empty.
func TestReadNothing(t *testing.T) {
	p := pages{none: true}
	expect.Same(t, "objects", Objects{}, expect.Got(p.names(t))(t))
	expect.Same(t, "calls", 1, len(p.calls))
}

// TestReadCutOff: a list that has no end is no list, wherever it was cut off.
func TestReadCutOff(t *testing.T) {
	for call := 1; call <= 4; call++ {
		p := pages{fails: call}
		if found, err := p.names(t); !errors.Is(err, io.ErrUnexpectedEOF) || found != nil {
			t.Errorf("Read = %d objects and %v when call %d fails", len(found), err, call)
		}
	}
}

// TestReadGivenUp: a list that is not read to its end is given back, because the vCenter keeps it until then.
func TestReadGivenUp(t *testing.T) {
	p := pages{missing: []types.MissingProperty{{Path: "name", Fault: types.LocalizedMethodFault{Fault: &types.NoPermission{}}}}}
	if _, err := p.names(t); !Is[types.BaseNoPermission](err) {
		t.Errorf("Read = %v, want NoPermission", err)
	}
	expect.Same(t, "calls", []string{"*methods.RetrievePropertiesExBody", "*methods.CancelRetrievePropertiesExBody"}, p.calls)
}

// TestLongestList: a list has at most as many objects as a vCenter can have.
func TestLongestList(t *testing.T) {
	page := &types.RetrieveResult{Objects: []types.ObjectContent{{}}}
	expect.OK(t, Objects{}.add(page, maxObjects, Source{}, nil))
	expect.Says(t, "one more", Objects{}.add(page, maxObjects+1, Source{}, nil), "too large: more than 50000 objects")
}

// TestReadHasRoom: what is wanted of a list takes room, and nothing else of it; a list that finds none is an error.
func TestReadHasRoom(t *testing.T) {
	kept := &tenants.Bytes{}
	room := &Loan{share: kept.Share("team")}
	page := &types.RetrieveResult{}
	for i := range maxObjects {
		page.Objects = append(page.Objects, types.ObjectContent{
			Obj:     types.ManagedObjectReference{Type: "Folder", Value: fmt.Sprint("group-", i)},
			PropSet: []types.DynamicProperty{{Name: "name", Val: strings.Repeat("n", 1<<10)}},
		})
	}
	first := func(o types.ManagedObjectReference, _ map[string]any) bool { return o.Value == "group-0" }
	found := Objects{}
	expect.OK(t, found.add(page, 1, Source{Keep: first}, room))
	expect.Same(t, "objects", 1, len(found))
	if taken := kept.Kept("team"); taken < 1<<10 || taken > 4<<10 {
		t.Errorf("an object with a name of 1 KiB takes %d bytes", taken)
	}
	expect.Same(t, "no room", true, errors.Is(found.add(page, 1, Source{}, room), ErrNoRoom))
	room.End()
	expect.Same(t, "kept in the end", 0, kept.Kept("team"))
}
