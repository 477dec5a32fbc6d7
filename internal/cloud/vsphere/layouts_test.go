package vsphere

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// layout is a way of docs/vcenter.md to give the roles, with a kind of resource pool.
type layout struct {
	name, pool string
	sees       bool // all of the datacenter
	blocks     []int
}

// The blocks of commands under "With govc".
const (
	accountBlock = iota
	bothBlock
	firstBlock
	narrowBlock
	ownPoolBlock
	lastBlock
)

const (
	ownPool  = vcenter.ResourcePool + "/nodes"
	hostPool = "DC0_H0/Resources"
)

// layouts are all that the page describes.
var layouts = []layout{
	{"first choice, root pool of a cluster", vcenter.ResourcePool, true, []int{bothBlock, firstBlock}},
	{"first choice, root pool of a host", hostPool, true, []int{bothBlock, firstBlock}},
	{"first choice, another pool", ownPool, true, []int{bothBlock, firstBlock}},
	{"narrow, root pool of a cluster", vcenter.ResourcePool, false, []int{bothBlock, narrowBlock}},
	{"narrow, root pool of a host", hostPool, false, []int{bothBlock, narrowBlock}},
	{"narrow, another pool", ownPool, false, []int{bothBlock, narrowBlock, ownPoolBlock}},
}

var firstLayout, narrowLayout = layouts[0], layouts[3]

// stage is a vCenter that has the layout's pool, and a template that has what a clone has to change.
func (l layout) stage(t *testing.T) *stage {
	t.Helper()
	hosts := 0
	if l.pool == hostPool {
		hosts = 1
	}
	v := &stage{vcenter.New(t, func(m *simulator.Model) { m.Host = hosts }).Owner(t), t}
	if l.pool == ownPool {
		root := expect.Got(find.NewFinder(v.Client).ResourcePool(t.Context(), "/DC0/host/"+path.Dir(ownPool)))(t)
		expect.Got(root.Create(t.Context(), path.Base(ownPool), types.DefaultResourceConfigSpec()))(t)
	}
	return v.privileged()
}

// permission is one that the page's commands give.
type permission struct {
	vcenter.Permission
	role, path string
}

// commandsOfPage are those under "With govc": their words, without the word govc, by blocks.
func commandsOfPage(t *testing.T) (blocks [][][]string) {
	t.Helper()
	page := string(expect.Got(os.ReadFile(filepath.Join("..", "..", "..", "docs", "vcenter.md")))(t))
	_, page, _ = strings.Cut(page, "\n## With govc\n")
	page, _, _ = strings.Cut(page, "\n## ")
	for n, text := range strings.Split(page, "```") {
		commands, isShell := strings.CutPrefix(text, "sh\n")
		if isShell != (n%2 == 1) {
			t.Fatalf("a block of the page is none of commands: %s", text)
		}
		if !isShell {
			continue
		}
		var block [][]string
		for line := range strings.Lines(strings.ReplaceAll(commands, "\\\n", " ")) {
			if words := strings.Fields(line); words[0] == "govc" {
				block = append(block, words[1:])
			} else if words[0] != "export" {
				t.Fatalf("the page has another command: %s", line)
			}
		}
		blocks = append(blocks, block)
	}
	expect.Same(t, "blocks of commands", int(lastBlock), len(blocks))
	return blocks
}

// permissionsOfPage carries out the commands of a layout as govc does, and returns what the vCenter has of our account then.
func permissionsOfPage(t *testing.T, v *stage, l layout) (all []permission) {
	t.Helper()
	g := &govc{l: l, manager: object.NewAuthorizationManager(v.Client), paths: map[types.ManagedObjectReference]string{}}
	blocks := commandsOfPage(t)
	for _, n := range l.blocks {
		for _, words := range blocks[n] {
			g.run(t, v, words)
		}
	}
	roles := expect.Got(g.manager.RoleList(t.Context()))(t)
	for _, given := range expect.Got(g.manager.RetrieveAllPermissions(t.Context()))(t) {
		if given.Principal != vcenter.Username {
			continue
		}
		role := roles.ById(given.RoleId)
		one := permission{role: role.Name, path: g.paths[*given.Entity]}
		one.On, one.Propagate = *given.Entity, given.Propagate
		one.Privileges = slices.DeleteFunc(slices.Clone(role.Privilege), func(p string) bool { return strings.HasPrefix(p, "System.") })
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b permission) int { return strings.Compare(a.path, b.path) })
	return all
}

// govc does what the program of that name does with the same words.
type govc struct {
	l       layout
	manager *object.AuthorizationManager
	paths   map[types.ManagedObjectReference]string // of what has a permission
}

func (g *govc) run(t *testing.T, v *stage, words []string) {
	t.Helper()
	for i := range words {
		words[i] = os.Expand(strings.Trim(words[i], `"`), func(name string) string { return g.value(t, name) })
	}
	switch words[0] {
	case "role.create":
		expect.Got(g.manager.AddRole(t.Context(), words[1], words[2:]))(t)
	case "permissions.set":
		g.set(t, v, words[1:])
	default:
		t.Fatalf("the page has another command: %v", words)
	}
}

// value of a variable of the page, without what follows a % in its name.
func (g *govc) value(t *testing.T, name string) string {
	t.Helper()
	name, ending, _ := strings.Cut(name, "%")
	value, known := map[string]string{
		"VSPHERE_DATACENTER": vcenter.Datacenter, "VSPHERE_FOLDER": vcenter.Folder, "VSPHERE_USERNAME": vcenter.Username,
		"VSPHERE_RESOURCE_POOL": g.l.pool, "VSPHERE_WINDOWS_TEMPLATE": vcenter.Template, "TEMPLATES": ".",
		"VSPHERE_DATASTORE": "LocalDS_0", "VSPHERE_NETWORK": "DC0_DVPG0", "VSPHERE_SWITCH": "DVS0",
		"CLUSTER_OF_HOSTS": path.Dir(vcenter.ResourcePool),
	}[name]
	expect.Same(t, "the page's variable is known: "+name, true, known)
	return strings.TrimSuffix(value, ending)
}

// set is permissions.set.
func (g *govc) set(t *testing.T, v *stage, words []string) {
	t.Helper()
	var one types.Permission
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "-principal":
			i++
			one.Principal = words[i]
		case "-role":
			i++
			role := expect.Got(g.manager.RoleList(t.Context()))(t).ByName(words[i])
			expect.Same(t, "the role was made: "+words[i], true, role != nil)
			one.RoleId = role.RoleId
		case "-propagate=true", "-propagate=false":
			one.Propagate = words[i] == "-propagate=true"
		default:
			place := path.Clean(words[i])
			on := objectAt(t, v, place)
			g.paths[on] = place
			expect.OK(t, g.manager.SetEntityPermissions(t.Context(), on, []types.Permission{one}))
		}
	}
}

func objectAt(t *testing.T, v *stage, place string) types.ManagedObjectReference {
	t.Helper()
	if place == "/" {
		return v.Client.ServiceContent.RootFolder
	}
	found := expect.Got(object.NewSearchIndex(v.Client).FindByInventoryPath(t.Context(), place))(t)
	if found == nil {
		t.Fatalf("the vCenter has no %s", place)
	}
	return found.Reference()
}
