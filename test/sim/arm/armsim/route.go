package armsim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/buckets"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rights"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// request is a call on its way.
type request struct {
	Call
	id     doc.ID // of the resource; for a list and an operation, its scope and type
	list   bool
	action string // a POST, or a part of the resource that is read
	query  url.Values
	header http.Header
	client rights.Client
	body   doc.Object
}

// route reads a path. A path that means nothing has no class.
func route(r *http.Request) *request {
	q := &request{Call: Call{Method: r.Method}, query: r.URL.Query(), header: r.Header}
	q.Version = q.query.Get("api-version")
	path := strings.Trim(r.URL.Path, "/")
	id, whole := doc.ParseID(path)
	scope, kind, _ := cutFold(path, "/providers/")
	of, isScope := doc.ParseID(scope)
	switch {
	case isScope && doc.Same(kind, permissions): // of the caller, at any scope [D]
		q.id, q.Class = of, "permissions"
		return q
	case isScope && doc.Same(kind, tagsOf+"/default"):
		q.id, q.Class, q.ID, q.Resource = of, "tags", of.Key(), of.Name()
		return q
	case isScope && q.isProvider(of, kind):
		return q
	case doc.Same(path, "subscriptions"):
		q.Class = "subscription list"
		return q
	case whole && id.Provider != "" || whole && id.Group != "" && id.Provider == "":
		q.id = id
	case whole:
		q.id, q.Class = id, "subscription"
		return q
	default:
		if !q.scoped(path) {
			return q
		}
	}
	q.classify()
	return q
}

// isProvider reads the path of a resource provider in a subscription.
func (q *request) isProvider(of doc.ID, kind string) bool {
	if of.Provider != "" || of.Group != "" || kind == "" || strings.Contains(kind, "/") {
		return false
	}
	q.id, q.Class = doc.ID{Subscription: of.Subscription, Provider: kind}, "provider"
	return true
}

const permissions = "Microsoft.Authorization/permissions"

// scoped reads a path that ends in a type (a list) or in an action.
func (q *request) scoped(path string) bool {
	at := strings.LastIndex(path, "/")
	if at < 0 {
		return false
	}
	last := path[at+1:]
	if id, ok := doc.ParseID(path[:at]); ok && len(id.Types) > 0 { // .../virtualMachines/NAME/start
		q.id, q.action = id, strings.ToLower(last)
		parts := []string{"instanceview", "versions", "subnets", "operations", "usages", "extensions", "runcommands"}
		return q.Method == http.MethodPost || slices.Contains(parts, q.action)
	}
	if scope, kind, ok := cutFold(path, "/providers/"); ok { // .../providers/Microsoft.Compute/virtualMachines
		id, isScope := doc.ParseID(scope)
		provider, types, two := strings.Cut(kind, "/")
		if isScope && two && !strings.Contains(types, "/") {
			id.Provider, id.Types, id.Names = provider, []string{types}, []string{""}
			q.id, q.list = id, true
			return true
		}
	}
	class, known := ofPlaces[strings.ToLower(last)]
	id, ok := doc.ParseID(path[:at])
	if !ok || !known || id.Provider != "" || (class == "move") != (id.Group != "") {
		return false
	}
	q.id, q.list, q.Class = id, class != "move", class
	return true
}

// ofPlaces are the calls about a subscription or a group that have no provider in their path.
var ofPlaces = map[string]string{"resourcegroups": "group list", "moveresources": "move"}

func cutFold(s, sep string) (before, after string, found bool) {
	at := strings.LastIndex(strings.ToLower(s), sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}

// classes are the short names of types that clients of VMs use.
var classes = map[string]string{
	strings.ToLower(compute.VM): "vm", strings.ToLower(compute.Disk): "disk", strings.ToLower(network.NIC): "nic",
	strings.ToLower(network.PublicIP): "public ip", strings.ToLower(compute.Extension): "vm extension",
	strings.ToLower(compute.RunCommand): "vm run command",
	"microsoft.compute/skus":            "sku", "microsoft.compute/locations/operations": "vm operation",
	"microsoft.resources/locations/operations": "move operation",
	"microsoft.network/locations/operations":   "nic operation", "microsoft.network/locations/operationresults": "nic operation",
}

// short is the short name of a type.
func short(kind string) string {
	kind = strings.ToLower(kind)
	if name, ok := classes[kind]; ok {
		return name
	}
	return strings.TrimPrefix(kind, "/")
}

func (q *request) classify() {
	short := short(q.id.Type())
	q.ID = q.id.Key()
	q.Resource = q.id.Name()
	switch {
	case q.Class != "":
	case q.id.Provider == "":
		q.Class = "group"
	case q.list && short == "vm" && doc.Same(q.query.Get("statusOnly"), "true"):
		q.Class, q.Resource = "vm status list", q.id.Group
	case q.list:
		q.Class, q.Resource = short+" list", q.id.Group
	case q.action == "retrievebootdiagnosticsdata":
		q.Class = "vm boot log"
	case q.action == "instanceview":
		q.Class = "vm view"
	case q.action != "":
		q.Class = short + " " + q.action
	default:
		q.Class = short
	}
	if strings.HasSuffix(q.Class, "operation") {
		q.Resource = "" // filled in once the operation is known
	}
}

// needs are the actions that the call takes.
func (q *request) needs() []rights.Need {
	kind := q.id.Type()
	scope := q.scope()
	switch {
	case q.Class == "subscription list": // shows those for which the caller has a right
		return nil
	case q.Class == "move":
		return q.moveNeeds()
	case q.Class == "tags":
		return []rights.Need{{Action: rights.Action(q.Method, tagsOf, ""), Scope: scope}}
	case q.Class == "permissions":
		return []rights.Need{{Action: permissions + "/read", Scope: scope}}
	case q.Class == "provider":
		return []rights.Need{{Action: "Microsoft.Resources/subscriptions/providers/read", Scope: "/subscriptions/" + q.id.Subscription}}
	case q.Class == "subscription":
		return []rights.Need{{Action: "Microsoft.Resources/subscriptions/read", Scope: scope}}
	case strings.HasPrefix(q.Class, "group"):
		return []rights.Need{{Action: "Microsoft.Resources/subscriptions/resourceGroups/read", Scope: scope}}
	case strings.HasPrefix(q.Class, "vm operation"), strings.HasPrefix(q.Class, "nic operation"):
		return []rights.Need{{Action: q.id.Provider + "/locations/operations/read", Scope: "/subscriptions/" + q.id.Subscription}}
	}
	needs := []rights.Need{{Action: rights.Action(q.Method, kind, q.action), Scope: scope}}
	switch {
	case q.body == nil:
	case q.Class == "vm":
		needs = append(needs, rights.Linked(q.id, q.body)...)
	case q.Class == "nic":
		needs = append(needs, rights.Joins(doc.Of(q.body, "properties"))...)
	}
	return needs
}

// kind selects what a list of a type shows.
func (q *request) kind(of string) world.Kind {
	return world.Kind{Type: of, Subscription: q.id.Subscription, Group: q.id.Group}
}

func (q *request) scope() string {
	if !q.list {
		return q.id.String()
	}
	return doc.ID{Subscription: q.id.Subscription, Group: q.id.Group}.String()
}

// takes is what the call takes from the buckets.
func (q *request) takes(region string) buckets.Request {
	take := buckets.Request{
		Subscription: q.id.Subscription, Principal: q.client.ID, Region: region, Door: door(q.Method), Class: q.bucket(),
	}
	if q.id.Is(compute.VM) && !q.list {
		take.VM = q.ID
	}
	return take
}

func door(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		return buckets.Reads
	case http.MethodDelete:
		return buckets.Deletes
	}
	return buckets.Writes
}

// bucket is the class of throttling [D compute-throttling-limits]: deallocating and evicting count as deletions.
func (q *request) bucket() string {
	read := q.Method == http.MethodGet
	switch {
	case doc.Same(q.id.Provider, network.Provider) && read:
		return buckets.NetworkRead
	case doc.Same(q.id.Provider, network.Provider):
		return buckets.NetworkWrite
	case q.Class == "vm operation":
		return buckets.GetOperation
	case !strings.HasPrefix(q.Class, "vm"):
		return buckets.Free
	case q.list:
		return buckets.HighCostGet
	case read, q.Class == "vm boot log":
		return buckets.LowCostGet
	case q.Method == http.MethodDelete, q.action == "deallocate", q.action == "simulateeviction":
		return buckets.DeleteVM
	case q.Method == http.MethodPut:
		return buckets.PutVM
	}
	return buckets.UpdateVM
}
