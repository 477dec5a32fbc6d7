package test

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

const reviewPage = "docs/windows-review.md"

// reviewed are the numbers of the requirements, from and to. None may be lost, and none is used twice.
var reviewed = [][2]int{{1, 15}, {20, 46}, {60, 87}, {100, 110}, {120, 132}, {140, 149}, {160, 185}}

// mostPartial rows may be partly done.
const mostPartial = 3

// TestWindowsReview holds the table of what a Windows node needs against the repository: what a row names is there.
func TestWindowsReview(t *testing.T) {
	names := declared{}
	var got, want []int
	verdicts, wrong := map[string]int{}, 0
	for _, cells := range tableRows(t, reviewPage) {
		row, err := readReview(cells)
		if err != nil {
			t.Errorf("%s: %v: %q", reviewPage, err, cells)
			continue
		}
		if faults := row.wrong(names); len(faults) > 0 {
			wrong++
			t.Errorf("%s, row %d: %s", reviewPage, row.number, strings.Join(faults, "; "))
		}
		t.Logf("%3d | %-14s | %s | %s | %s | %s", row.number, row.verdict, row.need,
			strings.Join(row.code, ", "), strings.Join(row.tests, ", "), row.remark)
		got = append(got, row.number)
		verdicts[row.verdict]++
	}
	for _, numbers := range reviewed {
		for n := numbers[0]; n <= numbers[1]; n++ {
			want = append(want, n)
		}
	}
	expect.Same(t, "numbers of the rows", want, got)
	text := fmt.Sprintf("%d rows", len(got))
	for _, verdict := range []string{"done", "user step", "documented", "refused", "not applicable", "partial", "not yet"} {
		text += fmt.Sprintf(", %d %s", verdicts[verdict], verdict)
	}
	t.Logf("%s, %d wrong", text, wrong)
	if verdicts["partial"] > mostPartial || verdicts["not yet"] > 0 {
		t.Errorf("at most %d rows may be partial, and none not yet", mostPartial)
	}
}

// The test of the table must be able to fail.
func TestWindowsReviewFails(t *testing.T) {
	const code, test = "`bootstrap.Render`", "`bootstrap.TestGoldenPlans/vsphere`"
	const page, why = "`docs/health.md#what-is-replaced`", "A reason of one sentence."
	const step = "`docs/install.md#build-and-push-the-image`"
	const pester = "test/powershell/DataDrive.Tests.ps1:goes on after every half, with its own disk alone"
	for _, c := range []struct {
		verdict, code, tests, remark string
		wrong                        string
	}{
		{"done", code, test, "", ""},
		{"done", "`bootstrap/scripts/steps.ps1:Invoke-ServiceStep`", "`test/lab/agent.TestVectors/63-hns-cleanup`", "", ""},
		{"done", "", test, "", "names no code"},
		{"done", code, "", "", "names no test"},
		{"done", code, page, "", "is not a test"},
		{"done", "`bootstrap.Rendered`", test, "", "bootstrap.Rendered is not declared"},
		{"done", "`bootstrap.TestGoldenPlans`", test, "", "bootstrap.TestGoldenPlans is not declared"},
		{"done", "`bootstrap/scripts/steps.ps1:Invoke-Nothing`", test, "", "Invoke-Nothing is not in bootstrap/scripts/steps.ps1"},
		{"done", code, "`bootstrap.TestGoldenPlan`", "", "bootstrap.TestGoldenPlan is not declared"},
		{"done", code, "`bootstrap.TestGoldenPlans/no-such-plan`", "", "has no case no-such-plan"},
		{"done", code, "`bootstrap.Render`", "", "is not a test"},
		{"done", "`nowhere.Render`", test, "", "nowhere.Render is not declared"},
		{"partial", code, test, why, ""},
		{"partial", code, test, "", "needs a sentence"},
		{"partial", code, test, "more", "needs a sentence"},
		{"documented", "", page, "", ""},
		{"documented", "", "`docs/health.md#nowhere`", "", "no such heading"},
		{"documented", "", "", "", "names no heading"},
		{"documented", "", test, "", "names no heading"},
		{"not applicable", "", "", why, ""},
		{"not applicable", "", "", "", "needs a sentence"},
		{"not yet", "", "", why, ""},
		{"not yet", "", "", "", "needs a sentence"},
		{"later", "", "", why, `"later" is not a verdict`},
		{"refused", code, test, "", ""},
		{"refused", "", test, "", "names no code"},
		{"refused", code, page, "", "is not a test"},
		{"user step", "", step, "", ""},
		{"user step", code, test + ", " + step, "", ""},
		{"user step", code, test, "", "names no heading"},
		{"user step", "", page, "", "the commands of docs/health.md are not run by test/lab/tutorial_test.go"},
		{"user step", "", "`docs/install.md#versions`", "", "the section docs/install.md#versions has no commands"},
		{"user step", "", "`docs/install.md#nowhere`", "", "no such heading"},
		{"user step", "", step + ", " + page, "", "the commands of docs/health.md are not run"},
		{"done", code, "`" + pester + "`", "", ""},
		{"done", code, "`test/powershell/DataDrive.Tests.ps1:does what it does not`", "", "no such case"},
		{"ok", code, test, "", `"ok" is not a verdict`},
	} {
		row, err := readReview([]string{"1", "a need", c.verdict, c.code, c.tests, c.remark})
		expect.OK(t, err)
		got := strings.Join(row.wrong(declared{}), "; ")
		if (c.wrong == "") != (got == "") || !strings.Contains(got, c.wrong) {
			t.Errorf("%+v: %q, want %q", c, got, c.wrong)
		}
	}
	for _, cells := range [][]string{{"1", "a need"}, {"one", "a need", "done", code, test, ""}, {"1", "", "done", code, test, ""}} {
		if _, err := readReview(cells); err == nil {
			t.Errorf("%q is taken for a row", cells)
		}
	}
}

// review is a row of the table.
type review struct {
	number        int
	need, verdict string
	code, tests   []string
	remark        string
}

func readReview(cells []string) (review, error) {
	if len(cells) != 6 || cells[1] == "" {
		return review{}, fmt.Errorf("a row has number, need, verdict, code, tests and remark")
	}
	number, err := strconv.Atoi(cells[0])
	names := func(cell string) (all []string) {
		for _, found := range codeOfCell.FindAllStringSubmatch(cell, -1) {
			all = append(all, found[1])
		}
		return all
	}
	return review{number, cells[1], cells[2], names(cells[3]), names(cells[4]), cells[5]}, err
}

// sentence has three words and a full stop.
var sentence = regexp.MustCompile(`^\S+ \S+ .+\.$`)

// wrong says what the row promises and the repository does not have.
func (r review) wrong(names declared) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	needs := map[string]struct{ code, tests, page, step, why bool }{
		"done": {code: true, tests: true}, "refused": {code: true, tests: true}, "partial": {code: true, tests: true, why: true},
		"user step": {page: true, step: true}, "documented": {page: true}, "not applicable": {why: true}, "not yet": {why: true},
	}
	need, ok := needs[r.verdict]
	switch {
	case !ok:
		say("%q is not a verdict", r.verdict)
	case need.code && len(r.code) == 0:
		say("names no code")
	case need.tests && len(r.tests) == 0:
		say("names no test")
	case need.page && !slices.ContainsFunc(r.tests, isHeading):
		say("names no heading that documents it")
	case need.why && !sentence.MatchString(r.remark):
		say("needs a sentence that says why")
	}
	for _, name := range r.code {
		if err := names.find(name, false); err != "" {
			say("%s", err)
		}
	}
	for _, name := range r.tests {
		switch {
		case isHeading(name) && need.tests && len(r.tests) == 1:
			say("%s is not a test", name)
		case isHeading(name):
			if err := linkError(filepath.Join(root, "README.md"), name); err != "" {
				say("%s: %s", name, err)
			} else if err := stepError(name); need.step && err != "" {
				say("%s", err)
			}
		default:
			if err := names.find(name, true); err != "" {
				say("%s", err)
			}
		}
	}
	return all
}

func isHeading(name string) bool { return strings.Contains(name, ".md#") }

// declared are the names that the Go files of a folder declare, read when they are first asked for.
type declared map[string]folderNames

type folderNames struct {
	product, tests map[string]bool
	// texts of all test files.
	texts string
}

var (
	testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`)
	// goName is a folder, a name that it declares, and a case of a test.
	goName = regexp.MustCompile(`^([a-z0-9/-]+)\.(\w+)(?:/(.+))?$`)
)

// find says why a name means nothing: folder.Name of Go, folder.TestName/case of a test, path.ps1:Function of PowerShell and
// path.Tests.ps1:case of a test of it.
func (d declared) find(name string, test bool) string {
	if file, part, ok := strings.Cut(name, ".ps1:"); ok {
		return findPowerShell(file+".ps1", part, test)
	}
	found := goName.FindStringSubmatch(name)
	if found == nil {
		return name + " is not a name"
	}
	folder, identifier, part := found[1], found[2], found[3]
	if test && !testName.MatchString(identifier) {
		return name + " is not a test"
	}
	in, err := d.read(folder)
	switch {
	case err != nil, !test && !in.product[identifier], test && !in.tests[identifier]:
		return name + " is not declared"
	case part != "" && !in.hasCase(folder, part):
		return fmt.Sprintf("%s.%s has no case %s", folder, identifier, part)
	}
	return ""
}

func findPowerShell(file, part string, test bool) string {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	defined := regexp.MustCompile(`(?m)^function ` + regexp.QuoteMeta(part) + `[ (]`)
	switch {
	case test && (err != nil || !strings.HasSuffix(file, ".Tests.ps1") || !strings.Contains(string(text), "It '"+part+"' {")):
		return fmt.Sprintf("%s has no such case: %s", file, part)
	case !test && (err != nil || !defined.Match(text)):
		return fmt.Sprintf("%s is not in %s", part, file)
	}
	return ""
}

// hasCase: the case of a test is a text in it, or a file of its data.
func (in folderNames) hasCase(folder, part string) bool {
	for _, data := range []string{path.Join(folder, "testdata/golden"), "bootstrap/plan/vectors"} {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(data), part+".json")); err == nil {
			return true
		}
	}
	return strings.Contains(in.texts, strconv.Quote(part)) || strings.Contains(in.texts, "`"+part+"`")
}

func (d declared) read(folder string) (folderNames, error) {
	if in, ok := d[folder]; ok {
		return in, nil
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil || len(files) == 0 {
		return folderNames{}, fmt.Errorf("%s has no Go files: %w", folder, err)
	}
	in := folderNames{product: map[string]bool{}, tests: map[string]bool{}}
	for _, file := range files {
		s, err := read(file)
		if err != nil {
			return folderNames{}, err
		}
		names := in.product
		if s.isTest {
			names = in.tests
			text, err := os.ReadFile(file)
			if err != nil {
				return folderNames{}, err
			}
			in.texts += string(text)
		}
		for _, declaration := range s.file.Decls {
			for _, name := range declaredBy(declaration) {
				names[name] = true
			}
		}
	}
	d[folder] = in
	return in, nil
}

func declaredBy(declaration ast.Decl) []string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		return []string{d.Name.Name}
	case *ast.GenDecl:
		var all []string
		for _, spec := range d.Specs {
			all = append(all, namesOf(spec)...)
		}
		return all
	}
	return nil
}
