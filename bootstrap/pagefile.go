package bootstrap

import (
	"strconv"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	pageFileField = "WindowsBootstrapConfig spec.pageFile"
	memoryKey     = `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`
	// The limits of the API for sizeMiB.
	leastPageFileMiB, mostPageFileMiB = 1024, 1048576
)

// pageFilePart sees to it that there is a page file: Windows has no OOM killer, and the kubelet's eviction counts memory
// and page file together. One that changes is there after a reboot, which is taken before the node joins.
func pageFilePart(n *node) (part, error) {
	size, change, err := readPageFile(n.spec.PageFile)
	if err != nil {
		return part{}, err
	}
	var steps []plan.Step
	if change {
		steps = append(steps,
			&plan.PageFile{Common: plan.Common{Name: "page-file", Reason: ReasonPageFileFailed, Attempts: 3}, SizeMiB: plan.Text(strconv.Itoa(size))},
			&plan.Reboot{Common: plan.Common{Name: "page-file-reboot", Reason: ReasonPageFileFailed}, If: plan.RebootPending})
	}
	steps = append(steps, &plan.Fact{
		Common: plan.Common{Name: "page-file-there", Reason: ReasonPageFileMissing, Attempts: 3},
		Argv:   plan.Texts("reg.exe", "query", memoryKey, "/v", "PagingFiles"),
		Match:  `PagingFiles\s+REG_MULTI_SZ\s+(\S.*\S)`, Set: "pageFiles",
	})
	return part{steps: map[string][]plan.Step{phaseWindows: steps}}, nil
}

// readPageFile gives the size, 0 where Windows decides, and whether the image's is to change.
func readPageFile(spec bootstrapv1.PageFile) (sizeMiB int, change bool, err error) {
	fixed := spec.Policy == bootstrapv1.PageFileFixed
	switch {
	case fixed && (spec.SizeMiB < leastPageFileMiB || spec.SizeMiB > mostPageFileMiB):
		return 0, false, invalid(pageFileField, "sizeMiB %d does not fit policy Fixed; write %d to %d", spec.SizeMiB, leastPageFileMiB, mostPageFileMiB)
	case !fixed && spec.SizeMiB != 0:
		return 0, false, invalid(pageFileField, "sizeMiB %d belongs to policy Fixed; write policy: Fixed, or leave sizeMiB out", spec.SizeMiB)
	}
	switch spec.Policy {
	case "", bootstrapv1.PageFileImage:
		return 0, false, nil
	case bootstrapv1.PageFileManaged, bootstrapv1.PageFileFixed:
		return int(spec.SizeMiB), true, nil
	}
	return 0, false, invalid(pageFileField, "policy %q is none; write Managed, Fixed or Image: a node without page file stalls", spec.Policy)
}
