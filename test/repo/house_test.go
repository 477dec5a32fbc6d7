package repo

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var houseAt = flag.String("house.at", "", "the commit that TestHouse compares with")

// houses are the rooms of the clouds, in which files should depend on each other in one direction.
var houses = []string{"internal/cloud/azure", "internal/cloud/vsphere"}

// TestHouse prints what became of the code since a commit: its lines, and how files of a cloud depend on each other.
func TestHouse(t *testing.T) {
	if *houseAt == "" {
		t.Skip("it compares with a commit: name one by AT")
	}
	folder := t.TempDir()
	archive := filepath.Join(folder, "tree.tar")
	git(t, "archive", "--format=tar", "--output="+archive, *houseAt)
	expect.OK(t, exec.CommandContext(t.Context(), "tar", "-xf", archive, "-C", folder).Run())
	previous, current := sourcesIn(t, folder), sources(t)
	for name, ofTests := range map[string]bool{"product": false, "tests": true} {
		lines, now := textOf(t, folder, previous, ofTests), textOf(t, root, current, ofTests)
		t.Logf("%s: %d lines at %s, %d now; %d of those then are not there any more, moved or not", name, sum(lines),
			*houseAt, sum(now), missing(lines, now))
	}
	for _, house := range houses {
		arrows, opposed := arrowsIn(t, folder, house)
		now, stillOpposed := arrowsIn(t, expect.Got(filepath.Abs(root))(t), house)
		t.Logf("%s: %d arrows between files at %s, %d now; %d and %d of them have one in the opposite direction", house, arrows,
			*houseAt, now, opposed, stillOpposed)
	}
}

// textOf counts the lines that are not empty, by what they have.
func textOf(t *testing.T, folder string, all []source, ofTests bool) map[string]int {
	t.Helper()
	lines := map[string]int{}
	for _, s := range all {
		if ofTests != (s.isTest || within(s.folder, besideProduct...)) {
			continue
		}
		content := string(expect.Got(os.ReadFile(filepath.Join(folder, filepath.FromSlash(s.path))))(t))
		for line := range strings.Lines(content) {
			if line = strings.TrimSpace(line); line != "" {
				lines[line]++
			}
		}
	}
	return lines
}

func sum(lines map[string]int) (all int) {
	for _, n := range lines {
		all += n
	}
	return all
}

// missing counts the lines of one tree that another does not have.
func missing(lines, others map[string]int) (all int) {
	for line, n := range lines {
		all += max(n-others[line], 0)
	}
	return all
}

// arrowsIn counts the arrows between the files of a folder, and from these to the folders below, which are one room each. Some
// arrows have another one in the opposite direction.
func arrowsIn(t *testing.T, module, folder string) (arrows, opposed int) {
	t.Helper()
	packages, exports := exported(t, module, folder)
	set := token.NewFileSet()
	kinds := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	leads := map[[2]string]bool{}
	for _, p := range packages {
		info := types.Info{Uses: map[*ast.Ident]types.Object{}}
		var files []*ast.File
		for _, name := range p.GoFiles {
			files = append(files, expect.Got(parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))(t))
		}
		checked := expect.Got((&types.Config{Importer: kinds}).Check(p.ImportPath, set, files, &info))(t)
		top := filepath.Join(module, filepath.FromSlash(folder))
		room := func(at token.Pos, of *types.Package) string {
			if of.Path() == p.ImportPath && p.Dir == top {
				return set.Position(at).Filename
			}
			return of.Path()
		}
		for name, object := range info.Uses {
			if object.Pkg() == nil || !strings.Contains(object.Pkg().Path()+"/", "/"+folder+"/") {
				continue
			}
			if from, to := room(name.Pos(), checked), room(object.Pos(), object.Pkg()); from != to {
				leads[[2]string{from, to}] = true
			}
		}
	}
	for lead := range leads {
		if leads[[2]string{lead[1], lead[0]}] {
			opposed++
		}
	}
	return len(leads), opposed
}

// goPackage is what go list prints of one.
type goPackage struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
}

// exported are the packages of a folder, and the files with the types of all that they import.
func exported(t *testing.T, module, folder string) (packages []goPackage, exports map[string]string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=Dir,ImportPath,Export,GoFiles",
		"./"+folder+"/...")
	list.Dir = module
	exports = map[string]string{}
	top := filepath.Join(module, filepath.FromSlash(folder))
	for decoder := json.NewDecoder(bytes.NewReader(expect.Got(list.Output())(t))); decoder.More(); {
		var p goPackage
		expect.OK(t, decoder.Decode(&p))
		exports[p.ImportPath] = p.Export
		if within(p.Dir, top) {
			packages = append(packages, p)
		}
	}
	return packages, exports
}
