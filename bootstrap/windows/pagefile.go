package windows

import (
	"strconv"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	pageFileField = "WindowsBootstrapConfig spec.pageFile"
	memoryKey     = `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`
	// The limits of the API for sizeMiB.
	leastPageFileMiB, mostPageFileMiB = 1024, 1048576
)

// pageFile is what becomes of the image's page file.
type pageFile struct {
	change bool
	// sizeMiB is 0 where Windows decides.
	sizeMiB int
}

func readPageFile(in Input) (setting, error) {
	spec := in.PageFile
	fixed := spec.Policy == bootstrapv1.PageFileFixed
	switch {
	case fixed && (spec.SizeMiB < leastPageFileMiB || spec.SizeMiB > mostPageFileMiB):
		return nil, step.Invalid(pageFileField, "sizeMiB %d does not fit policy Fixed; write %d to %d", spec.SizeMiB, leastPageFileMiB, mostPageFileMiB)
	case !fixed && spec.SizeMiB != 0:
		return nil, step.Invalid(pageFileField, "sizeMiB %d belongs to policy Fixed; write policy: Fixed, or leave sizeMiB out", spec.SizeMiB)
	}
	change, known := pageFilePolicies[spec.Policy]
	if !known {
		return nil, step.Invalid(pageFileField, "policy %q is none; write Managed, Fixed or Image: a node without page file stalls", spec.Policy)
	}
	return pageFile{change, int(spec.SizeMiB)}, nil
}

// pageFilePolicies tell whether the image's page file changes.
var pageFilePolicies = map[bootstrapv1.PageFilePolicy]bool{
	"": false, bootstrapv1.PageFileImage: false, bootstrapv1.PageFileManaged: true, bootstrapv1.PageFileFixed: true,
}

// addTo sees to it that there is a page file: Windows has no OOM killer, and the kubelet's eviction counts memory and page
// file together. One that changes is there after a reboot, which is taken before the node joins.
func (f pageFile) addTo(p *step.Part) {
	if f.change {
		p.Add(step.PhaseWindows,
			&plan.PageFile{
				Common: plan.Common{Name: "page-file", Reason: step.ReasonPageFileFailed, Attempts: 3}, SizeMiB: plan.Text(strconv.Itoa(f.sizeMiB)),
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
