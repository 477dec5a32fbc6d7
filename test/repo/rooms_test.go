package repo

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/capwin/cluster-api-provider-windows"

// room says what the packages of a folder may import of ours. The longest matching folder decides.
type room struct {
	folder string
	may    []string
}

// everything is for rooms that know all others.
const everything = ""

// The picture is in docs/contributing/architecture.md.
var rooms = []room{
	{folder: "api"},
	// bootstrap is the only door of what is behind it: the rooms of a spec's parts know the plan and the ground floor, not each
	// other.
	{folder: "bootstrap", may: []string{"api", "bootstrap"}},
	{folder: "bootstrap/network", may: []string{"api", "bootstrap/calico", "bootstrap/step", "bootstrap/plan"}},
	{folder: "bootstrap/calico"},
	{folder: "bootstrap/kubelet", may: []string{"api", "bootstrap/step", "bootstrap/plan"}},
	{folder: "bootstrap/windows", may: []string{"api", "bootstrap/step", "bootstrap/plan", "bootstrap/scripts"}},
	{folder: "bootstrap/containerd", may: []string{"api", "bootstrap/step", "bootstrap/plan"}},
	{folder: "bootstrap/step", may: []string{"api", "bootstrap/plan"}},
	{folder: "bootstrap/plan"},
	{folder: "bootstrap/scripts"},
	{folder: "internal/cloud", may: []string{"api"}},
	{folder: "internal/cloud/accounts", may: []string{"api", "internal/cloud", "internal/metrics", "internal/tenants"}},
	{folder: "test/kit/cloudtest", may: []string{"api", "internal/cloud", "test/kit/expect", "test/kit/proved", "test/kit/wait"}},
	{folder: "test/sim/fake", may: []string{"api", "internal/cloud"}},
	{folder: "internal/cloud/vsphere", may: []string{"api", "internal/cloud", "internal/tenants"}},
	{folder: "internal/cloud/vsphere/session", may: []string{
		"api", "internal/breaker", "internal/cloud", "internal/metrics", "internal/tenants", "internal/turns",
	}},
	{folder: "internal/cloud/vsphere/places", may: []string{"api", "internal/cloud"}},
	{folder: "internal/cloud/vsphere/clones", may: []string{"internal/cloud"}},
	{folder: "internal/cloud/vsphere/inventory", may: []string{"internal/cloud", "internal/cloud/vsphere/seen", "internal/tenants"}},
	{folder: "internal/cloud/vsphere/inspect", may: []string{"api", "internal/cloud"}},
	{folder: "internal/cloud/vsphere/privileges"},
	{folder: "internal/cloud/vsphere/next", may: []string{"api", "internal/cloud", "internal/cloud/vsphere/seen"}},
	{folder: "internal/cloud/vsphere/request", may: []string{
		"api", "internal/cloud", "internal/cloud/vsphere/places", "internal/cloud/vsphere/seen",
	}},
	{folder: "internal/cloud/vsphere/seen", may: []string{"api", "bootstrap/plan", "internal/cloud"}},
	{folder: "internal/cloud/azure", may: []string{"api", "internal/cloud", "internal/metrics", "internal/tenants"}},
	{folder: "internal/cloud/azure/calls", may: []string{
		"api", "internal/breaker", "internal/cloud", "internal/cloud/azure/arm", "internal/cloud/azure/fault",
		"internal/cloud/azure/limiter", "internal/cloud/azure/login", "internal/cloud/azure/skus", "internal/metrics",
		"internal/tenants", "internal/turns",
	}},
	{folder: "internal/cloud/azure/lists", may: []string{
		"api", "internal/cloud", "internal/cloud/azure/arm", "internal/cloud/azure/belongings", "internal/cloud/azure/calls",
		"internal/cloud/azure/fault", "internal/cloud/azure/next", "internal/tenants",
	}},
	{folder: "internal/cloud/azure/arm", may: []string{"internal/cloud"}},
	{folder: "internal/cloud/azure/placement", may: []string{"api", "internal/cloud", "internal/cloud/azure/arm"}},
	{folder: "internal/cloud/azure/fault", may: []string{"api", "internal/cloud"}},
	{folder: "internal/cloud/azure/request", may: []string{"api", "internal/cloud", "internal/cloud/azure/arm"}},
	{folder: "internal/cloud/azure/skus", may: []string{"api", "internal/cloud"}},
	{folder: "internal/cloud/azure/limiter"},
	{folder: "internal/cloud/azure/clouds"},
	{folder: "internal/cloud/azure/login", may: []string{
		"api", "internal/cloud", "internal/cloud/azure/clouds", "internal/cloud/azure/placement",
	}},
	{folder: "internal/cloud/azure/inspect", may: []string{
		"api", "internal/cloud", "internal/cloud/azure/arm", "internal/cloud/azure/request", "internal/cloud/azure/skus",
	}},
	{folder: "internal/cloud/azure/next", may: []string{
		"api", "internal/cloud", "internal/cloud/azure/fault", "internal/cloud/azure/request",
	}},
	{folder: "internal/metrics"},
	{folder: "cmd/clusterctl-windows/objects", may: []string{"api", "config/crd"}},
	{folder: "cmd/clusterctl-windows/conflicts", may: []string{"api", "internal/cloud", "cmd/clusterctl-windows/objects"}},
	{folder: "cmd/clusterctl-windows/topology", may: []string{"api", "cmd/clusterctl-windows/objects"}},
	{folder: "cmd/clusterctl-windows/preview", may: []string{
		"api", "bootstrap", "internal/cloud", "cmd/clusterctl-windows/conflicts", "cmd/clusterctl-windows/objects",
		"cmd/clusterctl-windows/topology",
		"controllers/addresses/adapters", "controllers/inherit", "controllers/owner", "controllers/refusals",
	}},
	{folder: "cmd/clusterctl-windows/addons", may: []string{
		"api", "bootstrap", "internal/cloud", "internal/placement", "cmd/clusterctl-windows/objects", "cmd/clusterctl-windows/preview",
	}},
	{folder: "cmd/clusterctl-windows/words", may: []string{"bootstrap/plan"}},
	{folder: "cmd/clusterctl-windows/diff", may: []string{
		"bootstrap/plan", "cmd/clusterctl-windows/objects", "cmd/clusterctl-windows/preview", "cmd/clusterctl-windows/summary",
		"cmd/clusterctl-windows/words",
	}},
	{folder: "cmd/clusterctl-windows/summary", may: []string{
		"api", "bootstrap", "bootstrap/plan", "cmd/clusterctl-windows/preview", "cmd/clusterctl-windows/words",
	}},
	{folder: "cmd/clusterctl-windows/linux", may: []string{
		"api", "bootstrap", "internal/cloud", "internal/placement", "cmd/clusterctl-windows/report", "internal/policies",
	}},
	{folder: "cmd/clusterctl-windows/management", may: []string{
		"api", "bootstrap", "internal/apiserver", "internal/collect", "internal/placement", "cmd/clusterctl-windows/addons",
		"cmd/clusterctl-windows/linux",
		"cmd/clusterctl-windows/remote", "internal/policies", "internal/workload",
	}},
	{folder: "cmd/clusterctl-windows/progress", may: []string{"cmd/clusterctl-windows/screen"}},
	{folder: "cmd/clusterctl-windows/remote", may: []string{"internal/apiserver"}},
	{folder: "cmd/clusterctl-windows/report", may: []string{"internal/cloud", "cmd/clusterctl-windows/screen"}},
	{folder: "cmd/clusterctl-windows/screen"},
	{folder: "cmd/clusterctl-windows/smoke", may: []string{"internal/cloud", "cmd/clusterctl-windows/remote"}},
	{folder: "cmd/clusterctl-windows/check", may: []string{
		"api", "internal/cloud", "cmd/clusterctl-windows/conflicts", "cmd/clusterctl-windows/objects", "cmd/clusterctl-windows/preview",
		"cmd/clusterctl-windows/topology",
	}},
	{folder: "internal/version"},
	{folder: "internal/apiserver"},
	{folder: "internal/breaker"},
	{folder: "internal/tenants"},
	{folder: "internal/turns"},
	{folder: "internal/wake"},
	{folder: "internal/workload", may: []string{"internal/apiserver", "internal/breaker", "internal/tenants"}},
	{folder: "internal/placement", may: []string{"api", "bootstrap"}},
	{folder: "internal/collect", may: []string{"internal/apiserver", "internal/placement"}},
	{folder: "internal/policies", may: []string{"internal/placement"}},
	{folder: "controllers/phase", may: []string{"internal/cloud"}},
	{folder: "controllers/owner", may: []string{"controllers/caches"}},
	{folder: "controllers/caches", may: []string{"api"}},
	{folder: "controllers/fresh"},
	{folder: "controllers/refusals", may: []string{"api"}},
	{folder: "controllers/guests", may: []string{"bootstrap", "internal/cloud", "internal/tenants", "internal/workload"}},
	{folder: "controllers/cluster", may: []string{
		"api", "bootstrap", "controllers/caches", "controllers/cluster", "controllers/owner", "internal/apiserver", "internal/cloud",
		"internal/collect", "internal/placement", "internal/policies", "internal/tenants", "internal/turns", "internal/workload",
	}},
	{folder: "controllers/cluster/keep", may: []string{"internal/cloud"}},
	{folder: "controllers/cluster/guests", may: []string{"bootstrap", "controllers/cluster/keep", "internal/cloud"}},
	{folder: "controllers/cluster/policies", may: []string{"api", "controllers/cluster/keep", "internal/cloud"}},
	{folder: "controllers/cluster/findings", may: []string{"internal/cloud", "internal/placement"}},
	{folder: "controllers/cluster/nodes", may: []string{"api", "bootstrap", "controllers/cluster/keep", "internal/cloud"}},
	{folder: "controllers/linux", may: []string{
		"api", "bootstrap", "controllers/phase", "internal/cloud", "internal/placement", "internal/workload",
	}},
	{folder: "controllers/addresses", may: []string{"api", "bootstrap", "controllers/addresses/adapters", "controllers/phase"}},
	{folder: "controllers/addresses/adapters", may: []string{"api"}},
	{folder: "controllers/credentials", may: []string{"api", "controllers/phase", "controllers/reads"}},
	{folder: "controllers/identities", may: []string{
		"api", "controllers/phase", "controllers/reads", "internal/cloud", "internal/tenants",
	}},
	{folder: "controllers/reads", may: []string{"internal/wake"}},
	{folder: "controllers/inherit", may: []string{"api", "controllers/phase", "internal/cloud"}},
	{folder: "controllers/bootstrap", may: []string{
		"api", "bootstrap", "controllers/cluster/guests", "controllers/cluster/keep", "controllers/cluster/nodes", "controllers/fresh",
		"controllers/caches",
		"controllers/guests", "controllers/linux", "controllers/owner", "controllers/phase", "controllers/refusals", "internal/cloud",
		"internal/tenants", "internal/workload",
	}},
	{folder: "controllers/machine", may: []string{
		"api", "bootstrap", "internal/cloud", "internal/metrics", "controllers/addresses", "controllers/caches",
		"controllers/credentials",
		"controllers/fresh", "controllers/guests", "controllers/identities", "controllers/inherit", "controllers/linux",
		"controllers/owner", "controllers/phase", "controllers/refusals", "internal/wake",
	}},
	{folder: "controllers/orphans", may: []string{"api", "internal/cloud", "controllers/owner"}},
	{folder: "internal/manager", may: []string{"api", "bootstrap", "internal", "controllers"}},
	{folder: ".", may: []string{"internal/manager"}},
	{folder: "cmd/clusterctl-windows", may: []string{"internal/cloud", "cmd/clusterctl-windows", "internal/version"}},
	{folder: "cmd/realvcenter", may: []string{"api", "bootstrap", "internal/cloud", "internal/version"}},
	{folder: "hack", may: []string{"bootstrap"}},
	{folder: "config"},
	{folder: "test", may: []string{everything}},
}

// behind are the rooms that only their door, its other rooms and tests open.
var behind = map[string][]string{
	"bootstrap": {
		"bootstrap/calico", "bootstrap/network", "bootstrap/kubelet", "bootstrap/windows", "bootstrap/containerd", "bootstrap/step",
	},
	"internal/cloud/vsphere": {
		"internal/cloud/vsphere/session", "internal/cloud/vsphere/places", "internal/cloud/vsphere/clones",
		"internal/cloud/vsphere/inspect", "internal/cloud/vsphere/inventory", "internal/cloud/vsphere/next",
		"internal/cloud/vsphere/privileges", "internal/cloud/vsphere/request", "internal/cloud/vsphere/seen",
	},
	"internal/cloud/azure": {
		"internal/cloud/azure/arm", "internal/cloud/azure/calls", "internal/cloud/azure/lists",
		"internal/cloud/azure/placement", "internal/cloud/azure/fault",
		"internal/cloud/azure/request", "internal/cloud/azure/limiter", "internal/cloud/azure/next",
		"internal/cloud/azure/login", "internal/cloud/azure/skus", "internal/cloud/azure/inspect",
	},
}

// implementations are the clouds: only programs and tests know them by name. A cloud may have rooms of its own.
var implementations = []string{
	"internal/cloud/vsphere", "internal/cloud/azure", "test/sim/fake", "test/kit/cloudtest",
}

// pure rooms decide and do nothing: same input, same output, nothing waits.
var pure = []string{
	"bootstrap", "controllers/addresses/adapters", "controllers/cluster/findings", "controllers/cluster/guests",
	"controllers/cluster/nodes", "controllers/cluster/policies", "controllers/refusals",
	"internal/breaker", "internal/cloud/azure/arm", "internal/cloud/azure/lists",
	"internal/cloud/azure/placement", "internal/cloud/azure/request", "internal/cloud/azure/next", "internal/cloud/azure/skus",
	"internal/cloud/vsphere/next", "internal/cloud/vsphere/request", "internal/cloud/vsphere/seen",
	"internal/placement", "cmd/clusterctl-windows/addons", "cmd/clusterctl-windows/linux", "internal/policies",
}

// What a pure room must not import, by prefix, and of package time, what it must not call.
var (
	impure = []string{
		"context", "net/http", "os", "k8s.io/client-go", "sigs.k8s.io/controller-runtime", "math/rand", "crypto/rand",
	}
	impureClock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}
)

func TestRooms(t *testing.T) {
	for _, r := range rooms {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(r.folder))); err != nil {
			t.Errorf("a rule for a room that does not exist: %v", err)
		}
	}
	for _, s := range sources(t) {
		if s.isTest {
			continue // a test may bring what its room works with in production
		}
		for _, imported := range s.imports() {
			checkImport(t, s, imported)
		}
		if within(s.folder, pure...) {
			checkPure(t, s)
		}
	}
}

func checkImport(t *testing.T, s source, imported string) {
	t.Helper()
	ours, ok := strings.CutPrefix(imported, module+"/")
	if !ok || ours == s.folder {
		return
	}
	r := roomOf(s.folder)
	if !within(ours, r.may...) {
		t.Errorf("%s imports %s; the room %s may import only %v of ours", s.path, ours, r.folder, r.may)
	}
	for door, rooms := range behind {
		if within(ours, rooms...) && !within(s.folder, door, "cmd/realvcenter", "hack", "test") {
			t.Errorf("%s imports %s; %s is the door", s.path, ours, door)
		}
	}
	for _, cloud := range implementations {
		if within(ours, cloud) && !within(s.folder, "test", "cmd", "internal/manager", cloud) {
			t.Errorf("%s imports %s; only the manager's main package and the programs beside it know clouds by name", s.path, ours)
		}
	}
}

func checkPure(t *testing.T, s source) {
	t.Helper()
	for _, imported := range s.imports() {
		if within(imported, impure...) {
			t.Errorf("%s imports %s; its room is pure", s.path, imported)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(impureClock, selector.Sel.Name) {
			t.Errorf("%s calls time.%s; its room is pure", s.position(selector), selector.Sel.Name)
		}
		return true
	})
}

func roomOf(folder string) room {
	found := room{folder: "of no name"}
	longest := -1
	for _, r := range rooms {
		if within(folder, r.folder) && len(r.folder) > longest {
			found, longest = r, len(r.folder)
		}
	}
	return found
}

// within says whether a package path is one of the folders or below it.
func within(name string, folders ...string) bool {
	for _, folder := range folders {
		if folder == everything || name == folder || strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

func (s source) imports() []string {
	var all []string
	for _, spec := range s.file.Imports {
		// The parser has seen to it that it is quoted.
		name, _ := strconv.Unquote(spec.Path.Value)
		all = append(all, path.Clean(name))
	}
	return all
}
