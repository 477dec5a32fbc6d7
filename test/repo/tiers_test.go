package repo

import (
	"go/ast"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// outside are the suites that no tier runs, each with the reason: targets of make, and flags of tests.
var outside = map[string]string{
	"bench":          "measures, and checks nothing else",
	"bench-azure":    "measures, and checks nothing else",
	"bench-clusters": "measures, and its counts are those of TestKeeper, which nightly has",
	"bench-hostile":  "measures, and checks nothing else",
	"bench-plugin":   "measures; make test has its tests",
	"bench-vsphere":  "measures, and checks nothing else; it takes an hour",
	"stress":         "takes a day; after a change of how tests wait",

	"-each":               "make bench-hostile measures with more machines",
	"-parties":            "make bench-hostile measures with it",
	"-honest":             "make bench-hostile measures beside so many",
	"-acting":             "make bench-hostile measures for so long",
	"-longest":            "make bench-hostile measures for so long",
	"-part":               "takes a part, for who looks for a fault",
	"-full":               "make bench-azure measures with it",
	"-inazure":            "make bench-azure measures with it",
	"-made":               "make bench-vsphere measures with it",
	"-standing":           "make bench-vsphere measures with it",
	"-linux.update":       "writes a golden file anew",
	"-update":             "writes golden files anew",
	"-only":               "takes a part, for who looks for a fault",
	"-pods.only":          "takes a part, for who looks for a fault",
	"-policies.templates": "takes more random templates than make test does",
	"-templates":          "takes more random templates than make test does",
	"-seed":               "draws others, for who has met a red one",
	"-policies.seed":      "draws others, for who has met a red one",
	"-words.at":           "counts, and checks nothing else",
	"-plain.at":           "counts, and checks nothing else",
	"-entered.runs":       "counts more often, for who lowers a limit",
	"-plain.write":        "writes a list anew",
	"-lines.at":           "counts, and checks nothing else",
	"-house.at":           "counts, and checks nothing else",
}

// suite is a target of make that nothing but tests is for.
var suite = regexp.MustCompile(`^(test|bench)(-|$)|^(fuzz|stress|stories|mutants-go|quick-start)$`)

// TestTargetsHaveATier: check, test, verify or nightly runs each target that tests.
func TestTargetsHaveATier(t *testing.T) {
	m := readMakefile(t)
	reached := m.reached(tiers...)
	for name := range m.targets {
		switch is := slices.Contains(reached, name); {
		case suite.MatchString(name) && !is && outside[name] == "":
			t.Errorf("none of %v runs make %s: put it into NIGHTLY, or say why not in test/repo/tiers_test.go", tiers, name)
		case is && outside[name] != "":
			t.Errorf("a tier runs make %s: take it out of outside", name)
		}
	}
	for name := range outside {
		if _, is := m.targets[name]; !is && !strings.HasPrefix(name, "-") {
			t.Errorf("outside has make %s, which is not there", name)
		}
	}
}

// TestPackagesHaveATier: a target of a tier runs the tests of each file, in its module and with its tags.
func TestPackagesHaveATier(t *testing.T) {
	m := readMakefile(t)
	var runs []run
	for _, name := range m.reached(tiers...) {
		runs = append(runs, runsOf(m.targets[name])...)
	}
	files := 0
	expect.OK(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && name != root && notTested(entry.Name()) {
			return orSkip(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		if !slices.ContainsFunc(runs, func(r run) bool { return r.has(t, name) }) {
			t.Errorf("none of %v runs the tests of %s", tiers, name)
		}
		return nil
	}))
	if files == 0 || len(runs) == 0 {
		t.Errorf("%d files and %d runs", files, len(runs))
	}
}

func orSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// notTested are the folders in which Go sees no packages, and what is built.
func notTested(folder string) bool {
	return folder == "testdata" || folder == "out" || folder == "bin" || strings.HasPrefix(folder, ".")
}

// run is a go test that takes all tests of its packages.
type run struct {
	folder   string // from the root
	packages []string
	tags     []string
}

var (
	between  = regexp.MustCompile(`&&|\|\||[;|]`)
	changes  = regexp.MustCompile(`(?:^|\s)cd (\S+)`)
	aPart    = regexp.MustCompile(` -(run|short|fuzz|bench)\b`)
	tagsOf   = regexp.MustCompile(` -tags (\S+)`)
	packages = regexp.MustCompile(`(?:^|\s)(\.\.?/\S+)`)
)

// runsOf finds them in what a target runs. Each line has a shell of its own.
func runsOf(at target) []run {
	var all []run
	for _, line := range at.lines {
		folder := "."
		for _, part := range between.Split(line, -1) {
			if to := changes.FindStringSubmatch(part); to != nil {
				folder = path.Join(folder, to[1])
			}
			if !strings.Contains(part, "go test ") || aPart.MatchString(part) {
				continue
			}
			r := run{folder: folder}
			if tags := tagsOf.FindStringSubmatch(part); tags != nil {
				r.tags = strings.Split(tags[1], ",")
			}
			for _, found := range packages.FindAllStringSubmatch(part, -1) {
				r.packages = append(r.packages, found[1])
			}
			all = append(all, r)
		}
	}
	return all
}

// has says whether the run compiles a file.
func (r run) has(t *testing.T, file string) bool {
	t.Helper()
	folder := filepath.ToSlash(expect.Got(filepath.Rel(root, filepath.Dir(file)))(t))
	named := slices.ContainsFunc(r.packages, func(p string) bool {
		below, all := strings.CutSuffix(p, "/...")
		at := path.Join(r.folder, below)
		return folder == at || all && within(folder, at) || all && at == "."
	})
	context := build.Default
	context.BuildTags = r.tags
	return named && moduleOf(folder) == moduleOf(r.folder) &&
		expect.Got(context.MatchFile(filepath.Dir(file), filepath.Base(file)))(t)
}

// moduleOf is the folder of the module that a folder is in.
func moduleOf(folder string) string {
	for folder != "." {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder), "go.mod")); err == nil {
			return folder
		}
		folder = path.Dir(folder)
	}
	return folder
}

// TestModulesHaveATier: a target of a tier goes to each module.
func TestModulesHaveATier(t *testing.T) {
	m := readMakefile(t)
	reached := map[string]bool{}
	scripts := ""
	for _, name := range m.reached(tiers...) {
		scripts += m.text(t, name) + "\n"
		for _, r := range runsOf(m.targets[name]) {
			reached[moduleOf(r.folder)] = true
		}
	}
	for _, file := range expect.Got(filepath.Glob(filepath.Join(root, "*", "*", "*", "go.mod")))(t) {
		module := filepath.ToSlash(expect.Got(filepath.Rel(root, filepath.Dir(file)))(t))
		// test/repo/tools has the versions of programs alone.
		if module != "test/repo/tools" && !reached[module] && !strings.Contains(scripts, "./"+module+"/") {
			t.Errorf("none of %v goes to the module %s", tiers, module)
		}
	}
}

// TestFlagsHaveATier: a target of a tier gives tests each flag with which they do more.
func TestFlagsHaveATier(t *testing.T) {
	m := readMakefile(t)
	var texts []string
	for _, name := range m.reached(tiers...) {
		texts = append(texts, m.text(t, name))
	}
	seen := map[string]bool{}
	for _, s := range sources(t) {
		for name, at := range s.flags() {
			seen["-"+name] = true
			used := regexp.MustCompile(`\s-` + regexp.QuoteMeta(name) + `\b`)
			given := slices.ContainsFunc(texts, func(text string) bool {
				return used.MatchString(text) && (!s.isTest || strings.Contains(text, "./"+s.folder))
			})
			if !given && outside["-"+name] == "" {
				t.Errorf("%s: no target of %v gives -%s to these tests: have one do it, or say why not in test/repo/tiers_test.go",
					s.position(at), tiers, name)
			}
		}
	}
	for name := range maps.Keys(outside) {
		if strings.HasPrefix(name, "-") && !seen[name] {
			t.Errorf("outside has %s, which no test has", name)
		}
	}
}

// flags are those that tests define, by name, and that they share.
func (s source) flags() map[string]ast.Node {
	found := map[string]ast.Node{}
	if !s.isTest && s.folder != "test/kit/proved" {
		return found
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || !strings.HasPrefix(selected(call.Fun), "flag.") || len(call.Args) < 3 {
			return true
		}
		if literal, is := call.Args[0].(*ast.BasicLit); is {
			if name, err := strconv.Unquote(literal.Value); err == nil {
				found[name] = call
			}
		}
		return true
	})
	return found
}

// TestNoCompiler: without a C compiler the race detector is left out, in one sentence, and nothing is red.
func TestNoCompiler(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-o", "servers", "test-race")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CC=no-such-compiler", "MAKELEVEL=", "MAKEFLAGS=")
	expect.Same(t, "output", "LEFT OUT: the race detector, because it needs a C compiler and there is no no-such-compiler: "+
		"install one, or set CC\n", string(expect.Got(cmd.CombinedOutput())(t)))
}

// TestNoPowerShell: without one the tests of the scripts are left out, in one sentence.
func TestNoPowerShell(t *testing.T) {
	programs := t.TempDir()
	for _, name := range []string{"bash", "dirname"} {
		expect.OK(t, os.Symlink(expect.Got(exec.LookPath(name))(t), filepath.Join(programs, name)))
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "test", "upstream", "powershell", "run.sh"))
	cmd.Env = []string{"PATH=" + programs}
	expect.Same(t, "output", "LEFT OUT: the tests of the scripts that nodes run, because there is no PowerShell 7 (no pwsh on "+
		"PATH, and PWSH is not set): install it with Pester 5, as CONTRIBUTING.md says, or set PWSH\n",
		string(expect.Got(cmd.CombinedOutput())(t)))
}
