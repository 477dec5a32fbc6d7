// Command plandoc writes docs/plan.md, which describes the language of plans, from the types and comments of bootstrap/plan.
// It fails when a kind or a field has no comment.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/doc/comment"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plandoc FILE, in the root of the repository")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "plandoc:", err)
		os.Exit(1)
	}
}

func write(file string) error {
	p, err := read("bootstrap/plan")
	if err != nil {
		return err
	}
	page := p.page()
	if err := errors.Join(p.missing...); err != nil {
		return err
	}
	return os.WriteFile(file, page, 0o644)
}

// page is all of docs/plan.md.
func (p *pkg) page() []byte {
	var out bytes.Buffer
	out.WriteString("# The plan of a node\n\n")
	out.WriteString("`make generate` writes this page from the types and comments in `bootstrap/plan`: edit those.\n\n")
	out.WriteString(markdown(strings.Replace(p.doc, "Package plan is", "A plan is", 1)))
	out.WriteString("\n## Facts\n\n| fact | |\n| --- | --- |\n")
	for _, fact := range p.constants["Fact"] {
		fmt.Fprintf(&out, "| `%s` | %s |\n", fact.value, cell(fact.comment, map[string]string{fact.name: fact.value}))
	}
	out.WriteString("\n## Fields of a plan\n\n" + p.table("Plan"))
	out.WriteString("\n## Fields of every step\n\nEach step has `do`, its kind, and may have:\n\n" + p.table("Common"))
	out.WriteString("\n" + p.kinds())
	out.WriteString("\n## The report\n\n" + markdown(p.types["Report"].comment) + "\n" + p.table("Report"))
	return out.Bytes()
}

// kinds is the list of all kinds, followed by the section of each.
func (p *pkg) kinds() string {
	steps := plan.Kinds()
	slices.SortFunc(steps, func(a, b plan.Step) int { return cmp.Compare(plan.KindOf(a), plan.KindOf(b)) })
	var index, sections strings.Builder
	for _, step := range steps {
		name, about, _ := p.said(step)
		sentence, _, _ := strings.Cut(strings.TrimPrefix(cell(about, nil), name+" "), ". ")
		kind := string(plan.KindOf(step))
		fmt.Fprintf(&index, "| [%s](#%s) | %s |\n", kind, strings.ToLower(kind), strings.TrimSuffix(sentence, "."))
		sections.WriteString("\n" + p.kind(step))
	}
	return "## Kinds\n\n| kind | |\n| --- | --- |\n" + index.String() +
		"\nFields that a kind must have are marked *.\n" + sections.String()
}

// said is what the comment on a kind's type says: what the kind does, and what counts as already so.
func (p *pkg) said(step plan.Step) (name, about, already string) {
	name = strings.TrimPrefix(fmt.Sprintf("%T", step), "*plan.")
	about, already, _ = strings.Cut(p.types[name].comment, "\nAlready so: ")
	return name, about, already
}

// kind is the section of one kind.
func (p *pkg) kind(step plan.Step) string {
	name, about, already := p.said(step)
	if already == "" {
		p.lacks("%s does not say what is already so", name)
	}
	kind := string(plan.KindOf(step))
	names := p.names(name)
	names[name], names["TimeoutSeconds"] = kind, "timeoutSeconds"
	text := fmt.Sprintf("### %s\n\n%s\n\nAlready so: %s Default reason: %#q.\n", kind,
		cell(about, names), cell(already, names), plan.KindOf(step).DefaultReason())
	if rows := p.table(name); rows != "" {
		text += "\n" + rows
	}
	return text
}

// table has a row for each field of a struct, and those below it.
func (p *pkg) table(name string) string {
	rows := p.rows(name, "")
	if rows == "" {
		return ""
	}
	return "| field | | meaning |\n| --- | --- | --- |\n" + rows
}

func (p *pkg) rows(name, prefix string) string {
	names := p.names(name)
	var rows strings.Builder
	for _, field := range p.types[name].fields {
		switch {
		case field.json == "-":
			continue
		case field.embedded:
			if field.of != "Common" {
				rows.WriteString(p.rows(field.of, prefix))
			}
			continue
		case field.comment == "":
			p.lacks("%s.%s has no comment", name, field.name)
		}
		mark := ""
		if field.required && prefix == "" {
			mark = "*"
		}
		fmt.Fprintf(&rows, "| `%s%s`%s | %s | %s |\n", prefix, field.json, mark, p.typeName(field), cell(field.comment, names))
		if below := p.types[field.of]; len(below.fields) > 0 && !opaque[field.of] {
			list := ""
			if field.list {
				list = "[]"
			}
			rows.WriteString(p.rows(field.of, prefix+field.json+list+"."))
		}
	}
	return rows.String()
}

// names of JSON by those of Go, for a struct and what it embeds.
func (p *pkg) names(name string) map[string]string {
	names := map[string]string{}
	for _, field := range p.types[name].fields {
		if field.embedded && field.of != "Common" {
			maps.Copy(names, p.names(field.of))
			continue
		}
		names[field.name] = field.json
	}
	return names
}

// opaque types have a section or a word of their own.
var opaque = map[string]bool{"Value": true, "Tree": true, "Step": true, "CollectLogs": true}

// words are the names of field types on the page.
var words = map[string]string{
	"string": "text", "int": "number", "bool": "true or false", "any": "tree", "Value": "value", "Tree": "tree", "Step": "step",
	"CollectLogs": "a `collectLogs` step", "byte": "base64",
}

func (p *pkg) typeName(f field) string {
	text := words[f.of]
	if values := p.constants[f.of]; len(values) > 0 {
		var all []string
		for _, one := range values {
			all = append(all, "`"+one.value+"`")
		}
		text = strings.Join(all, ", ")
	}
	switch {
	case text == "":
		text = "object"
	case f.table:
		text = "table of " + text + "s"
	}
	if f.list {
		text = "list of " + text + "s"
	}
	return text
}

// cell is a comment in one line, with names of JSON in place of those of Go.
func cell(text string, names map[string]string) string {
	fields := strings.Fields(text)
	for i, word := range fields {
		bare := strings.TrimRight(word, ".,;:)")
		if name, ok := names[bare]; ok && name != "" && name != "-" {
			fields[i] = "`" + name + "`" + word[len(bare):]
		}
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(fields, " "))
}

func markdown(text string) string {
	var parser comment.Parser
	printer := comment.Printer{HeadingLevel: 2, HeadingID: func(*comment.Heading) string { return "" }}
	return string(printer.Markdown(parser.Parse(text)))
}

func (p *pkg) lacks(format string, args ...any) {
	p.missing = append(p.missing, fmt.Errorf(format, args...))
}
