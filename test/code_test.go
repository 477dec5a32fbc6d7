package test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// piece is a function, type, variable or constant of ours.
type piece struct {
	file string
	// lines it has, its comment included.
	lines int
	// uses are the functions of ours that it calls or hands on.
	uses []string
}

// goPackage is what the go command says of a package.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// loadCode returns every piece of product code by its name: internal/cloud.Key, controllers/machine.Reconciler.Reconcile.
func loadCode(t *testing.T) map[string]piece {
	t.Helper()
	packages := goList(t)
	set := token.NewFileSet()
	exports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(packages[path].Export)
	})
	code := map[string]piece{}
	for path, p := range packages {
		ours, ok := strings.CutPrefix(path, module+"/")
		if !ok || within(ours, "test") {
			continue
		}
		l := loader{set: set, folder: ours, info: types.Info{Uses: map[*ast.Ident]types.Object{}}, code: code}
		l.load(t, p, exports)
	}
	return code
}

func goList(t *testing.T) map[string]goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	list.Dir = root
	output, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]goPackage{}
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages[p.ImportPath] = p
	}
}

// loader reads one package.
type loader struct {
	set    *token.FileSet
	folder string
	info   types.Info
	code   map[string]piece
}

func (l loader) load(t *testing.T, p goPackage, imports types.Importer) {
	t.Helper()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(l.set, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	config := types.Config{Importer: imports}
	if _, err := config.Check(p.ImportPath, l.set, parsed, &l.info); err != nil {
		t.Fatal(err)
	}
	for _, file := range parsed {
		for _, declaration := range file.Decls {
			l.add(declaration)
		}
	}
}

func (l loader) add(declaration ast.Decl) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		l.put(name, d, d.Doc)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			whole, doc := ast.Node(spec), docOf(spec)
			if len(d.Specs) == 1 {
				whole, doc = d, d.Doc
			}
			for _, name := range namesOf(spec) {
				l.put(name, whole, doc)
			}
		}
	}
}

func (l loader) put(name string, n ast.Node, doc *ast.CommentGroup) {
	begin := n.Pos()
	if doc != nil {
		begin = doc.Pos()
	}
	first, last := l.set.Position(begin), l.set.Position(n.End())
	l.code[l.folder+"."+name] = piece{
		file: path.Join(l.folder, filepath.Base(first.Filename)), lines: last.Line - first.Line + 1, uses: l.uses(n),
	}
}

// uses lists the functions of ours in a piece of code. What is called through an interface has no code to enter here.
func (l loader) uses(n ast.Node) []string {
	var all []string
	ast.Inspect(n, func(n ast.Node) bool {
		identifier, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if f, ok := l.info.Uses[identifier].(*types.Func); ok {
			if name := nameOf(f.Origin()); name != "" {
				all = append(all, name)
			}
		}
		return true
	})
	return all
}

// nameOf a function of ours with a body; empty for any other.
func nameOf(f *types.Func) string {
	if f.Pkg() == nil {
		return ""
	}
	folder, ours := strings.CutPrefix(f.Pkg().Path(), module+"/")
	if !ours {
		return ""
	}
	of := f.Signature().Recv()
	if of == nil {
		return folder + "." + f.Name()
	}
	if types.IsInterface(of.Type()) {
		return ""
	}
	t := of.Type()
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	return folder + "." + t.(*types.Named).Obj().Name() + "." + f.Name()
}

// receiver is the name of a receiver's type, without star and type parameters.
func receiver(n ast.Expr) string {
	switch n := n.(type) {
	case *ast.StarExpr:
		return receiver(n.X)
	case *ast.IndexExpr:
		return receiver(n.X)
	case *ast.Ident:
		return n.Name
	default:
		return ""
	}
}

func docOf(spec ast.Spec) *ast.CommentGroup {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Doc
	case *ast.ValueSpec:
		return s.Doc
	default:
		return nil
	}
}

func namesOf(spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		var names []string
		for _, name := range s.Names {
			names = append(names, name.Name)
		}
		return names
	default:
		return nil
	}
}
