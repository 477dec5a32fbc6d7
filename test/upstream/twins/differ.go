package twins

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Difference is one place where two outcomes differ.
type Difference struct {
	Where     string
	Lab, Node any
}

// String shows both sides.
func (d Difference) String() string {
	return fmt.Sprintf("%s\n  lab:  %s\n  node: %s", d.Where, shown(d.Lab), shown(d.Node))
}

type absent struct{}

func shown(value any) string {
	if value == (absent{}) {
		return "(nothing)"
	}
	text := fmt.Sprintf("%+q", value)
	if _, ok := value.(string); !ok {
		text = encode(value)
	}
	if len(text) > 600 {
		text = text[:600] + "..."
	}
	return text
}

// order in which a person wants to hear of differences: what was done, then what was told.
var order = []string{
	"died", "report", "effects", "state", "started", "files", "folders", "access", "zips", "console", "plan", "object", "log",
}

// differences of two outcomes. In texts of the node, base is the folder of its disk.
func differences(lab, node Outcome, base string) []Difference {
	d := &differ{base: base}
	for _, part := range order {
		if part == "started" && node[part] == nil {
			continue
		}
		d.compare(part, lab[part], node[part])
	}
	return d.found
}

type differ struct {
	base string
	// where the comparison is.
	where string
	found []Difference
}

func (d *differ) add(where string, lab, node any) {
	d.found = append(d.found, Difference{where, lab, node})
}

func (d *differ) compare(where string, lab, node any) {
	switch lab := lab.(type) {
	case tree:
		if other, ok := node.(tree); ok {
			d.trees(where, lab, other)
			return
		}
	case []any:
		if other, ok := node.([]any); ok {
			d.lists(where, lab, other)
			return
		}
	case string:
		d.where = where
		other, ok := node.(string)
		if ok && (d.same(lab, other) || d.reports(where, lab, other)) {
			return
		}
	default:
		if lab == node {
			return
		}
	}
	d.add(where, lab, node)
}

// reports are compared field by field also where they are a text of an object, an argument of a program, or in the log of one
// that failed.
func (d *differ) reports(where, lab, node string) bool {
	mine, other := withReport.FindStringSubmatch(lab), withReport.FindStringSubmatch(node)
	if mine == nil || other == nil || mine[1] != other[1] || mine[3] != other[3] {
		return false
	}
	inLab, err := decode([]byte(mine[2]))
	onNode, otherErr := decode([]byte(other[2]))
	if err != nil || otherErr != nil {
		return false
	}
	d.compare(where, inLab, onNode)
	return true
}

var withReport = regexp.MustCompile(`(?s)^(.*info-set [^ ]+ )?({"version":1,"uid":.*})([^}]*)$`)

// same: a path of the node's disk has slashes.
func (d *differ) same(lab, node string) bool {
	if lab == node {
		return true
	}
	before := beforeJSON.FindString(lab)
	if strings.HasPrefix(node, before) && d.sameJSON(lab[len(before):], node[len(before):]) {
		return true
	}
	slashes := strings.NewReplacer(`\\`, "/", `\`, "/")
	inPlan := strings.HasPrefix(d.where, "plan.") // where a path may have several parts
	inside := strings.ReplaceAll(node, d.base+"/C", "C:")
	return (inPlan || inside != node) && slashes.Replace(lab) == slashes.Replace(inside)
}

// beforeJSON stands before the JSON in the texts that have some: arguments of programs, requests to HNS, reports. Files have
// nothing.
var beforeJSON = regexp.MustCompile(`^(run |hns [A-Z]+ [^ ]+ |info-set [^ ]+ )?`)

// sameJSON: objects have no order.
func (d *differ) sameJSON(lab, node string) bool {
	mine, err := decode([]byte(lab))
	if err != nil || !strings.HasPrefix(lab, "{") && !strings.HasPrefix(lab, "[") {
		return false
	}
	other, err := decode([]byte(node))
	inner := &differ{base: d.base}
	inner.compare("", mine, other)
	return err == nil && len(inner.found) == 0
}

// telling are the fields of a report that say most.
var telling = []string{"state", "reason", "message", "warnings", "step", "exitCode", "lastLines"}

func (d *differ) trees(where string, lab, node tree) {
	names := maps.Clone(lab)
	maps.Copy(names, node)
	for _, name := range slices.Concat(telling, slices.Sorted(maps.Keys(names))) {
		if _, there := names[name]; !there {
			continue
		}
		delete(names, name)
		mine, inLab := lab[name]
		other, onNode := node[name]
		switch {
		case inLab && onNode:
			d.compare(where+"."+name, mine, other)
		case inLab:
			d.add(where+"."+name, mine, absent{})
		default:
			d.add(where+"."+name, absent{}, other)
		}
	}
}

func (d *differ) lists(where string, lab, node []any) {
	for i := range max(len(lab), len(node)) {
		at := fmt.Sprintf("%s[%d]", where, i)
		switch {
		case i >= len(lab):
			d.add(at, absent{}, node[i])
		case i >= len(node):
			d.add(at, lab[i], absent{})
		default:
			d.compare(at, lab[i], node[i])
		}
	}
}
