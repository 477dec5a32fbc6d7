package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// code is a room, read with its types.
type code struct {
	name  string // of the package
	set   *token.FileSet
	files []*source
	info  *types.Info
}

// source is a file of a room.
type source struct {
	path string // from the root
	text []byte
	tree *ast.File
}

// listed is what go list says of a package.
type listed struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
	DepOnly                       bool
}

func load(root, folder string) (*code, error) {
	exports := map[string]string{}
	var here *listed
	command := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Name,Export,GoFiles,DepOnly", "./"+folder)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, withOutput(err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var one listed
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[one.ImportPath] = one.Export
		if !one.DepOnly {
			here = &one
		}
	}
	c := &code{name: here.Name, set: token.NewFileSet(), info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	var trees []*ast.File
	for _, name := range here.GoFiles {
		text, err := os.ReadFile(filepath.Join(here.Dir, name))
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(c.set, filepath.Join(here.Dir, name), text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
		if !ast.IsGenerated(tree) {
			c.files = append(c.files, &source{filepath.ToSlash(filepath.Join(folder, name)), text, tree})
		}
	}
	open := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	}
	config := types.Config{Importer: importer.ForCompiler(c.set, "gc", open)}
	_, err = config.Check(here.ImportPath, c.set, trees, c.info)
	return c, err
}

// withOutput adds what a program has written before it failed.
func withOutput(err error) error {
	if exit, is := errors.AsType[*exec.ExitError](err); is && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
