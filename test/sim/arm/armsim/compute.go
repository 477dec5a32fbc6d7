package armsim

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rules"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// vm is a call about VMs.
func (in *Inside) vm(q *request) (*answer, *reply.Error) {
	switch {
	case q.list:
		return in.vms(q)
	case q.Method == http.MethodGet:
		return in.getVM(q)
	case q.Method == http.MethodPut && q.action == "", q.Method == http.MethodPatch && q.action == "":
		return in.putVM(q)
	case q.Method == http.MethodDelete && q.action == "":
		return accepted(in.Compute.Delete(q.id, doc.Same(q.query.Get("forceDeletion"), "true"))), nil
	case q.Method == http.MethodPost:
		return in.act(q)
	}
	return nil, notAllowed(q)
}

func accepted(a *compute.Answer) *answer { return &answer{status: a.Status, body: a.Body, op: a.Op} }

// vms is a list of VMs, in a group or in the subscription. Only statusOnly=true has power states, and only a list of the
// subscription knows it [D]; $expand=instanceView is refused without a filter on a scale set [V the SDK's comment].
func (in *Inside) vms(q *request) (*answer, *reply.Error) {
	if doc.Same(q.query.Get("$expand"), "instanceView") && q.query.Get("$filter") == "" {
		return nil, reply.InvalidParameter("$expand", "The value of parameter $expand is invalid.")
	}
	set, filtered, refused := setOf(q.query.Get("$filter"))
	if refused != nil {
		return nil, refused
	}
	return in.paged(q, func() []doc.Object {
		var all []doc.Object
		for _, r := range in.World.List(q.kind(compute.VM)) {
			if filtered && !doc.Same(doc.Text(r.Body, "properties", "virtualMachineScaleSet", "id"), set) {
				continue
			}
			if q.Class == "vm status list" {
				all = append(all, in.Compute.Status(r))
				continue
			}
			all = append(all, in.Compute.View(r, q.Version, q.query.Get("$expand") != ""))
		}
		return all
	})
}

var ofSet = regexp.MustCompile(`^'virtualMachineScaleSet/id' eq '([^']+)'$`)

// setOf is the scale set whose VMs a list wants: the only filter that it knows [D].
func setOf(filter string) (set string, filtered bool, refused *reply.Error) {
	if filter == "" {
		return "", false, nil
	}
	of := ofSet.FindStringSubmatch(filter)
	if of == nil {
		return "", false, reply.InvalidParameter("$filter", "The value of parameter $filter is invalid.")
	}
	return of[1], true, nil
}

func (in *Inside) getVM(q *request) (*answer, *reply.Error) {
	r := in.World.See(q.id)
	switch {
	case r == nil:
		return nil, reply.ResourceNotFound(compute.VM, q.id.Name(), q.id.Group)
	case q.Class == "vm view":
		return ok(in.Compute.InstanceView(q.id)), nil
	case q.action != "":
		return nil, notAllowed(q)
	}
	return ok(in.Compute.View(r, q.Version, doc.Same(q.query.Get("$expand"), "instanceView"))), nil
}

func (in *Inside) putVM(q *request) (*answer, *reply.Error) {
	exists := in.World.Find(q.id) != nil
	if q.Method == http.MethodPatch && !exists {
		return nil, reply.ResourceNotFound(compute.VM, q.id.Name(), q.id.Group)
	}
	check := rules.Request{ID: q.id, Body: q.body, Version: q.Version, Create: !exists}
	if refused := rules.CheckVM(check); refused != nil {
		return nil, refused
	}
	a, refused := in.Compute.Put(compute.Request{
		ID: q.id, Body: q.body, Version: q.Version, IfMatch: q.header.Get("If-Match"), IfNoneMatch: q.header.Get("If-None-Match"),
	})
	if refused != nil {
		return nil, refused
	}
	return accepted(a), nil
}

func (in *Inside) act(q *request) (*answer, *reply.Error) {
	switch q.action {
	case "retrievebootdiagnosticsdata":
		return in.bootLog(q)
	case "simulateeviction":
		if in.Compute.Evict(q.id) {
			return &answer{status: http.StatusNoContent}, nil
		}
		return nil, reply.New(http.StatusConflict, "OperationNotAllowed",
			"Operation 'simulateEviction' is not allowed on VM '%s' since it is not an Azure Spot VM.", q.id.Name())
	}
	a, refused, known := in.Compute.Act(q.id, q.action)
	switch {
	case !known:
		return nil, notAllowed(q)
	case refused != nil:
		return nil, refused
	}
	return accepted(a), nil
}

// disk is a call about disks. All but empty ones are made with VMs only.
func (in *Inside) disk(q *request) (*answer, *reply.Error) {
	switch {
	case q.list:
		return in.paged(q, func() []doc.Object { return in.shown(q.kind(compute.Disk)) })
	case q.Method == http.MethodGet:
		return in.read(q)
	case q.Method == http.MethodPut:
		check := rules.Request{ID: q.id, Body: q.body, Version: q.Version, Create: in.World.Find(q.id) == nil}
		if refused := rules.CheckDisk(check); refused != nil {
			return nil, refused
		}
		return accepted(in.Compute.PutDisk(q.id, q.body)), nil
	case q.Method == http.MethodDelete:
		op, refused := in.Compute.DeleteDisk(q.id)
		return deleting(op, refused)
	}
	return nil, notAllowed(q)
}

func deleting(op *world.Operation, refused *reply.Error) (*answer, *reply.Error) {
	switch {
	case refused != nil:
		return nil, refused
	case op == nil:
		return &answer{status: http.StatusNoContent}, nil
	}
	return &answer{status: http.StatusAccepted, op: op}, nil
}

// skus is one list, without pages in practice [V]. The filter knows location only [D].
func (in *Inside) skus(q *request) *answer {
	location := Location
	if filter := q.query.Get("$filter"); filter != "" {
		_, value, _ := strings.Cut(filter, "'")
		location = strings.TrimSuffix(value, "'")
	}
	return ok(doc.Object{"value": doc.Objects(in.Compute.SKUs(location)...)})
}
