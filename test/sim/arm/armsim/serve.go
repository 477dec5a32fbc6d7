package armsim

import (
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rights"
)

// serve is the way of every request.
func (c *Cloud) serve(w http.ResponseWriter, r *http.Request) {
	if c.tokens(w, r) || c.open(w, r) {
		return
	}
	q := route(r)
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20)) // [D] 4 MB
	if err != nil {
		return
	}
	silent, lost := c.answer(w, r, q, content)
	if silent {
		<-r.Context().Done() // until the client gives up
	}
	if silent || lost {
		panic(http.ErrAbortHandler) // cuts the connection
	}
}

// tokens serves the token endpoints. They do not wait for the world.
func (c *Cloud) tokens(w http.ResponseWriter, r *http.Request) bool {
	c.identities.Lock()
	served := c.inside.Tokens.Serve(w, r)
	c.identities.Unlock()
	if !served {
		return false
	}
	c.Change(func(w *Inside) {
		w.calls = append(w.calls, Call{Method: r.Method, Class: "token", Resource: r.URL.Path})
	})
	return true
}

// answer does the call and writes the answer, under the lock. silent and lost are faults: no answer, and an answer that got lost.
func (c *Cloud) answer(w http.ResponseWriter, r *http.Request, q *request, content []byte) (silent, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.inside
	h := w.Header()
	in.headers(h, r)
	if missing := in.missing(q, true); missing != nil {
		in.note(q, http.StatusNotFound)
		missing.write(w, q.id, q.Method)
		return false, false
	}
	var a *answer
	refused := c.admit(h, q, content)
	if missing := in.missing(q, false); missing != nil && refused == nil {
		in.note(q, http.StatusNotFound)
		missing.write(w, q.id, q.Method)
		return false, false
	}
	if refused == nil {
		a, refused = in.refuse(q)
	}
	if a != nil && a.status == 0 {
		in.note(q, 0)
		return true, false
	}
	if refused == nil && a == nil {
		a, refused = in.do(q)
	}
	if refused != nil {
		in.note(q, refused.Status)
		refused.Write(w)
		return false, false
	}
	in.note(q, a.status)
	if in.Faults.Lose != nil && in.Faults.Lose(q.Call) {
		return false, true
	}
	in.write(w, q, a, c.server.URL)
	return false, false
}

func (in *Inside) note(q *request, status int) {
	q.Status = status
	in.calls = append(in.calls, q.Call)
}

// admit is what ARM asks before it passes a call on: who are you, does the place exist, is it too much, may you.
func (c *Cloud) admit(h http.Header, q *request, content []byte) *reply.Error {
	in := c.inside
	if q.Class == "" {
		return reply.New(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found.")
	}
	if refused := c.authenticate(h, q); refused != nil {
		return refused
	}
	if refused := checkVersion(q); refused != nil {
		return refused
	}
	if q.Class == "subscription list" {
		return nil
	}
	if !in.World.Subscriptions[strings.ToLower(q.id.Subscription)] {
		return reply.SubscriptionNotFound(q.id.Subscription)
	}
	if len(content) > 0 {
		body, err := doc.Read(content)
		if err != nil {
			return badContent(err)
		}
		q.body, q.Body = body, body
	}
	if refused := in.throttle(h, q); refused != nil {
		return refused
	}
	if refused := in.Rights.Check(q.client, q.needs()...); refused != nil {
		return refused
	}
	if q.Class != "provider" && in.unregistered(q.id.Provider) {
		return reply.NotRegistered(q.id.Provider)
	}
	if q.id.Group != "" && in.World.Group(q.id.Subscription, q.id.Group) == nil {
		return reply.ResourceGroupNotFound(q.id.Group)
	}
	if refused := in.inMove(q); refused != nil {
		return refused
	}
	return in.locked(q)
}

func (in *Inside) throttle(h http.Header, q *request) *reply.Error {
	region := Location
	if r := in.World.Find(q.id); r != nil {
		region = doc.Text(r.Body, "location")
	}
	return in.Buckets.Take(q.takes(region), h)
}

func (c *Cloud) authenticate(h http.Header, q *request) *reply.Error {
	p, code, message := c.inside.Tokens.Check(q.header.Get("Authorization"))
	if p == nil {
		h.Set("Www-Authenticate", `Bearer authorization_uri="`+c.server.URL+"/"+Tenant+`", error="invalid_token", error_description="`+
			message+`"`)
		return reply.New(http.StatusUnauthorized, code, "%s", message)
	}
	q.client = rights.Client{ID: p.ClientID, Object: p.ObjectID}
	q.Principal = p.ClientID
	return nil
}

var dated = regexp.MustCompile(`^20\d\d-\d\d-\d\d(-preview|-privatepreview)?$`)

// leastWrite is the oldest api-version that the simulator knows for writes of the compute provider: deleteOption begins with it
// [D]. Reads may be of any, as the cloud controller manager's are (VM 2017-12-01, NIC 2018-11-01) [V].
const leastWrite = "2021-03-01"

func checkVersion(q *request) *reply.Error {
	switch {
	case q.Version == "":
		return reply.New(http.StatusBadRequest, "MissingApiVersionParameter",
			"The api-version query parameter (?api-version=) is required for all requests.")
	case !dated.MatchString(q.Version):
		return reply.New(http.StatusBadRequest, "InvalidApiVersionParameter", "The api-version '%s' is invalid. The supported "+
			"versions are "+
			"'2026-04-01,2025-04-01,2024-11-01,2024-07-01,2021-03-01'.", q.Version)
	case q.Class == "vm" && q.Method != http.MethodGet && q.Version < leastWrite:
		return reply.New(http.StatusBadRequest, "NoRegisteredProviderFound", "No registered resource provider found for location "+
			"'%s' and API "+
			"version '%s' for type 'virtualMachines'. The supported api-versions are '2021-03-01, 2021-04-01, 2021-07-01, 2021-11-01, "+
			"2022-03-01, 2022-08-01, 2022-11-01, 2023-03-01, 2023-07-01, 2023-09-01, 2024-03-01, 2024-07-01, 2024-11-01, 2025-04-01, "+
			"2026-04-01'. The supported locations are '%s'.", Location, q.Version, Location)
	}
	return nil
}

// badContent is ARM's own refusal of what is no JSON [V].
func badContent(err error) *reply.Error {
	return reply.New(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be "+
		"deserialized: '%v'.",
		err)
}

// locked refuses what a management lock forbids: CanNotDelete forbids deletions at the scope and below it [D].
func (in *Inside) locked(q *request) *reply.Error {
	if q.Method != http.MethodDelete {
		return nil
	}
	for _, scope := range in.locks {
		if q.ID == doc.Key(scope) || strings.HasPrefix(q.ID, doc.Key(scope)+"/") {
			return reply.Locked(q.id.String(), "delete", scope)
		}
	}
	return nil
}

// refuse is what a test wants answered.
func (in *Inside) refuse(q *request) (*answer, *reply.Error) {
	if in.Faults.Refuse == nil {
		return nil, nil
	}
	refusal := in.Faults.Refuse(q.Call)
	switch {
	case refusal == nil:
		return nil, nil
	case refusal.Status == 0:
		return &answer{}, nil
	}
	e := reply.New(refusal.Status, refusal.Code, "%s", refusal.Message)
	e.RetryAfter = refusal.RetryAfter
	return nil, e
}

// headers are on every answer [D].
func (in *Inside) headers(h http.Header, r *http.Request) {
	id := in.World.UUID()
	h.Set("X-Ms-Request-Id", id)
	correlation := r.Header.Get("X-Ms-Correlation-Request-Id")
	if correlation == "" {
		correlation = id
	}
	h.Set("X-Ms-Correlation-Request-Id", correlation)
	if client := r.Header.Get("X-Ms-Client-Request-Id"); client != "" &&
		strings.EqualFold(r.Header.Get("X-Ms-Return-Client-Request-Id"), "true") {
		h.Set("X-Ms-Client-Request-Id", client)
	}
	h.Set("X-Ms-Routing-Request-Id", "WESTEUROPE:"+in.World.Clock.Now().UTC().Format("20060102T150405Z")+":"+id)
	h.Set("Cache-Control", "no-cache")
	h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
}

// ofARM are the calls that ARM serves itself, of any type of resources.
var ofARM = map[string]func(*Inside, *request) (*answer, *reply.Error){
	"permissions": (*Inside).permissions, "tags": (*Inside).tags, "move": (*Inside).move,
}

// do passes the call on to its provider.
func (in *Inside) do(q *request) (*answer, *reply.Error) {
	if serve, ok := ofARM[q.Class]; ok {
		return serve(in, q)
	}
	switch {
	case strings.HasSuffix(q.Class, "operation"):
		return in.operation(q)
	case strings.HasPrefix(q.Class, "subscription"), strings.HasPrefix(q.Class, "group"):
		return in.place(q)
	case q.isPart():
		return in.part(q)
	case strings.HasPrefix(q.Class, "vm"):
		return in.vm(q)
	case strings.HasPrefix(q.Class, "disk"):
		return in.disk(q)
	case q.Class == "provider":
		return in.provider(q)
	case q.action == "usages":
		return ok(doc.Object{"value": doc.Objects(in.Compute.Usages(q.id)...)}), nil
	case q.id.Is(compute.ManagedImage), strings.Contains(q.Class, "images"), strings.HasSuffix(q.Class, "skus/versions"):
		return in.image(q)
	case q.Class == "sku list":
		return in.skus(q), nil
	case strings.HasPrefix(q.Class, "nic"):
		return in.nic(q)
	case q.Method == http.MethodGet:
		return in.read(q)
	case q.Method == http.MethodDelete && q.Class == "public ip":
		op, refused := in.Network.DeletePublic(q.id)
		return deleting(op, refused)
	}
	return nil, notAllowed(q)
}

func notAllowed(q *request) *reply.Error {
	return reply.New(http.StatusMethodNotAllowed, "HttpMethodNotAllowed", "The HTTP method '%s' is not supported for '%s' in this "+
		"simulator.",
		q.Method, q.id.Type())
}
