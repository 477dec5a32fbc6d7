package armsim

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/rights"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/world"
)

// resourcesRead is the right to list the resources of a subscription [D resource-provider-operations].
const resourcesRead = "Microsoft.Resources/subscriptions/resources/read"

// resources is ARM's own list of the resources of a subscription [D learn.microsoft.com/rest/api/resources/resources/list].
//
// It is served from what ARM itself has noted of resources, so it is late as other lists are [D delete-resource-group: "Resource
// Manager removes the resource from its cache"]. A caller sees those resources for which he has the right: with a role at one
// group only, those of this group, and no 403 [I, as azure-cli #27586 expects of the list of groups]. A caller without the right
// anywhere in the subscription is refused at the subscription's scope [V microsoft/startstopv2-deployments #21].
func (in *Inside) resources(q *request) (*answer, *reply.Error) {
	if q.Method != http.MethodGet {
		return nil, notAllowed(q)
	}
	filter, refused := filterOf(q.query.Get("$filter"))
	if refused != nil {
		return nil, refused
	}
	if refused := in.Rights.CheckWithin(q.client, rights.Need{Action: resourcesRead, Scope: q.scope()}); refused != nil {
		return nil, refused
	}
	return in.paged(q, func() []doc.Object {
		var all []doc.Object
		for _, r := range in.World.List(world.Kind{Subscription: q.id.Subscription}) {
			need := rights.Need{Action: resourcesRead, Scope: r.ID.String()}
			if tracked(r.ID) && filter.has(r.Body) && in.Rights.May(q.client.Object, need) {
				all = append(all, in.listed(r, filter))
			}
		}
		return all
	})
}

// tracked says that ARM knows of a resource: of parts of others it knows extensions and run commands, not subnets or pools [D].
func tracked(id doc.ID) bool {
	return len(id.Types) == 1 || id.Is(compute.Extension) || id.Is(compute.RunCommand)
}

// listed is a resource as the list shows it. When it is asked for a tag's name and value, "the tags for each resource are not
// returned in the results" [D].
func (in *Inside) listed(r *world.Resource, filter tagFilter) doc.Object {
	shown := doc.Object{
		"id": in.World.Shown(r.ID), "name": strings.Join(r.ID.Names, "/"), "type": r.ID.Type(),
		"location": doc.Text(r.Body, "location"),
	}
	if tags := doc.Of(r.Body, "tags"); tags != nil && filter.name == "" {
		shown["tags"] = doc.Clone(tags)
	}
	if owner := doc.Text(r.Body, "managedBy"); owner != "" {
		shown["managedBy"] = owner
	}
	return shown
}

// tagFilter selects resources by a tag. Names of tags are the same in any case, values are not [D tag-resources].
type tagFilter struct {
	name, value string
	anyValue    bool
}

func (f tagFilter) has(body doc.Object) bool {
	if f.name == "" {
		return true
	}
	for name, value := range doc.Of(body, "tags") {
		if doc.Same(name, f.name) && (f.anyValue || value == f.value) {
			return true
		}
	}
	return false
}

var byTag = regexp.MustCompile(`(?i)^\s*tagName\s+eq\s+'((?:[^']|'')+)'(?:\s+and\s+tagValue\s+eq\s+'((?:[^']|'')*)')?\s*$`)

// filterOf reads a filter by a tag, in which ' is written twice [D OData]. It cannot be combined with others [D], and
// of the others the simulator knows none.
func filterOf(text string) (f tagFilter, refused *reply.Error) {
	if text == "" {
		return tagFilter{}, nil
	}
	at := byTag.FindStringSubmatchIndex(text)
	if at == nil {
		return tagFilter{}, reply.New(http.StatusBadRequest, "InvalidFilterInQueryString",
			"Invalid $filter '%s' specified in the query string.", text) // [V]
	}
	plain := func(quoted string) string { return strings.ReplaceAll(quoted, "''", "'") }
	f = tagFilter{name: plain(text[at[2]:at[3]]), anyValue: at[4] < 0}
	if !f.anyValue {
		f.value = plain(text[at[4]:at[5]])
	}
	return f, nil
}
