package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// What is refused here, Go and Windows PowerShell would read in two ways.

// reserved are names that PowerShell reserves: ConvertFrom-Json refuses an object with one of them, in any case.
var reserved = []string{"psobject", "psbase", "psadapted", "psextended", "pstypenames"}

const (
	week = 7 * 24 * 60 * 60
	// mostDepth is of objects and lists in a tree: Windows PowerShell reads 100 levels, of which the plan around it has some.
	mostDepth = 50
)

var (
	printable = regexp.MustCompile(`^[\x20-\x7e]+$`)
	// wholeNumber is what Windows PowerShell keeps as it is: more digits become a float. So do 1e3 and 1.0 elsewhere.
	wholeNumber = regexp.MustCompile(`^(0|-?[1-9]\d{0,27})$`)
	fraction    = regexp.MustCompile(`^-?(0|[1-9]\d{0,9})\.\d{0,3}[1-9]$`)
	valueNumber = regexp.MustCompile(`^(0|-?[1-9]\d{0,17})$`)
)

// name must be one that PowerShell does not have for itself, and differ from the others in more than case.
func (c *checker) name(field, name string, seen map[string]string) {
	lower := strings.ToLower(name)
	c.must(!slices.Contains(reserved, lower), field, "%q is a name that PowerShell reserves", name)
	previous, used := seen[lower]
	c.must(!used || previous == name, field, "%q is used already, in another case: %q", name, previous)
	seen[lower] = name
}

// atMost is a number that interpreters can count with.
func (c *checker) atMost(field string, number, limit int) {
	c.must(number >= 0 && number <= limit, field, "%d must be 0 to %d", number, limit)
}

// tree must be one that comes out of PowerShell as it went in.
func (c *checker) tree(field string, node any) {
	var plain any
	text, err := json.Marshal(node)
	if err == nil {
		err = decodeTree(text, &plain)
	}
	if err != nil {
		c.must(false, field, "is not a tree: %v", err)
		return
	}
	c.must(depth(plain) <= mostDepth, field, "is deeper than %d objects and lists", mostDepth)
	c.node(field, plain)
}

// depth counts the objects and lists that lie in each other.
func depth(node any) int {
	lower := 0
	switch node := node.(type) {
	case map[string]any:
		for _, child := range node {
			lower = max(lower, depth(child))
		}
	case []any:
		for _, child := range node {
			lower = max(lower, depth(child))
		}
	default:
		return 0
	}
	return 1 + lower
}

func (c *checker) node(field string, node any) {
	switch node := node.(type) {
	case map[string]any:
		if name, ok := leafFact(node); ok {
			c.fact(field, name)
			return
		}
		c.object(field, node)
	case []any:
		for _, child := range node {
			c.node(field, child)
		}
	case json.Number:
		c.must(wholeNumber.MatchString(node.String()) || fraction.MatchString(node.String()), field,
			"%s must be a whole number of at most 28 digits, or have one to four decimals", node)
	}
}

func (c *checker) object(field string, node map[string]any) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(node)) {
		c.must(!strings.EqualFold(name, "fact"), field, "%q must be the only name of its object, and its value a text", name)
		c.must(printable.MatchString(name), field, "%q must be printable ASCII, and not empty", name)
		c.name(field, name, seen)
		c.node(field+"."+name, node[name])
	}
}

// text is a leaf of a tree that names are compared with.
func (c *checker) text(field string, node any) {
	text, isText := node.(string)
	object, _ := node.(map[string]any)
	_, isFact := leafFact(object)
	c.must(isFact || isText && text != "", field, "is missing: a text, or a fact")
}

// ways of rules must go through objects or nothing yet, and meet no name in another case.
func (c *checker) ways(patch Tree, rules []ReservationRule) {
	patched := shape(patch)
	for _, rule := range rules {
		c.way("rules.set", patched, strings.Split(rule.Set, "."))
	}
}

// shape is a copy of a tree whose leaves are all alike.
func shape(tree map[string]any) map[string]any {
	copied := map[string]any{}
	for name, child := range tree {
		copied[name] = ""
		object, isObject := child.(map[string]any)
		if _, isFact := leafFact(object); isObject && !isFact {
			copied[name] = shape(object)
		}
	}
	return copied
}

// way of a dotted name through a tree, which it is written into.
func (c *checker) way(field string, tree map[string]any, keys []string) {
	for i, key := range keys {
		seen := map[string]string{}
		for name := range tree {
			seen[strings.ToLower(name)] = name
		}
		c.must(printable.MatchString(key), field, "%q must have printable names between its dots", strings.Join(keys, "."))
		c.name(field, key, seen)
		if i == len(keys)-1 {
			tree[key] = ""
			return
		}
		next, isObject := tree[key].(map[string]any)
		if !isObject && tree[key] != nil {
			c.must(false, field, "goes through %s, which is not an object in patch", key)
			return
		}
		if next == nil {
			next = map[string]any{}
			tree[key] = next
		}
		tree = next
	}
}

func decodeTree(data []byte, target any) error {
	var names any
	if err := decodeStrict(data, &names); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(target)
}

// Readable says whether PowerShell takes a text for JSON at all. Of a plan that it does not take an interpreter knows nothing,
// not even where to report.
func Readable(data []byte) bool {
	return kjson.UnmarshalCaseSensitivePreserveInts(data, new(any)) == nil && readable(json.NewDecoder(bytes.NewReader(data))) == nil
}

func readable(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil || token != json.Delim('{') && token != json.Delim('[') {
		return err
	}
	check := &checker{}
	seen := map[string]string{}
	for err == nil && decoder.More() {
		if token == json.Delim('{') {
			name, _ := decoder.Token()
			check.must(name != "", "", "an empty name")
			check.name("", fmt.Sprint(name), seen)
		}
		err = readable(decoder)
	}
	if err == nil {
		_, err = decoder.Token()
	}
	return errors.Join(append(check.problems, err)...)
}
