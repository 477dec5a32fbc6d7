package armsim

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// answer is what an accepted call gets.
type answer struct {
	status int
	body   doc.Object
	bare   []any // a list that comes without an object around it
	// op is what the call began. A deletion names it by Location, too.
	op     *world.Operation
	header http.Header
	next   string // the token of the next page
}

func ok(body doc.Object) *answer { return &answer{status: http.StatusOK, body: body} }

// write sends an answer. base is the server's own address.
func (in *Inside) write(w http.ResponseWriter, q *request, a *answer, base string) {
	h := w.Header()
	maps.Copy(h, a.header)
	if a.op != nil {
		in.name(h, q, a, base)
	}
	if a.next != "" {
		a.body["nextLink"] = base + "/" + strings.TrimPrefix(q.link(a.next), "/")
	}
	if etag := doc.Text(a.body, "etag"); etag != "" {
		h.Set("Etag", etag)
	}
	if a.bare != nil {
		reply.JSON(w, a.status, a.bare)
		return
	}
	if a.body == nil {
		reply.JSON(w, a.status, nil)
		return
	}
	reply.JSON(w, a.status, a.body)
}

// name tells where to ask for an operation: a PUT has Azure-AsyncOperation, a deletion and an action Location as well [V
// recordings].
func (in *Inside) name(h http.Header, q *request, a *answer, base string) {
	path := "/subscriptions/" + q.id.Subscription + "/providers/" + a.op.Provider + "/locations/" + a.op.Location +
		"/operations/" + a.op.Name
	query := url.Values{
		"api-version": {q.Version}, "t": {in.World.Suffix(18)}, "c": {in.World.Suffix(12)}, "s": {in.World.Suffix(16)},
	}
	h.Set("Azure-Asyncoperation", base+path+"?"+query.Encode())
	if q.Method != http.MethodPut && q.Method != http.MethodPatch {
		query.Set("monitor", "true")
		h.Set("Location", base+path+"?"+query.Encode())
	}
	h.Set("Azure-Asyncnotification", "Enabled")
	h.Set("Retry-After", "10")
}

// operation shows how far an operation is.
func (in *Inside) operation(q *request) (*answer, *reply.Error) {
	op := in.World.Operation(q.id.Name())
	if op == nil || !doc.Same(op.Provider, q.id.Provider) {
		// [V]
		return nil, reply.New(http.StatusNotFound, "NotFound", "The entity was not found.")
	}
	q.Resource = op.Resource.Name()
	if q.query.Get("monitor") == "true" {
		return monitor(op)
	}
	if !op.Done() {
		return &answer{status: http.StatusOK, body: op.Body(), header: http.Header{"Retry-After": {"10"}}}, nil
	}
	return ok(op.Body()), nil
}

// monitor is the older way to ask: 202 until it is done, then what the operation has to say.
func monitor(op *world.Operation) (*answer, *reply.Error) {
	switch {
	case !op.Done():
		return &answer{status: http.StatusAccepted, header: http.Header{"Retry-After": {"10"}}}, nil
	case op.Failure() != nil:
		return nil, op.Failure()
	}
	return &answer{status: http.StatusOK}, nil
}

// page is the rest of a list. A list is one look at the world: its pages are told from it, later changes do not show.
type page struct {
	key   string
	rest  []doc.Object
	count int
}

// paged answers a list in pages. The token of the next page means nothing to a client [D].
func (in *Inside) paged(q *request, all func() []doc.Object) (*answer, *reply.Error) {
	var p page
	if token := q.query.Get("$skiptoken"); token != "" {
		known, ok := in.pages[token]
		if !ok || known.key != q.ID+q.Class+q.query.Get("$filter") {
			// [V]
			return nil, reply.New(http.StatusBadRequest, "InvalidParameter", "The provided $skiptoken '%s' is invalid.", token)
		}
		p = known
	} else {
		p = page{key: q.ID + q.Class + q.query.Get("$filter"), rest: all()}
	}
	p.count++
	q.Page = p.count
	n := len(p.rest)
	if in.Faults.PageSize > 0 {
		n = min(n, in.Faults.PageSize)
	}
	a := ok(doc.Object{"value": doc.Objects(p.rest[:n]...)})
	if p.rest = p.rest[n:]; len(p.rest) > 0 {
		a.next = in.World.Suffix(32)
		in.pages[a.next] = p
	}
	return a, nil
}

// link is the address of the next page: what was asked, and the token.
func (q *request) link(token string) string {
	query := url.Values{}
	maps.Copy(query, q.query)
	query.Set("$skiptoken", token)
	path := q.scope() + "/providers/" + q.id.Provider + "/" + strings.Join(q.id.Types, "/")
	return path + "?" + query.Encode()
}
