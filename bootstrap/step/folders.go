package step

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// System32 has the programs of Windows.
const System32 = `C:\Windows\System32`

// Folder is one that SYSTEM writes to, runs programs from, or obeys.
type Folder struct {
	// Name of the step that protects it.
	Name, Path string
	Access     plan.Access
	// Whole means what the image has in it, too.
	Whole bool
}

// Protect is the step.
func (f Folder) Protect() *plan.Directory {
	return &plan.Directory{
		Common: plan.Common{Name: f.Name, Reason: ReasonNodeFilesFailed}, Path: plan.Text(f.Path), Access: f.Access, Whole: f.Whole,
	}
}

// protectedByWindows: users make nothing there. openByWindows belong to Windows as well, but users make folders in them.
var (
	protectedByWindows = []string{`C:\Windows`, `C:\Program Files`, `C:\Program Files (x86)`}
	openByWindows      = []string{`C:`, `C:\ProgramData`, `C:\Users`}
)

// OfWindows reports whether the access of a folder is Windows' own affair.
func OfWindows(path string) bool {
	return slices.ContainsFunc(protectedByWindows, func(place string) bool { return Below(path, place) }) ||
		slices.ContainsFunc(openByWindows, func(place string) bool { return strings.EqualFold(path, place) })
}

// FoldersAbove a path, from the drive on, without those of Windows.
func FoldersAbove(path string) []string {
	var parents []string
	for i, char := range path {
		if folder := path[:i]; char == '\\' && !OfWindows(folder) {
			parents = append(parents, folder)
		}
	}
	return parents
}
