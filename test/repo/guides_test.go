package repo

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var codeOfCell = regexp.MustCompile("`([^`]+)`")

// Each item that an image must have names a reason of the page of conditions, and the steps of the plan that check it are listed
// by that. Of a guest that is silent there is no step.
func TestImageItemsAreChecked(t *testing.T) {
	steps, reasons, checks := stepsOfPlans(t), firstColumn(t, conditionsPage), imageChecks(t)
	used := map[string]bool{"GuestSilent": true}
	items := rowsOf(pageSection(t, "docs/images.md", "What it must have"))
	for _, row := range items {
		named := codeOfCell.FindAllStringSubmatch(row[1], -1)
		if len(named) == 0 {
			t.Errorf("docs/images.md names no reason: %s", row[0])
		}
		for _, found := range named {
			if used[found[1]] = true; !slices.Contains(reasons, found[1]) {
				t.Errorf("docs/images.md: %s is no reason of %s", found[1], conditionsPage)
			}
			if len(checks[found[1]]) == 0 && found[1] != "GuestSilent" {
				t.Errorf("%s names no step that ends with %s", imageStepsPage, found[1])
			}
		}
	}
	for reason, named := range checks {
		if !used[reason] {
			t.Errorf("%s: no item of docs/images.md has the reason %s", imageStepsPage, reason)
		}
		for _, step := range named {
			if !steps[step] {
				t.Errorf("%s: no plan has a step %s, which is to end with %s", imageStepsPage, step, reason)
			}
		}
	}
	if len(items) < 12 {
		t.Errorf("docs/images.md has %d items, want all that a node needs", len(items))
	}
}

// What the plan checks of an image has its row: these are the steps that change nothing before the container runtime starts.
func TestImageChecksAreDocumented(t *testing.T) {
	listed := slices.Concat(slices.Collect(maps.Values(imageChecks(t)))...)
	for _, step := range stepsOf(t, filepath.Join(root, "bootstrap", "testdata", "golden", "vsphere.json")) {
		if (step.Do == "fact" || step.Do == "check") && step.phase == "prepare" && !slices.Contains(listed, step.Name) {
			t.Errorf("%s lacks the step %s, which checks the image", imageStepsPage, step.Name)
		}
	}
}

const imageStepsPage = "docs/contributing/windows-review.md"

// imageChecks are the steps that check an image, by the reason with which they fail.
func imageChecks(t *testing.T) map[string][]string {
	t.Helper()
	checks := map[string][]string{}
	for _, row := range rowsOf(pageSection(t, imageStepsPage, "Which steps check the image")) {
		for _, found := range codeOfCell.FindAllStringSubmatch(row[1], -1) {
			reason := strings.Trim(row[0], "`")
			checks[reason] = append(checks[reason], found[1])
		}
	}
	return checks
}

type planStep struct {
	Do, Name string
	phase    string
}

func stepsOfPlans(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range expect.Got(fs.Glob(os.DirFS(root), "bootstrap/testdata/golden/*.json"))(t) {
		for _, step := range stepsOf(t, filepath.Join(root, filepath.FromSlash(file))) {
			all[step.Name] = true
		}
	}
	return all
}

func stepsOf(t *testing.T, file string) []planStep {
	t.Helper()
	var plan struct {
		Phases []struct {
			Name  string
			Steps []planStep
		}
	}
	expect.OK(t, json.Unmarshal(expect.Got(os.ReadFile(file))(t), &plan))
	var all []planStep
	for _, phase := range plan.Phases {
		for _, step := range phase.Steps {
			step.phase = phase.Name
			all = append(all, step)
		}
	}
	return all
}

// The versions that the page calls tested are those that the tests run, and the supported ones those that the code accepts.
func TestVersionsAreDocumented(t *testing.T) {
	servers, product := moduleVersions(t, "test/repo/tools"), moduleVersions(t, ".")
	kubernetes, capi := "v"+servers["k8s.io/kubernetes"], "v"+servers["sigs.k8s.io/cluster-api"]
	minor := regexp.MustCompile(`^v(\d+\.\d+)`).FindString(capi)
	oldest := "1." + constantOf(t, "bootstrap/image.go", `const oldestMinor = (\d+)`)
	newest := "1." + constantOf(t, "bootstrap/kubelet/table.go", `lastMinor\s*= (\d+)`)
	rows := map[string][]string{}
	for _, row := range tableRows(t, "docs/install.md") {
		rows[row[0]] = row[1:]
	}
	for _, want := range []struct{ row, supported, tested string }{
		{"Kubernetes of the management cluster", "1.30 or later", kubernetes},
		{"Kubernetes of the workload cluster", oldest + " to " + newest + ";", kubernetes},
		{"Cluster API and clusterctl", strings.TrimPrefix(minor, "v") + " ", capi},
		{"vCenter and ESXi", "", "govmomi v" + product["github.com/vmware/govmomi"]},
		{"Windows", "Server 2022 and 2025", "simulated"},
		{"Go, to build", regexp.MustCompile(`^\d+\.\d+`).FindString(product["go"]), product["go"]},
	} {
		row := rows[want.row]
		if len(row) != 2 || !strings.HasPrefix(row[0], want.supported) || !strings.HasSuffix(row[1], want.tested) &&
			!strings.HasPrefix(row[1], want.tested) {
			t.Errorf("docs/install.md, %s: %v, want supported %q and tested %q", want.row, row, want.supported, want.tested)
		}
	}
}

func constantOf(t *testing.T, file, pattern string) string {
	t.Helper()
	content := expect.Got(os.ReadFile(filepath.Join(root, filepath.FromSlash(file))))(t)
	found := regexp.MustCompile(pattern).FindSubmatch(content)
	if found == nil {
		t.Fatalf("%s has no %s", file, pattern)
	}
	return string(found[1])
}
