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

// plainField are the fields in which nobody writes a secret. Others have references, contents, addresses with passwords.
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

// stands says what there is: its kind, and the value itself if that may be shown.
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
	var all []step
	for path != "" {
		found := stepInPath.FindStringSubmatch(path)
		if found == nil {
			return nil
		}
		next := step{name: found[1], index: -1}
		if next.name == "" {
			next.index, _ = strconv.Atoi(found[2])
		}
		all, path = append(all, next), path[len(found[0]):]
	}
	return all
}

// valueAt returns the value at a path of an object, or nil.
func valueAt(content any, path string) any {
	for _, next := range steps(path) {
		switch within := content.(type) {
		case map[string]any:
			content = within[next.name]
		case []any:
			if next.index < 0 || next.index >= len(within) {
				return nil
			}
			content = within[next.index]
		default:
			return nil
		}
	}
	return content
}

// schemaAt returns the schema at a path, or nil.
func schemaAt(at *structuralschema.Structural, path string) *structuralschema.Structural {
	for _, next := range steps(path) {
		switch {
		case at == nil:
			return nil
		case next.index >= 0:
			at = at.Items
		default:
			at = below(at, next.name)
		}
	}
	return at
}

// below returns the schema of a field.
func below(at *structuralschema.Structural, name string) *structuralschema.Structural {
	if next, ok := at.Properties[name]; ok {
		return &next
	}
	if at.AdditionalProperties != nil {
		return at.AdditionalProperties.Structural
	}
	return nil
}

// fieldsOf lists the fields that a schema has, and no others that the object may have: those may be secrets.
func fieldsOf(at *structuralschema.Structural, there map[string]any) []string {
	var names []string
	for name := range there {
		if _, ok := at.Properties[name]; ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// and joins names as in a sentence.
func and(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
