package armsim

import (
	"net/http"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// NotFoundForm is what a 404 says.
type NotFoundForm string

// The forms of a 404. The first is ARM's own. NotFound is on record for VMs and disks (apcera/libretto PR #54, azure-powershell
// #9449, azuredisk-csi-driver #2467), ParentResourceNotFound for what is part of another resource [V]. An empty body is [I].
// HTML is what proxies send.
const (
	ResourceNotFound       NotFoundForm = "ResourceNotFound"
	EntityNotFound         NotFoundForm = "NotFound"
	ParentResourceNotFound NotFoundForm = "ParentResourceNotFound"
	EmptyNotFound          NotFoundForm = "empty"
	HTMLNotFound           NotFoundForm = "HTML"
)

// NotFoundForms are all of them.
var NotFoundForms = []NotFoundForm{ResourceNotFound, EntityNotFound, ParentResourceNotFound, EmptyNotFound, HTMLNotFound}

// NotFound is a 404 that calls get which name one resource. An empty member stands for all values.
type NotFound struct {
	Method string
	// Type is a type of resources: compute.VM, compute.Disk, network.NIC, network.PublicIP.
	Type string
	Name string
	Form NotFoundForm
	// Proxy has the 404 come from a proxy before ARM: it has none of ARM's headers, and no right or bucket was asked.
	Proxy bool
}

// AnswerNotFound has ARM, or a proxy before it, answer some calls with 404 from now on. It replaces what was set before; without
// arguments no call is answered so.
func (c *Cloud) AnswerNotFound(all ...NotFound) {
	c.Change(func(w *Inside) { w.notFound = all })
}

// missing is the 404 that a test wants a call to get.
func (in *Inside) missing(q *request, byProxy bool) *NotFound {
	if q.list || q.action != "" || len(q.id.Types) == 0 {
		return nil
	}
	for i, n := range in.notFound {
		if n.Proxy == byProxy && (n.Method == "" || n.Method == q.Method) && (n.Type == "" || q.id.Is(n.Type)) &&
			(n.Name == "" || doc.Same(n.Name, q.id.Name())) {
			return &in.notFound[i]
		}
	}
	return nil
}

func (n *NotFound) write(w http.ResponseWriter, id doc.ID, method string) {
	if n.Proxy {
		for name := range w.Header() {
			if strings.HasPrefix(name, "X-Ms-") {
				w.Header().Del(name)
			}
		}
	}
	e := reply.New(http.StatusNotFound, "NotFound", "The entity was not found in this Azure location.") // [V apcera/libretto #54]
	switch n.Form {
	case EmptyNotFound:
		reply.JSON(w, http.StatusNotFound, nil)
		return
	case HTMLNotFound:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>"))
		return
	case ParentResourceNotFound:
		e = reply.ParentNotFound(map[string]string{http.MethodGet: "read", http.MethodDelete: "delete"}[method], id.Type(), id.Name())
	case ResourceNotFound:
		e = reply.ResourceNotFound(id.Type(), id.Name(), id.Group)
	}
	if n.Proxy {
		reply.JSON(w, http.StatusNotFound, map[string]any{"error": e.Body()})
		return
	}
	e.Write(w)
}
