package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// tree is a part of a CRD: keywords and what they say.
type tree = map[string]any

// finding is something that a user relies on and that was taken back.
type finding struct {
	path, text string
	// arguable findings may be harmless, which only a person can know.
	arguable bool
}

func (f finding) String() string { return strings.TrimSpace(f.path) + ": " + f.text }

// change is what happened to a keyword; nil stands for absent.
type change struct {
	path, keyword string
	old, now      any
}

func (c change) say(format string, args ...any) []finding {
	return []finding{{path: c.path, text: fmt.Sprintf(format, args...)}}
}

// keyword says how a change of it is judged; without a check it may change. A check gets the table of its level, because schemas
// are in schemas.
type keyword struct {
	check func(level table, c change) []finding
	// implied is what an absent keyword means.
	implied any
}

type table map[string]keyword

// compare finds what users of the old CRDs would lose.
func compare(old, now map[string]tree) []finding {
	var all []finding
	for _, name := range slices.Sorted(maps.Keys(old)) {
		kind := fmt.Sprint(asTree(asTree(old[name]["spec"])["names"])["kind"])
		if now[name] == nil {
			all = append(all, finding{path: kind, text: "the kind was removed"})
			continue
		}
		all = append(all, ofDefinition.compare(kind, old[name], now[name])...)
	}
	return all
}

// compare goes through all keywords that one of two parts has.
func (level table) compare(path string, old, now any) []finding {
	before, after := asTree(old), asTree(now)
	if was, is := before["type"], after["type"]; was != nil && is != nil && was != is {
		// Nothing else of it can be compared.
		return change{path: path}.say("type was %s and is %s", was, is)
	}
	both := maps.Clone(before)
	maps.Copy(both, after)
	var all []finding
	for _, name := range slices.Sorted(maps.Keys(both)) {
		c := change{path: path, keyword: name, old: before[name], now: after[name]}
		all = append(all, level.judge(c)...)
	}
	return all
}

func (level table) judge(c change) []finding {
	known, ok := level[c.keyword]
	if !ok {
		return c.say("crdcheck does not know the keyword %s: say in hack/crdcheck/tables.go what may change", c.keyword)
	}
	if known.check == nil {
		return nil
	}
	if c.old == nil {
		c.old = known.implied
	}
	if c.now == nil {
		c.now = known.implied
	}
	return known.check(level, c)
}

// fixed is for what must stay as it is.
func fixed(_ table, c change) []finding {
	switch {
	case reflect.DeepEqual(undescribed(c.old), undescribed(c.now)):
		return nil
	case c.old == nil:
		return c.say("%s %s is new", c.keyword, shown(c.now))
	case c.now == nil:
		return c.say("%s %s was removed", c.keyword, shown(c.old))
	default:
		return c.say("%s was %s and is %s", c.keyword, shown(c.old), shown(c.now))
	}
}

// loosened is for what may go, but not come or change.
func loosened(level table, c change) []finding {
	if c.now == nil || c.now == false {
		return nil
	}
	return fixed(level, c)
}

// argued is like loosened, but a person may know that the change refuses nothing.
func argued(level table, c change) []finding {
	all := loosened(level, c)
	for i := range all {
		all[i].arguable = true
	}
	return all
}

// raised is for what may rise or go, such as a maximum.
func raised(level table, c change) []finding {
	if old, now, both := numbers(c); both && now >= old {
		return nil
	}
	return loosened(level, c)
}

// lowered is for what may sink or go, such as a minimum.
func lowered(level table, c change) []finding {
	if old, now, both := numbers(c); both && now <= old {
		return nil
	}
	return loosened(level, c)
}

func numbers(c change) (old, now float64, both bool) {
	old, hadOne := c.old.(float64)
	now, hasOne := c.now.(float64)
	return old, now, hadOne && hasOne
}

// served is for what may become true.
func served(_ table, c change) []finding {
	if c.old == true && c.now != true {
		return c.say("the version is not served any more")
	}
	return nil
}

// grown is for lists that may get more items, but lose none.
func grown(_ table, c change) []finding {
	var all []finding
	for _, item := range without(c.old, c.now) {
		all = append(all, c.say("%s has lost %s", c.keyword, shown(item))...)
	}
	return all
}

// allowed is for the values of a field: they may grow in number, or all values may be allowed.
func allowed(level table, c change) []finding {
	switch {
	case c.now == nil:
		return nil
	case c.old == nil:
		return c.say("enum %s is new: the field had any value", shown(c.now))
	default:
		return grown(level, c)
	}
}

// required tells of fields that objects could lack.
func required(_ table, c change) []finding {
	var all []finding
	for _, name := range without(c.now, c.old) {
		all = append(all, finding{path: child(c.path, fmt.Sprint(name)), text: "the field is required now, and objects may lack it"})
	}
	return all
}

// fields tells of fields that were removed, and goes into the others. A new one may have any rules.
func fields(level table, c change) []finding {
	old, now := asTree(c.old), asTree(c.now)
	var all []finding
	for _, name := range slices.Sorted(maps.Keys(old)) {
		path := child(c.path, name)
		if now[name] == nil {
			all = append(all, finding{path: path, text: "the field was removed"})
			continue
		}
		all = append(all, level.compare(path, old[name], now[name])...)
	}
	return all
}

// under is for a schema in a schema, whose path gets a sign.
func under(sign string) func(table, change) []finding {
	return func(level table, c change) []finding {
		if asTree(c.old) == nil || asTree(c.now) == nil {
			return fixed(level, c)
		}
		return level.compare(c.path+sign, c.old, c.now)
	}
}

// in is for a part with keywords of its own.
func in(below table) func(table, change) []finding {
	return func(_ table, c change) []finding { return below.compare(c.path, c.old, c.now) }
}

// versions tells of versions that were removed, and goes into the others.
func versions(_ table, c change) []finding {
	now := map[any]any{}
	for _, version := range asList(c.now) {
		now[asTree(version)["name"]] = version
	}
	var all []finding
	for _, version := range asList(c.old) {
		name := asTree(version)["name"]
		path := fmt.Sprintf("%s %s ", c.path, name)
		if now[name] == nil {
			all = append(all, finding{path: path, text: "the version was removed"})
			continue
		}
		all = append(all, ofVersion.compare(path, version, now[name])...)
	}
	return all
}

// rules tells of rules that the old schema had not. Nobody can compute whether a rule with another text refuses more.
func rules(_ table, c change) []finding {
	had := map[any]bool{}
	for _, rule := range asList(c.old) {
		had[meaning(rule)] = true
	}
	var all []finding
	for _, rule := range asList(c.now) {
		if !had[meaning(rule)] {
			text := fmt.Sprintf("the rule is new or was changed: %s", meaning(rule))
			all = append(all, finding{path: c.path, text: text, arguable: true})
		}
	}
	return all
}

// meaning of a rule, without what it says to a person.
func meaning(rule any) string {
	text := fmt.Sprint(asTree(rule)["rule"])
	if asTree(rule)["optionalOldSelf"] == true {
		text += " (also for new objects)"
	}
	return text
}

// child returns the path of a field. The path of a whole object ends with a space.
func child(path, name string) string {
	if strings.HasSuffix(path, " ") {
		return path + name
	}
	return path + "." + name
}

// without returns the items of a list that another one lacks.
func without(list, other any) []any {
	has := func(item any) bool {
		return slices.ContainsFunc(asList(other), func(one any) bool { return reflect.DeepEqual(one, item) })
	}
	return slices.DeleteFunc(slices.Clone(asList(list)), has)
}

func shown(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	// It came from YAML, so it can be written.
	text, _ := json.Marshal(value)
	return string(text)
}

func asTree(value any) tree {
	t, _ := value.(tree)
	return t
}

func asList(value any) []any {
	l, _ := value.([]any)
	return l
}
