package repo

import (
	"go/ast"
	"go/types"
	"path"
	"strings"
	"testing"
)

const mostMethods = 5

// manyMethods are interfaces that may have more, with what they embed, and the reason.
var manyMethods = map[string]struct {
	most   int
	reason string
}{
	"internal/cloud.Placer":    {9, "the seam: what a cloud is, in one place; who needs less names Account or Provider"},
	"internal/cloud.Cloud":     {9, "the seam: an account, and what is done with machines in it"},
	"test/sim/guest.AzureHost": {8, "what a host of Azure shows to its guest beside what all hypervisors do"},
}

// elsewhere are interfaces of other modules that ours embed, and how many methods each has.
var elsewhere = map[string]int{"error": 1, "types.BaseVirtualDevice": 1, "types.BaseVirtualEthernetCard": 1}

// contract is an interface, and the file that has it.
type contract struct {
	source source
	body   *ast.InterfaceType
}

// TestMethodSets: whoever implements an interface writes all of its methods, also those of what it embeds.
func TestMethodSets(t *testing.T) {
	all := map[string]contract{}
	for _, s := range sources(t) {
		if s.isTest {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, is := n.(*ast.TypeSpec); is {
				if body, is := spec.Type.(*ast.InterfaceType); is {
					all[s.folder+"."+spec.Name.Name] = contract{s, body}
				}
			}
			return true
		})
	}
	for name, c := range all {
		most := mostMethods
		if allowed, is := manyMethods[name]; is {
			most = allowed.most
		}
		if has := c.methods(t, all); has > most {
			t.Errorf("%s has %d methods, with those of what it embeds; at most %d are good", name, has, most)
		} else if _, is := manyMethods[name]; is && has <= mostMethods {
			t.Errorf("%s has %d methods and needs no exception", name, has)
		}
	}
	for name := range manyMethods {
		if all[name].body == nil {
			t.Errorf("%s is an exception and not there", name)
		}
	}
}

func (c contract) methods(t *testing.T, all map[string]contract) (count int) {
	t.Helper()
	for _, field := range c.body.Methods.List {
		if len(field.Names) > 0 {
			count += len(field.Names)
			continue
		}
		name := types.ExprString(field.Type)
		switch embedded, ours := all[c.source.folderOf(name)]; {
		case ours:
			count += embedded.methods(t, all)
		case elsewhere[name] > 0:
			count += elsewhere[name]
		case c.constrains():
			return 0
		default:
			t.Errorf("%s embeds %s: say in test/repo/methods_test.go how many methods it has", c.source.position(field), name)
		}
	}
	return count
}

// constrains: it is no contract, but says which types a generic function takes.
func (c contract) constrains() bool {
	for _, field := range c.body.Methods.List {
		switch field.Type.(type) {
		case *ast.StarExpr, *ast.UnaryExpr, *ast.BinaryExpr:
			return true
		}
	}
	return false
}

// folderOf is the full name of a type of ours by the name that the file has for it.
func (s source) folderOf(name string) string {
	pkg, local, qualified := strings.Cut(name, ".")
	if !qualified {
		return s.folder + "." + name
	}
	for _, imported := range s.imports() {
		if path.Base(imported) == pkg {
			return strings.TrimPrefix(imported, module+"/") + "." + local
		}
	}
	return name
}
