package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// meant says what a user may have meant by a field that does not exist, and whether its name is one that is known, here or
// elsewhere, and therefore no secret.
func (k *kindRules) meant(one Object, content map[string]any, path string) (hint string, known bool) {
	parent, name := apart(path)
	within := schemaAt(k.structural, parent)
	siblings := fieldsAt(within)
	if parent == "metadata" {
		siblings = metadataFields
	}
	if theirs, ok := theirsAt(one.Kind, path); ok {
		return theirs.words(rootOf(one.Kind), valueAt(content, path)), true
	}
	if text := otherVersion(one, path, valueAt(content, path)); text != "" {
		return text, true
	}
	if other := Nearest(name, siblings); other != "" {
		return fmt.Sprintf("did you mean %q?", fieldIn(parent, other)), same(name, other)
	}
	places := k.placesOf(name)
	if len(places) == 0 || len(places) > mostPlaces {
		return "", false
	}
	if cloud := otherCloud(path, places); cloud != "" {
		return fmt.Sprintf("it is a field of %s: remove it, or write the spec for that cloud", cloud), true
	}
	return fmt.Sprintf("the field of this name is %s; look at the indentation", or(places)), true
}

// metadataFields are those that a user writes.
var metadataFields = []string{"annotations", "finalizers", "generateName", "labels", "name", "namespace", "ownerReferences"}

// mostPlaces with a field of the same name are told; a name that is everywhere helps nobody.
const mostPlaces = 3

// apart cuts the last name off a path.
func apart(path string) (parent, name string) {
	if at := strings.LastIndex(path, "."); at >= 0 {
		return path[:at], path[at+1:]
	}
	return "", path
}

// rootOf is where a kind has what a machine needs.
func rootOf(kind string) string {
	if strings.HasSuffix(kind, "Template") {
		return "spec.template.spec."
	}
	return "spec."
}

func fieldsAt(at *structuralschema.Structural) []string {
	if at == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(at.Properties))
}

// plain is a name without what people write differently.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

func same(a, b string) bool { return plain(a) == plain(b) }

// Nearest returns the name that a user most likely meant, or nothing.
func Nearest(name string, names []string) string {
	best, least := "", len(name)
	for _, one := range names {
		if same(name, one) {
			return one
		}
		if away := distance(plain(name), plain(one)); away < least && away <= 1+len(one)/6 && away < len(one)/2 {
			best, least = one, away
		}
	}
	return best
}

// longestNear is how long a name may be that is compared: no field has a longer one.
const longestNear = 40

// distance is how many letters must be put in, taken away, replaced, or swapped with their neighbour.
func distance(a, b string) int {
	if len(a) > longestNear || len(b) > longestNear {
		return longestNear
	}
	var before, row []int
	for j := range len(b) + 1 {
		row = append(row, j)
	}
	for i := range len(a) {
		next := []int{i + 1}
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				change = min(change, before[j-1]+1)
			}
			next = append(next, min(change, row[j+1]+1, next[j]+1))
		}
		before, row = row, next
	}
	return row[len(b)]
}

// placesOf lists the fields of a name, wherever the kind has them.
func (k *kindRules) placesOf(name string) []string {
	var found []string
	var look func(at *structuralschema.Structural, path string)
	look = func(at *structuralschema.Structural, path string) {
		if at == nil {
			return
		}
		for _, field := range fieldsAt(at) {
			if below := at.Properties[field]; path != "" || field == "spec" {
				if same(name, field) && path != "" {
					found = append(found, fieldIn(path, field))
				}
				look(&below, fieldIn(path, field))
			}
		}
		look(at.Items, path+"[]")
	}
	look(k.structural, "")
	return found
}

// otherCloud returns the cloud that has the field, if that is not the one whose spec the field is in.
func otherCloud(path string, places []string) string {
	for cloud, other := range map[string]string{"vsphere": "azure", "azure": "vsphere"} {
		if !strings.Contains(path, "spec."+cloud+".") {
			continue
		}
		all := true
		for _, place := range places {
			all = all && strings.Contains(place, "spec."+other+".")
		}
		if all {
			return "spec." + other
		}
	}
	return ""
}

func or(names []string) string { return strings.Replace(and(names), " and ", " or ", 1) }
