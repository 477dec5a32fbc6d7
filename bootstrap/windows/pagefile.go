package windows

import (
	"strconv"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	pageFileField = windowsField + ".pageFile"
	memoryKey     = `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`
	// The limits of sizeMiB in the API.
	leastPageFileMiB, mostPageFileMiB = 1024, 1048576
)

// pageFile says whether and how the page file of the image changes.
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
	change, known := pageFilePolicies[spec.Policy]
	if !known {
		return nil, step.Invalid(pageFileField, "policy %q is not valid; use Managed, Fixed or Image", spec.Policy)
	}
	return pageFile{change, int(spec.SizeMiB), string(in.Spec.DataDrive.Letter)}, nil
}

// pageFilePolicies say whether the page file of the image changes.
var pageFilePolicies = map[bootstrapv1.PageFilePolicy]bool{
	"": false, bootstrapv1.PageFileImage: false, bootstrapv1.PageFileManaged: true, bootstrapv1.PageFileFixed: true,
}

// addTo makes sure that there is a page file: Windows has no OOM killer, and the kubelet's eviction counts memory and
// page file together. A change needs a reboot, which happens before the node joins.
func (f pageFile) addTo(p *step.Part) {
	if f.change {
		p.Add(step.PhaseWindows,
			&plan.PageFile{
				Common: plan.Common{
					Name: "page-file", Reason: step.ReasonPageFileFailed, Attempts: 3,
				},
				SizeMiB: plan.Text(strconv.Itoa(f.sizeMiB)), Drive: f.drive,
			},
			&plan.Reboot{Common: plan.Common{Name: "page-file-reboot", Reason: step.ReasonPageFileFailed}, If: plan.RebootPending})
	}
	p.Add(step.PhaseWindows, &plan.Fact{
		Common: plan.Common{Name: "page-file-there", Reason: step.ReasonPageFileMissing, Attempts: 3},
		Argv:   plan.Texts("reg.exe", "query", memoryKey, "/v", "PagingFiles"),
		Match:  `PagingFiles\s+REG_MULTI_SZ\s+(\S.*\S)`, Set: "pageFiles",
		Say: plan.Text("Windows has no page file"),
	})
}
