package places

import (
	"path"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// nameable holds what each field of a spec can name: the folder of the datacenter in which names begin and the one in which
// relative paths do, the kinds that it can be of, the reason if it is not found, and the forms in which it is written.
// docs/vsphere.md has a table of these.
var nameable = map[string]struct {
	folder, paths string
	kinds         []string
	reason        string
	forms         string
}{
	Datacenter: {"", "", []string{"Datacenter"}, infrav1.PlacementNotFoundReason, "a name or an inventory path such as /europe/dc1"},
	Template: {
		"vm", "vm",
		[]string{"VirtualMachine"},
		infrav1.TemplateNotFoundReason, formsIn("vm", "templates/windows-2022"),
	},
	Folder: {
		"vm", "",
		[]string{"Folder"},
		infrav1.PlacementNotFoundReason,
		"a name, a path from the datacenter such as vm/team-a/nodes, or an inventory path such as /dc1/vm/team-a/nodes" + wildcards,
	},
	ResourcePool: {
		"host", "host",
		[]string{"ResourcePool"},
		infrav1.PlacementNotFoundReason, formsIn("host", "cluster1/Resources"),
	},
	Datastore: {
		"datastore", "datastore",
		[]string{"Datastore"},
		infrav1.PlacementNotFoundReason, formsIn("datastore", "fast/ssd1"),
	},
	networkInterfaces: {
		"network", "network", networkKinds, infrav1.PlacementNotFoundReason,
		"a name, a switch and port group such as switch1/nodes, a path from the datacenter's folder network such as zone1/nodes, " +
			"an inventory path such as /dc1/network/zone1/nodes, or a reference such as dvportgroup-34" + wildcards,
	},
	networkSwitch: {
		"network", "network",
		[]string{"DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch"},
		infrav1.PlacementNotFoundReason, "",
	},
}

func formsIn(folder, example string) string {
	return "a name, a path from the datacenter's folder " + folder + " such as " + example +
		", or an inventory path such as /dc1/" + folder + "/" + example + wildcards
}

const wildcards = "; * stands for any letters of a name, if one place alone matches"

// isPattern reports whether a name has wildcards.
func isPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// kindOf returns the field without the number of the adapter.
func kindOf(field string) string {
	kind, _, _ := strings.Cut(field, "[")
	return kind
}

// inDatacenter are the folders that every datacenter has.
var inDatacenter = []string{"vm", "host", "datastore", "network"}

// Refuse returns what is wrong with the names of a spec as far as they show it without a vCenter.
func Refuse(spec infrav1.VSphereVM) error {
	for _, site := range Sites(spec) {
		if form := nameable[kindOf(site.Field)].forms; !readable(site.Field, site.Name) {
			return cloud.Errorf(cloud.Invalid, nameable[kindOf(site.Field)].reason,
				"spec.vsphere.%s %q exists in no vCenter: use %s", site.Field, site.Name, form)
		}
	}
	return nil
}

// readable reports whether a name could lead anywhere.
func readable(field, name string) bool {
	if _, err := path.Match(name, ""); err != nil {
		return false
	}
	clean := path.Clean(name)
	first, _, relative := strings.Cut(clean, "/")
	switch {
	case first == "..":
		return false
	case field != Folder || !strings.Contains(name, "/") || first == "":
		return true
	}
	for _, folder := range inDatacenter {
		if matches, _ := path.Match(first, folder); matches {
			return true
		}
	}
	return !relative && clean == "."
}
