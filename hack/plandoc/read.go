package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// pkg is what the sources of a package say.
type pkg struct {
	doc   string
	types map[string]structure
	// constants by their type; those of no type by the first word of their name.
	constants map[string][]constant
	missing   []error
}

type structure struct {
	comment string
	fields  []field
}

type field struct {
	name, json, comment string
	// of is the name of the type without pointer, list and map.
	of                              string
	list, table, embedded, required bool
}

type constant struct{ name, value, comment string }

func read(folder string) (*pkg, error) {
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		return nil, err
	}
	p := &pkg{types: map[string]structure{}, constants: map[string][]constant{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.doc += file.Doc.Text()
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				p.declare(general)
			}
		}
	}
	if p.doc == "" {
		return nil, fmt.Errorf("%s has no package comment", folder)
	}
	return p, nil
}

func (p *pkg) declare(declaration *ast.GenDecl) {
	for _, spec := range declaration.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if of, ok := spec.Type.(*ast.StructType); ok {
				p.types[spec.Name.Name] = structure{comment: declaration.Doc.Text(), fields: fields(of)}
			}
		case *ast.ValueSpec:
			if declaration.Tok == token.CONST {
				p.declareConstant(spec)
			}
		}
	}
}

func (p *pkg) declareConstant(spec *ast.ValueSpec) {
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		p.lacks("the constant %s: %v", spec.Names[0].Name, err)
		return
	}
	one := constant{name: spec.Names[0].Name, value: value, comment: spec.Doc.Text()}
	of := "Fact"
	if spec.Type != nil {
		of = base(spec.Type)
	} else if !strings.HasPrefix(one.name, of) {
		return
	}
	p.constants[of] = append(p.constants[of], one)
}

func fields(of *ast.StructType) []field {
	var all []field
	for _, one := range of.Fields.List {
		f := field{comment: one.Doc.Text(), of: base(one.Type), embedded: len(one.Names) == 0}
		switch one.Type.(type) {
		case *ast.ArrayType:
			f.list = f.of != "byte"
		case *ast.MapType:
			f.table = true
		}
		if !f.embedded {
			f.name = one.Names[0].Name
			var options string
			f.json, options, _ = strings.Cut(tag(one), ",")
			f.required = options != "omitempty"
		}
		all = append(all, f)
	}
	return all
}

func tag(field *ast.Field) string {
	if field.Tag == nil {
		return "-"
	}
	text, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return "-"
	}
	return reflect.StructTag(text).Get("json")
}

// base is the name of a type without pointer, list and map.
func base(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ArrayType:
		return base(e.Elt)
	case *ast.MapType:
		return base(e.Value)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
