package objects

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// plainText is a text that is no secret wherever it stands: an amount, a version, a time, a size of Azure, or a word as the API
// has them.
var plainText = regexp.MustCompile(`^(v?\d{1,6}([.,]\d{1,6}){0,2} ?([KMGTkmgt]i?)?[Bb]?|\d{1,6}(ms|s|m|h|min)|` +
	`[A-Z][A-Za-z]{1,39}|(Standard|Basic)_[A-Za-z0-9_-]{1,40}|true|false|enabled|disabled|yes|no|on|off)$`)

// plainField are fields that never have a secret. Others have references, contents, addresses with passwords.
var plainField = regexp.MustCompile(`^spec\.(template\.spec\.)?((azure|vsphere)\.|clusterName$|clusterNetwork\.|network\.|` +
	`containerd\.(pauseImage|prepullImages)|custom\.files\[\d+\]\.path$|kubelet\.(extraArgs|featureGates|log)\b|` +
	`windows\.(timeZone|defenderExclusions|features|csiProxy|gmsaPlugin)\b|reservations\.)`)

// longestShown is where a text is cut off.
const longestShown = 80

// shown returns a value as a user wrote it, or nothing if it may be a secret or is no single value.
func shown(path string, value any) string {
	switch value := value.(type) {
	case bool, int64, float64:
		return fmt.Sprint(value)
	case string:
		if !plainText.MatchString(value) && !isAddress(value) && !plainField.MatchString(path) {
			return ""
		}
		if len(value) > longestShown {
			value = value[:longestShown] + "..."
		}
		return strconv.Quote(value)
	}
	return ""
}

func isAddress(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	_, err := netip.ParsePrefix(text)
	return err == nil
}

// stands describes a value: its kind, and the value itself if that may be shown.
func stands(path string, value any) string {
	text := shown(path, value)
	switch value.(type) {
	case bool:
		return text
	case int64, float64:
		return "the number " + text
	case string:
		if text != "" {
			return "the text " + text
		}
		return "a text"
	case []any:
		return "a list"
	}
	return "an object with fields"
}

// step is one step of a path: a field, or a place in a list.
type step struct {
	name  string
	index int // -1 for a field
}

var stepInPath = regexp.MustCompile(`^\.?([^.\[\]]+)|^\[(\d+)\]`)

// steps takes a path apart. It returns none if the path has a part that is neither a field nor a number.
func steps(path string) []step {
	var steps []step
	for path != "" {
		found := stepInPath.FindStringSubmatch(path)
		if found == nil {
			return nil
		}
		next := step{name: found[1], index: -1}
		if next.name == "" {
			next.index, _ = strconv.Atoi(found[2])
		}
		steps, path = append(steps, next), path[len(found[0]):]
	}
	return steps
}

// valueAt returns the value at a path of an object, or nil.
func valueAt(content any, path string) any {
	for _, next := range steps(path) {
		switch typed := content.(type) {
		case map[string]any:
			content = typed[next.name]
		case []any:
			if next.index < 0 || next.index >= len(typed) {
				return nil
			}
			content = typed[next.index]
		default:
			return nil
		}
	}
	return content
}

// schemaAt returns the schema at a path, or nil.
func schemaAt(node *structuralschema.Structural, path string) *structuralschema.Structural {
	for _, next := range steps(path) {
		switch {
		case node == nil:
			return nil
		case next.index >= 0:
			node = node.Items
		default:
			node = childOf(node, next.name)
		}
	}
	return node
}

// childOf returns the schema of a field.
func childOf(node *structuralschema.Structural, name string) *structuralschema.Structural {
	if next, ok := node.Properties[name]; ok {
		return &next
	}
	if node.AdditionalProperties != nil {
		return node.AdditionalProperties.Structural
	}
	return nil
}

// fieldsOf lists the fields that a schema has, and no others that the object may have: those may be secrets.
func fieldsOf(node *structuralschema.Structural, values map[string]any) []string {
	var names []string
	for name := range values {
		if _, ok := node.Properties[name]; ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// joinAnd joins names as in a sentence.
func joinAnd(names []string) string {
	end := len(names) - 1
	if end < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:end], ", ") + " and " + names[end]
}
