package conflicts

import (
	"regexp"
	"slices"
	"strings"
)

// place is a field that names something in a vCenter.
type place struct{ field, name string }

// places are those of the spec.
func (s Subject) places() []place {
	vm := s.Windows.Spec.VSphere
	const of = "spec.vsphere."
	return []place{
		{of + "folder", vm.Folder},
		{of + "resourcePool", vm.ResourcePool},
		{of + "datastore", vm.Datastore},
		{of + "image.template", vm.Image.Template},
	}
}

// placeRules say of a name why no vCenter finds it (PlacementNotFound, TemplateNotFound).
var placeRules = []struct {
	form *regexp.Regexp
	says string
}{
	{regexp.MustCompile(`^\[[^\]]*\]`), "is a path of files in a datastore: write a name or an inventory path, such as " +
		"/dc1/vm/windows-2022"},
	{regexp.MustCompile(`[^\\]\\[^\\]`), "has backslashes, with which no vCenter separates the parts of a path: write slashes"},
	{regexp.MustCompile(`(?i)\.(ova|ovf|vmtx?|vmx|vmdk|iso)$`), "is the name of a file: write that of the template which was " +
		"made of it"},
}

// place looks at the forms of names, and for paths into another datacenter.
func (s Subject) place() (notes []string) {
	if s.Windows.Spec.VSphere == nil {
		return nil
	}
	for _, one := range s.places() {
		for _, rule := range placeRules {
			if rule.form.MatchString(one.name) {
				notes = append(notes, note("%s %q %s", one.field, one.name, rule.says)...)
				break
			}
		}
		datacenter := s.Windows.Spec.VSphere.Datacenter
		if other := datacenterOf(one.name); other != "" && last(datacenter) != other && !strings.HasSuffix(one.field, "template") &&
			!strings.ContainsAny(datacenter+other, "*?[%") {
			notes = append(notes, note("%s %q is in the datacenter %s, but spec.vsphere.datacenter is %q: write one of both", one.field,
				one.name, other, datacenter)...)
		}
	}
	return notes
}

// datacenterOf is the datacenter in an inventory path: what stands before its folder of VMs, hosts, datastores or networks.
func datacenterOf(path string) string {
	parts := strings.Split(path, "/")
	if parts[0] != "" {
		return ""
	}
	at := slices.IndexFunc(parts, func(part string) bool {
		return slices.Contains([]string{"vm", "host", "datastore", "network"}, part)
	})
	if at < 2 {
		return ""
	}
	return parts[at-1]
}

func last(path string) string { return path[strings.LastIndex(path, "/")+1:] }
