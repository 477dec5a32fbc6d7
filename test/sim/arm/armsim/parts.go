package armsim

import (
	"net/http"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rules"
)

// isPart says that a call is about an extension or a run command of a VM, or lists them.
func (q *request) isPart() bool {
	return q.id.Is(compute.Extension) || q.id.Is(compute.RunCommand) || q.partKind() != ""
}

// partKind is what a call lists of a VM.
func (q *request) partKind() string {
	return map[string]string{"extensions": compute.Extension, "runcommands": compute.RunCommand}[q.action]
}

// part is a call about what the agent of a VM does.
func (in *Inside) part(q *request) (*answer, *reply.Error) {
	kind := q.partKind()
	switch {
	case kind != "" && q.Method == http.MethodGet:
		if in.World.See(q.id) == nil {
			return nil, reply.ResourceNotFound(compute.VM, q.id.Name(), q.id.Group)
		}
		return ok(doc.Object{"value": doc.Objects(in.Compute.Parts(q.id, kind)...)}), nil
	case q.action != "":
		return nil, notAllowed(q)
	case q.Method == http.MethodPut:
		return in.putPart(q)
	case q.Method == http.MethodDelete:
		op, refused := in.Compute.DeletePart(q.id)
		return deleting(op, refused)
	case q.Method != http.MethodGet:
		return nil, notAllowed(q)
	}
	r := in.World.See(q.id)
	if r == nil {
		return nil, reply.ResourceNotFound(compute.VM, q.id.Names[0]+"/"+q.id.Types[1]+"/"+q.id.Name(), q.id.Group)
	}
	return ok(in.Compute.ViewPart(r, doc.Same(q.query.Get("$expand"), "instanceView"))), nil
}

func (in *Inside) putPart(q *request) (*answer, *reply.Error) {
	check := rules.Request{ID: q.id, Body: q.body, Version: q.Version, Create: in.World.Find(q.id) == nil}
	if refused := rules.CheckPart(check); refused != nil {
		return nil, refused
	}
	a, refused := in.Compute.PutPart(q.id, q.body)
	if refused != nil {
		return nil, refused
	}
	return accepted(a), nil
}
