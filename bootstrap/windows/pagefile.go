package windows

import (
	"cmp"
	"fmt"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	pageFileField = windowsField + ".pageFile"
	memoryKey     = `SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`
	// The limits of sizeMiB in the API.
	leastPageFileMiB, mostPageFileMiB = 1024, 1048576
)

// pageFile reports whether and how the page file of the image changes.
type pageFile struct {
	change bool
	// sizeMiB is 0 if Windows decides.
	sizeMiB int
	// drive is the letter of the data drive; empty for that of Windows.
	drive string
}

func readPageFile(in Input) (setting, error) {
	spec := in.Spec.PageFile
	fixed := spec.Policy == bootstrapv1.PageFileFixed
	switch {
	case fixed && (spec.SizeMiB < leastPageFileMiB || spec.SizeMiB > mostPageFileMiB):
		return nil, step.Invalid(pageFileField,
			"sizeMiB %d is not valid with policy Fixed; use %d to %d", spec.SizeMiB, leastPageFileMiB, mostPageFileMiB)
	case !fixed && spec.SizeMiB != 0:
		return nil, step.Invalid(pageFileField,
			"sizeMiB %d has an effect with policy Fixed only; set policy: Fixed, or remove sizeMiB", spec.SizeMiB)
	}
	change, ok := pageFilePolicies[spec.Policy]
	if !ok {
		return nil, step.Invalid(pageFileField, "policy %q is not valid; use Managed, Fixed or Image", spec.Policy)
	}
	return pageFile{change, int(spec.SizeMiB), string(in.Spec.DataDrive.Letter)}, nil
}

// pageFilePolicies report whether the page file of the image changes.
var pageFilePolicies = map[bootstrapv1.PageFilePolicy]bool{
	"": false, bootstrapv1.PageFileImage: false, bootstrapv1.PageFileManaged: true, bootstrapv1.PageFileFixed: true,
}

// addTo makes sure that there is a page file: Windows has no OOM killer, and the kubelet's eviction counts memory and
// page file together. A change needs a reboot, which happens before the node joins.
func (f pageFile) addTo(p *step.Part) {
	if f.change {
		p.Add(step.PhaseWindows, f.set()...)
	}
	p.Add(step.PhaseWindows, &plan.Fact{
		Common:   plan.Common{Name: "page-file-there", Reason: step.ReasonPageFileMissing},
		Registry: pageFiles, Match: ".+", Set: "pageFiles",
		Say: plan.Text("Windows has no page file"),
	})
}

var pageFiles = &plan.RegistryText{Key: `HKEY_LOCAL_MACHINE\` + memoryKey, ValueName: "PagingFiles"}

// set keeps what was there before as a fact, so that the reboot is not lost if the machine stops right after the change.
func (f pageFile) set() []plan.Step {
	const previous = "pageFilesBefore"
	common := func(name string) plan.Common {
		return plan.Common{
			Name: name, Reason: step.ReasonPageFileFailed, When: &plan.Test{Fact: previous, IsNot: plan.Text(f.line())},
		}
	}
	asked := plan.Common{Name: "page-file-before", Reason: step.ReasonPageFileFailed}
	return []plan.Step{
		&plan.Fact{
			Common: asked, Registry: pageFiles, Match: `((.|\n)*)`, Set: previous,
			Say: plan.Text("Windows does not show its page file"),
		},
		&plan.Registry{
			Common: common("page-file"), Key: `HKEY_LOCAL_MACHINE\` + memoryKey, ValueName: "PagingFiles",
			Type: plan.RegistryMultiString, Values: plan.Texts(f.line()),
		},
		&plan.Reboot{Common: common("page-file-reboot"), If: plan.RebootAlways},
	}
}

// line is the page file as Windows' registry has it. Where Windows decides on the drive, too, there is no size.
func (f pageFile) line() string {
	if f.sizeMiB == 0 && f.drive == "" {
		return `?:\pagefile.sys`
	}
	return fmt.Sprintf(`%s:\pagefile.sys %d %d`, cmp.Or(f.drive, "C"), f.sizeMiB, f.sizeMiB)
}
