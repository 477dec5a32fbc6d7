// Package rights says who may do what: role assignments of actions at a scope, and the actions that a call needs.
package rights

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// Rights are all role assignments.
type Rights struct {
	grants []grant
	used   map[string]map[string]bool
}

type grant struct {
	object, scope string
	actions       []string
}

// New returns no rights.
func New() *Rights { return &Rights{used: map[string]map[string]bool{}} }

// Grant assigns a role with these actions to a principal's object id at a scope and all below it. Actions may have wildcards:
// "Microsoft.Compute/*", "*/read", "*".
func (r *Rights) Grant(object, scope string, actions ...string) {
	r.grants = append(r.grants, grant{object: object, scope: doc.Key(scope), actions: actions})
}

// Revoke takes all roles of a principal away.
func (r *Rights) Revoke(object string) {
	r.grants = slices.DeleteFunc(r.grants, func(g grant) bool { return g.object == object })
}

// Suspend takes all roles of a principal away, and returns what gives them back.
func (r *Rights) Suspend(object string) (giveBack func()) {
	all := slices.Clone(r.grants)
	r.Revoke(object)
	return func() {
		for _, g := range all {
			if g.object == object {
				r.grants = append(r.grants, g)
			}
		}
	}
}

// Used lists the actions that a principal's calls needed and had.
func (r *Rights) Used(object string) []string { return slices.Sorted(maps.Keys(r.used[object])) }

// Need is an action at a scope.
type Need struct{ Action, Scope string }

// Client is who calls.
type Client struct{ ID, Object string }

// Check refuses a call for whose first need there is no right, and for a linked one.
func (r *Rights) Check(c Client, needs ...Need) *reply.Error {
	for i, need := range needs {
		if r.may(c.Object, need) {
			r.note(c.Object, need.Action)
			continue
		}
		if i == 0 {
			return reply.AuthorizationFailed(c.ID, c.Object, need.Action, need.Scope)
		}
		return reply.LinkedAuthorizationFailed(c.ID, c.Object, [2]string{needs[0].Action, needs[0].Scope},
			[2]string{need.Action, need.Scope})
	}
	return nil
}

// may says whether a principal has a right.
func (r *Rights) may(object string, need Need) bool {
	scope := doc.Key(need.Scope)
	return slices.ContainsFunc(r.grants, func(g grant) bool {
		return g.object == object && (g.scope == "" || scope == g.scope || strings.HasPrefix(scope, g.scope+"/")) &&
			slices.ContainsFunc(g.actions, func(pattern string) bool { return matches(pattern, need.Action) })
	})
}

// Of are the actions that a principal has at a scope, one list for each role.
func (r *Rights) Of(object, scope string) (all [][]string) {
	scope = doc.Key(scope)
	for _, g := range r.grants {
		if g.object == object && (g.scope == "" || scope == g.scope || strings.HasPrefix(scope, g.scope+"/")) {
			all = append(all, g.actions)
		}
	}
	return all
}

func (r *Rights) note(object, action string) {
	if r.used[object] == nil {
		r.used[object] = map[string]bool{}
	}
	r.used[object][action] = true
}

// matches compares without case; a * stands for any text.
func matches(pattern, action string) bool {
	pattern, action = strings.ToLower(pattern), strings.ToLower(action)
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == action
	}
	after, ok := strings.CutPrefix(action, first)
	if !ok {
		return false
	}
	for {
		if rest == "" {
			return true
		}
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(after, part)
		}
		at := strings.Index(after, part)
		if at < 0 {
			return false
		}
		after, rest = after[at+len(part):], next
	}
}

// Action is what a call to a resource of a type needs [D resource-provider-operations]: read, write, delete, or the name of a
// POST.
func Action(method, kind, post string) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		if post != "" { // .../virtualMachines/instanceView/read
			return kind + "/" + post + "/read"
		}
		return kind + "/read"
	case http.MethodDelete:
		return kind + "/delete"
	case http.MethodPost:
		return kind + "/" + post + "/action"
	}
	return kind + "/write"
}
