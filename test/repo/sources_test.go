// Package repo holds what is true of the repository as a whole: rooms, sizes, and documents that say what the code does.
package repo

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// root of the repository.
const root = "../.."

// source is one hand-written Go file.
type source struct {
	// path and folder are relative to the root, with slashes; the root itself is the folder ".".
	path, folder string
	isTest       bool
	lines        int
	set          *token.FileSet
	file         *ast.File
}

// sources reads all hand-written Go files of the module.
func sources(t *testing.T) []source {
	t.Helper()
	return sourcesIn(t, root)
}

// sourcesIn reads those of a module in another folder, such as an earlier commit.
func sourcesIn(t *testing.T, root string) []source {
	t.Helper()
	var all []source
	expect.OK(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && skipped(name):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		s, err := read(root, name)
		if err == nil && !ast.IsGenerated(s.file) {
			all = append(all, s)
		}
		return err
	}))
	return all
}

// skipped folders hold nothing of this module: what is built, what git keeps, and modules of their own.
func skipped(folder string) bool {
	base := filepath.Base(folder)
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil || base == "out" || base == "bin" || base == "testdata" || strings.HasPrefix(base, ".")
}

func read(root, name string) (source, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return source{}, err
	}
	s := source{path: filepath.ToSlash(relative), lines: bytes.Count(content, []byte("\n")), set: token.NewFileSet()}
	s.folder, s.isTest = path.Dir(s.path), strings.HasSuffix(s.path, "_test.go")
	s.file, err = parser.ParseFile(s.set, name, content, parser.ParseComments)
	return s, err
}

func (s source) position(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(n.Pos()).Line)
}

// span is how many lines a piece of code has.
func (s source) span(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}
