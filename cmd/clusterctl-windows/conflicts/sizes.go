package conflicts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// sizeName has the family and the features of a size by Azure's conventions: Standard_D4ps_v5 is of the family D, and p is an Arm
// processor, s premium disks (learn.microsoft.com/azure/virtual-machines/vm-naming-conventions).
var sizeName = regexp.MustCompile(`^(?:standard|basic)_([a-z]+)([0-9]+)(?:-[0-9]+)?([a-z]*)(?:_|$)`)

// size is the parts of a size's name.
type size struct{ name, family, cpus, features string }

// namedSizes are those of the spec whose names follow the conventions.
func namedSizes(spec *infrav1.AzureVM) (sizes []size) {
	for _, name := range append([]string{spec.VMSize}, spec.FallbackVMSizes...) {
		if parts := sizeName.FindStringSubmatch(strings.ToLower(name)); parts != nil {
			sizes = append(sizes, size{name, parts[1], parts[2], parts[3]})
		}
	}
	return sizes
}

// sizeRules say what a size cannot do. The controller asks Azure's list of sizes for the same, and holds the machine
// (SizeUnsuitable).
var sizeRules = []struct {
	broken func(size, *infrav1.AzureVM) bool
	says   string
}{
	{func(s size, _ *infrav1.AzureVM) bool { return strings.Contains(s.features, "p") }, "has Arm processors (the letter p), for " +
		"which there is no Kubernetes on Windows: use a size without it, such as Standard_D4s_v5"},
	{func(s size, spec *infrav1.AzureVM) bool { return !s.premium() && wantsPremium(spec) }, "has no premium disks (no letter " +
		"s), but the spec has disks of the type Premium_LRS or Premium_ZRS: use a size with them, such as Standard_D4s_v5, or the " +
		"type StandardSSD_LRS"},
	{func(s size, _ *infrav1.AzureVM) bool { return s.cpus == "1" }, "has one processor, and Windows with the programs of a " +
		"node needs two or more: use a size such as Standard_D4s_v5"},
	{func(s size, spec *infrav1.AzureVM) bool { return s.confidential() && !confidential(spec) }, "is for confidential VMs " +
		"only: use another size, or set securityProfile.securityType: ConfidentialVM"},
	{func(s size, spec *infrav1.AzureVM) bool { return !s.mayBeConfidential() && confidential(spec) }, "is not for " +
		"confidential VMs, but securityProfile.securityType is ConfidentialVM: use a size of the families DC or EC, such as " +
		"Standard_DC4as_v5"},
}

// sizes looks at the names of sizes.
func (s Subject) sizes() (notes []string) {
	spec := s.Windows.Spec.Azure
	if spec == nil {
		return nil
	}
	for _, name := range append([]string{spec.VMSize}, spec.FallbackVMSizes...) {
		notes = append(notes, unnamed(name)...)
	}
	for _, s := range namedSizes(spec) {
		for _, rule := range sizeRules {
			if rule.broken(s, spec) {
				notes = append(notes, fmt.Sprintf("the size %s of spec.azure %s", s.name, rule.says))
			}
		}
	}
	return notes
}

// unnamed has a note if no size of Azure has a name of this form.
func unnamed(name string) []string {
	lower := strings.ToLower(name)
	switch {
	case name == "" || sizeName.MatchString(lower):
		return nil
	case sizeName.MatchString("standard_" + lower):
		return note("the size %s of spec.azure: the names of sizes begin with Standard_ in Azure; did you mean "+
			"Standard_%s?", name, name)
	}
	return note("the size %s of spec.azure does not have the form of Azure's sizes, such as Standard_D4s_v5 (a family, a number of "+
		"processors, features and a version): az vm list-sizes --location REGION lists them", name)
}

// smallest is the size of Azure's images of Windows in GiB, but for those that say smalldisk.
const smallest = 127

// disk compares that of the system with images of Windows. Azure refuses one that is smaller than its image.
func (s Subject) disk() []string {
	spec := s.Windows.Spec.Azure
	if spec == nil || spec.OSDisk.SizeGiB == 0 || spec.OSDisk.SizeGiB >= smallest {
		return nil
	}
	return note("spec.azure.osDisk.sizeGiB is %d, and images of Windows in Azure mostly have %d: Azure refuses a disk that is "+
		"smaller than its image (DiskSmallerThanImage). Write 128 or more, or leave sizeGiB out", spec.OSDisk.SizeGiB, smallest)
}

// premium: older families have the letter in their own name, as in Standard_DS2_v2.
func (s size) premium() bool {
	return strings.Contains(s.features, "s") || strings.HasSuffix(s.family, "s")
}

func wantsPremium(spec *infrav1.AzureVM) bool {
	isPremium := func(kind string) bool { return strings.HasPrefix(kind, "Premium") }
	return isPremium(string(spec.OSDisk.Type)) ||
		slices.ContainsFunc(spec.DataDisks, func(disk infrav1.AzureDataDisk) bool { return isPremium(string(disk.Type)) })
}

// confidential: processors of AMD (a) and of Intel with TDX (e) make confidential VMs and no others; the DC sizes without these
// letters have SGX, which is something else.
func (s size) confidential() bool {
	return s.mayBeConfidential() && strings.ContainsAny(s.features, "ae")
}

func (s size) mayBeConfidential() bool { return slices.Contains([]string{"dc", "ec", "ncc"}, s.family) }

func confidential(spec *infrav1.AzureVM) bool {
	return spec.SecurityProfile.SecurityType == infrav1.AzureConfidentialVM
}
