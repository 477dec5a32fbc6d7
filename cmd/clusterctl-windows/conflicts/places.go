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
	const prefix = "spec.vsphere."
	return []place{
		{prefix + "folder", vm.Folder},
		{prefix + "resourcePool", vm.ResourcePool},
		{prefix + "datastore", vm.Datastore},
		{prefix + "image.template", vm.Image.Template},
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
	for _, p := range s.places() {
		for _, rule := range placeRules {
			if rule.form.MatchString(p.name) {
				notes = append(notes, note("%s %q %s", p.field, p.name, rule.says)...)
				break
			}
		}
		datacenter := s.Windows.Spec.VSphere.Datacenter
		if inPath := datacenterOf(p.name); inPath != "" && base(datacenter) != inPath && !strings.HasSuffix(p.field, "template") &&
			!strings.ContainsAny(datacenter+inPath, "*?[%") {
			notes = append(notes, note("%s %q is in the datacenter %s, but spec.vsphere.datacenter is %q: write one of both", p.field,
				p.name, inPath, datacenter)...)
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
	i := slices.IndexFunc(parts, func(part string) bool {
		return slices.Contains([]string{"vm", "host", "datastore", "network"}, part)
	})
	if i < 2 {
		return ""
	}
	return parts[i-1]
}

func base(path string) string { return path[strings.LastIndex(path, "/")+1:] }
