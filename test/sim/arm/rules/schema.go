package rules

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// node is a member of a body.
type node struct {
	name, kind string // kind: text, int, number, bool, object, list (of objects), texts, map, any
	path       []string
	required   bool
	readOnly   bool
	since      string
	values     []string
	id         string // the type that an id must have, "*" for any
	children   []*node
}

// Member is a node as tests see it: its path, and what to break.
type Member struct {
	Path                     []string
	Kind, Since, ID          string
	Required, ReadOnly, List bool
	Values                   []string
}

// parseTree reads a tree of members: one per line, two blanks deeper than its object, then its kind, then what holds for it:
// "required", "readonly", "since=VERSION", "values=a|b", "id=TYPE".
func parseTree(text string) *node {
	root := &node{kind: "object"}
	stack := []*node{root}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		n := &node{name: fields[0], kind: fields[1]}
		for _, word := range fields[2:] {
			n.mark(word)
		}
		parent := stack[depth]
		n.path = append(slices.Clone(parent.path), n.name)
		parent.children = append(parent.children, n)
		stack = append(stack[:depth+1], n)
	}
	return root
}

func (n *node) mark(word string) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "required":
		n.required = true
	case "readonly":
		n.readOnly = true
	case "since":
		n.since = value
	case "values":
		n.values = strings.Split(strings.ReplaceAll(value, "_", " "), "|")
		for i, v := range n.values {
			n.values[i] = strings.ReplaceAll(v, "~", "_")
		}
	case "id":
		n.id = value
	default:
		panic("rules: unknown word " + word)
	}
}

// rules are: no unknown member, and one rule per mark of a member.
func (n *node) rules() []Rule {
	all := []Rule{{Name: "known members", Check: func(r Request) *reply.Error { return n.unknown(r, r.Body, nil) }}}
	n.walk(func(m *node) { all = append(all, m.own(n)...) })
	return all
}

func (n *node) walk(visit func(*node)) {
	for _, child := range n.children {
		visit(child)
		child.walk(visit)
	}
}

// Members lists the members that have rules of their own.
func Members(of string) []Member {
	tree := map[string]*node{"vm": vmTree, "nic": nicTree}[of]
	var all []Member
	tree.walk(func(n *node) {
		if n.required || n.readOnly || n.since != "" || n.values != nil || n.id != "" {
			all = append(all, Member{
				Path: n.path, Kind: n.kind, Since: n.since, ID: n.id, Required: n.required, ReadOnly: n.readOnly,
				Values: n.values, List: n.kind == "list",
			})
		}
	})
	return all
}

// IsList says whether the member at a path is a list of objects.
func IsList(of string, path []string) bool {
	n := map[string]*node{"vm": vmTree, "nic": nicTree}[of]
	for _, name := range path {
		n = n.child(name)
		if n == nil {
			return false
		}
	}
	return n.kind == "list"
}

func (n *node) child(name string) *node {
	if at := slices.IndexFunc(n.children, func(c *node) bool { return c.name == name }); at >= 0 {
		return n.children[at]
	}
	return nil
}

// unknown refuses members that there are not, or not yet in this api-version, and values of another kind [V].
func (n *node) unknown(r Request, o doc.Object, path []string) *reply.Error {
	for name, value := range o {
		child := n.child(name)
		here := append(slices.Clone(path), name)
		if child == nil || (child.since != "" && r.Version < child.since) {
			return unparsed("Could not find member '%s' on object of type '%s'. Path '%s', line 1, position 1.", name, typeOf(path),
				strings.Join(here, "."))
		}
		if value == nil {
			continue
		}
		if !child.fits(value) {
			return unparsed("Error converting value to type '%s'. Path '%s', line 1, position 1.", child.kind, strings.Join(here, "."))
		}
		if refused := child.inside(r, value, here); refused != nil {
			return refused
		}
	}
	return nil
}

// unparsed is compute's answer to a body that does not fit its types [V azure-powershell #15331, for networkApiVersion].
func unparsed(format string, args ...any) *reply.Error {
	refused := reply.New(400, "InvalidRequestFormat", "Cannot parse the request.")
	refused.Details = []reply.Error{*reply.New(400, "InvalidJson", format, args...)}
	return refused
}

func (n *node) inside(r Request, value any, path []string) *reply.Error {
	if n.children == nil {
		return nil
	}
	if o, ok := value.(doc.Object); ok {
		return n.unknown(r, o, path)
	}
	for _, o := range doc.List(doc.Object{"all": value}, "all") {
		if refused := n.unknown(r, o, path); refused != nil {
			return refused
		}
	}
	return nil
}

func (n *node) fits(value any) bool {
	switch value := value.(type) {
	case string:
		return n.kind == "text" || n.kind == "any"
	case bool:
		return n.kind == "bool" || n.kind == "any"
	case float64:
		return n.kind == "number" || n.kind == "any" || (n.kind == "int" && value == float64(int(value)))
	case doc.Object:
		return n.kind == "object" || n.kind == "map" || n.kind == "any"
	case []any:
		return n.kind == "list" || n.kind == "texts" || n.kind == "any"
	}
	return false
}

func typeOf(path []string) string {
	if len(path) == 0 {
		return "ResourceDefinition"
	}
	last := path[len(path)-1]
	return strings.ToUpper(last[:1]) + last[1:]
}

// own are the rules of the member's marks.
func (n *node) own(root *node) []Rule {
	var all []Rule
	name := strings.TrimPrefix(strings.Join(n.path, "."), "properties.")
	for _, m := range n.marks(name) {
		all = append(all, Rule{Name: m.what + " " + name, Check: func(r Request) *reply.Error {
			for _, holder := range root.holders(r.Body, n.path) {
				if refused := m.check(r, holder); refused != nil {
					return refused
				}
			}
			return nil
		}})
	}
	return all
}

// mark is what is told of a member, and what refuses a request that does not heed it.
type mark struct {
	what  string
	check func(r Request, holder doc.Object) *reply.Error
}

func (n *node) marks(name string) (all []mark) {
	if n.required {
		all = append(all, mark{"required", func(r Request, holder doc.Object) *reply.Error {
			return unless(!r.Create || holder[n.name] != nil, name, "Required parameter '%s' is missing (null).", name)
		}})
	}
	if n.readOnly { // [I]: some are ignored, none is right
		all = append(all, mark{"read-only", func(r Request, holder doc.Object) *reply.Error {
			return unless(!r.Create || holder[n.name] == nil, name, "Parameter '%s' is not allowed.", name)
		}})
	}
	if n.values != nil {
		all = append(all, mark{"value of", func(_ Request, holder doc.Object) *reply.Error {
			v := doc.Text(holder, n.name)
			return unless(v == "" || slices.Contains(n.values, v), name,
				"The value '%s' of parameter '%s' is not allowed. Allowed values are %s.", v, name, strings.Join(n.values, ","))
		}})
	}
	if n.id != "" {
		all = append(all, mark{"id form of", func(_ Request, holder doc.Object) *reply.Error {
			return n.checkID(name, doc.Text(holder, n.name))
		}})
	}
	return all
}

func unless(good bool, name, format string, args ...any) *reply.Error {
	if good {
		return nil
	}
	return reply.InvalidParameter(name, format, args...)
}

func (n *node) checkID(name, id string) *reply.Error {
	if id == "" {
		return nil
	}
	parsed, ok := doc.ParseID(id)
	if ok && len(parsed.Types) > 0 && parsed.Group != "" && (n.id == "*" || parsed.Is(n.id)) && strings.HasPrefix(id, "/") {
		return nil
	}
	// [V] ARM's LinkedInvalidPropertyId
	return reply.New(400, "LinkedInvalidPropertyId", "Property id '%s' at path '%s' is invalid. Expect fully qualified resource "+
		"Id that start "+
		"with '/subscriptions/{subscriptionId}' or '/providers/{resourceProviderNamespace}/'.", id, "properties."+name)
}

// holders are the objects that have, or could have, the member at a path; lists on the way count with each object.
func (n *node) holders(o doc.Object, path []string) []doc.Object {
	if o == nil {
		return nil
	}
	if len(path) == 1 {
		return []doc.Object{o}
	}
	next := n.child(path[0])
	if next.kind != "list" {
		inner, _ := o[path[0]].(doc.Object)
		return next.holders(inner, path[1:])
	}
	var all []doc.Object
	for _, item := range doc.List(o, path[0]) {
		all = append(all, next.holders(item, path[1:])...)
	}
	return all
}
