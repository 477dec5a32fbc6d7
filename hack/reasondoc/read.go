package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// reason is what the comment of a constant says.
type reason struct{ meaning, cause, command string }

// sources are the files with reasons that users see.
var sources = []string{
	"api/infrastructure/v1beta1/conditions.go", "api/infrastructure/v1beta1/reasons.go", "api/bootstrap/v1beta1/conditions.go",
	"bootstrap/step/reasons*.go",
}

// read finds the reasons of all sources by their values.
func read() (map[string]reason, error) {
	all := map[string]reason{}
	var faults []error
	for _, pattern := range sources {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("%s: no file: %w", pattern, err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				faults = append(faults, readFile(name, all))
			}
		}
	}
	for name, one := range all {
		if one.meaning == "" || one.cause == "" || one.command == "" {
			faults = append(faults, fmt.Errorf("the comment of %s lacks its meaning, Cause or Run", name))
		}
	}
	return all, errors.Join(faults...)
}

func readFile(name string, all map[string]reason) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	var faults []error
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value := valueOf(spec)
		if value == "" {
			return false
		}
		one := parse(spec.Names[0].Name, spec.Doc.Text())
		switch before, twice := all[value]; {
		case !twice || before.cause == "":
			all[value] = one
		case one.cause != "":
			faults = append(faults, fmt.Errorf("%s has two comments with a Cause", value))
		}
		return false
	})
	return errors.Join(faults...)
}

// valueOf is the text of a constant for a reason, or nothing. One that is Cluster API's has its name there.
func valueOf(spec *ast.ValueSpec) string {
	name := spec.Names[0].Name
	if len(spec.Values) != 1 || !strings.HasSuffix(name, "Reason") && !strings.HasPrefix(name, "Reason") {
		return ""
	}
	switch value := spec.Values[0].(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(value.Value)
		if err != nil {
			return ""
		}
		return text
	case *ast.SelectorExpr:
		return strings.TrimSuffix(value.Sel.Name, "Reason")
	}
	return ""
}

// parse takes a comment apart.
func parse(constant, comment string) reason {
	meaning, rest, _ := strings.Cut(strings.TrimPrefix(comment, constant+": "), "\nCause: ")
	cause, command, _ := strings.Cut(rest, "\nRun: ")
	return reason{meaning: clause(meaning), cause: clause(cause), command: clause(command)}
}

// clause is text in one line, without the dot at its end.
func clause(text string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}
