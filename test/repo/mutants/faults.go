package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// fault is one change of a room: the text from start to end becomes what put makes of it.
type fault struct {
	file, function string
	line           int
	kind, text     string
	start, end     int
	// put writes the code in which fault n is off or on; inner has the text between two places, with the faults inside.
	put func(n int, inner func(start, end int) string) string
}

func (f *fault) what() string { return f.function + ": " + f.kind + ": " + f.text }

func (f *fault) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what()) }

// inmost are the kinds that take a text apart, so that no other fault of the same text can be inside.
var inmost = map[string]int{"boundary": 1, "bool flipped": 1}

// inOrder sorts by place: what is around something else comes before it.
func inOrder(a, b *fault) int {
	return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end),
		cmp.Compare(inmost[a.kind], inmost[b.kind]), strings.Compare(a.kind, b.kind))
}

// finder finds the faults of a file.
type finder struct {
	*code
	in       *source
	function string
	results  *types.Tuple
	found    []*fault
}

// faults are all that are possible, in the order of the code.
func (c *code) faults() (all []*fault) {
	for _, file := range c.files {
		f := &finder{code: c, in: file}
		for _, d := range file.tree.Decls {
			f.declaration(d)
		}
		all = append(all, f.found...)
	}
	slices.SortFunc(all, inOrder)
	return all
}

func (f *finder) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.GenDecl:
		if d.Tok == token.VAR {
			f.function = "var"
			f.walk(d, nil)
		}
	case *ast.FuncDecl:
		if d.Body == nil {
			return
		}
		f.function = d.Name.Name
		signature, _ := f.info.Defs[d.Name].Type().(*types.Signature)
		f.walk(d.Body, signature.Results())
	}
}

// walk looks at each node below; results are those of the function around it.
func (f *finder) walk(n ast.Node, results *types.Tuple) {
	ast.Inspect(n, func(n ast.Node) bool {
		f.results = results
		switch n := n.(type) {
		case *ast.FuncLit:
			signature, _ := f.info.TypeOf(n).(*types.Signature)
			f.walk(n.Body, signature.Results())
			return false
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
		case *ast.CommClause:
			f.statements(n.Body)
		case *ast.IfStmt:
			f.condition(n.Cond, true)
		case *ast.ForStmt:
			f.condition(n.Cond, false) // one that is always true hangs
		case *ast.SwitchStmt:
			f.cases(n)
		case *ast.ReturnStmt:
			f.returns(n)
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.Ident:
			f.literal(n)
		}
		return true
	})
}

// add adds a fault at a node.
func (f *finder) add(n ast.Node, kind string, put func(n int, inner func(start, end int) string) string) {
	at := f.set.Position(n.Pos())
	start, end := at.Offset, f.set.Position(n.End()).Offset
	f.found = append(f.found, &fault{
		file: f.in.path, function: f.function, line: at.Line, kind: kind, text: short(f.in.text[start:end]),
		start: start, end: end, put: put,
	})
}

// around puts the text of a node, with its faults, between two texts. @ stands for the number of the fault.
func (f *finder) around(n ast.Node, kind, before, after string) {
	f.add(n, kind, func(number int, inner func(start, end int) string) string {
		on := fmt.Sprintf("mutantIs(%d)", number)
		return strings.ReplaceAll(before, "@", on) + inner(f.offsets(n)) + after
	})
}

func (f *finder) offsets(n ast.Node) (start, end int) {
	return f.set.Position(n.Pos()).Offset, f.set.Position(n.End()).Offset
}

// short is a text on one line.
func short(text []byte) string {
	words := strings.Join(strings.Fields(string(text)), " ")
	if len(words) > 80 {
		words = words[:80] + "..."
	}
	return words
}

// isBool says whether an expression is a bool of no name of its own, and not a constant.
func (f *finder) isBool(e ast.Expr) bool {
	of := f.info.Types[e]
	return of.Value == nil && (of.Type == types.Typ[types.Bool] || of.Type == types.Typ[types.UntypedBool])
}

func (f *finder) condition(e ast.Expr, alsoTrue bool) {
	if e == nil || !f.isBool(e) {
		return
	}
	if alsoTrue {
		f.around(e, "always true", "(@ || (", "))")
	}
	f.around(e, "always false", "(!@ && (", "))")
}

func (f *finder) cases(s *ast.SwitchStmt) {
	if s.Tag != nil {
		return
	}
	for _, one := range s.Body.List {
		clause, _ := one.(*ast.CaseClause)
		for _, e := range clause.List {
			f.condition(e, true)
		}
	}
}

func (f *finder) returns(s *ast.ReturnStmt) {
	if f.results == nil || len(s.Results) != f.results.Len() {
		return
	}
	for i, e := range s.Results {
		switch wanted := f.results.At(i).Type(); {
		case types.Identical(wanted, types.Universe.Lookup("error").Type()):
			if !f.info.Types[e].IsNil() {
				f.around(e, "error is nil", "mutantNil(@, ", ")")
			}
		case types.Identical(wanted, types.Typ[types.Bool]):
			f.condition(e, true)
		}
	}
}

// moved are the operators of the other boundary.
var moved = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

func (f *finder) binary(e *ast.BinaryExpr) {
	if !f.isBool(e) {
		return
	}
	switch {
	case e.Op == token.LAND:
		f.around(e.X, "operand dropped", "(@ || (", "))")
		f.around(e.Y, "operand dropped", "(@ || (", "))")
	case e.Op == token.LOR:
		f.around(e.X, "operand dropped", "(!@ && (", "))")
		f.around(e.Y, "operand dropped", "(!@ && (", "))")
	case moved[e.Op] != "":
		f.add(e, "boundary", func(number int, inner func(start, end int) string) string {
			x, y := inner(f.offsets(e.X)), inner(f.offsets(e.Y))
			return fmt.Sprintf("(mutantIs(%[1]d) && (%[2]s %[4]s %[3]s) || !mutantIs(%[1]d) && (%[2]s %[5]s %[3]s))",
				number, x, y, moved[e.Op], e.Op)
		})
	}
}

// literal is true or false. What a person writes as bool{} is no constant then.
func (f *finder) literal(e *ast.Ident) {
	is := f.info.Uses[e]
	if is != types.Universe.Lookup("true") && is != types.Universe.Lookup("false") {
		return
	}
	if of := f.info.TypeOf(e); of != types.Typ[types.Bool] && of != types.Typ[types.UntypedBool] {
		return
	}
	before := "@"
	if e.Name == "true" {
		before = "!@"
	}
	f.add(e, "bool flipped", func(number int, _ func(start, end int) string) string {
		return "(" + strings.ReplaceAll(before, "@", fmt.Sprintf("mutantIs(%d)", number)) + ")"
	})
}

func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, is := s.X.(*ast.CallExpr); is && f.counts(call) {
				f.around(s, "call deleted", "if !@ { ", " }")
			}
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && !blank(s.Lhs) {
				f.around(s, "assignment deleted", "if !@ { ", " }")
			}
		case *ast.IncDecStmt:
			f.around(s, "assignment deleted", "if !@ { ", " }")
		}
	}
}

func blank(all []ast.Expr) bool {
	for _, e := range all {
		if name, is := e.(*ast.Ident); !is || name.Name != "_" {
			return false
		}
	}
	return true
}

// locks are methods without which no test hangs or fails reliably.
var locks = map[string]bool{"Lock": true, "Unlock": true, "RLock": true, "RUnlock": true}

// counts leaves out panics, without which a function may not compile, locks, and what is written to the log, of which a test
// knows nothing.
func (f *finder) counts(call *ast.CallExpr) bool {
	switch called := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return f.info.Uses[called] != types.Universe.Lookup("panic")
	case *ast.SelectorExpr:
		of := f.info.Selections[called]
		return !locks[called.Sel.Name] && (of == nil || of.Recv().String() != "github.com/go-logr/logr.Logger")
	}
	return true
}
