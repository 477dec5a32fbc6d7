package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// meant guesses what a user meant by a field that does not exist. isKnown is true if the field's name is known, here or
// elsewhere, and therefore no secret.
func (k *kindRules) meant(object Object, content map[string]any, path string) (hint string, isKnown bool) {
	parent, name := apart(path)
	parentSchema := schemaAt(k.structural, parent)
	siblings := fieldsAt(parentSchema)
	if parent == "metadata" {
		siblings = metadataFields
	}
	if foreignName, ok := theirsAt(object.Kind, path); ok {
		return foreignName.words(rootOf(object.Kind), valueAt(content, path)), true
	}
	if text := otherVersion(object, path, valueAt(content, path)); text != "" {
		return text, true
	}
	if similar := Nearest(name, siblings); similar != "" {
		return fmt.Sprintf("did you mean %q?", fieldIn(parent, similar)), sameName(name, similar)
	}
	places := k.placesOf(name)
	if len(places) == 0 || len(places) > mostPlaces {
		return "", false
	}
	if cloud := otherCloud(path, places); cloud != "" {
		return fmt.Sprintf("it is a field of %s: remove it, or write the spec for that cloud", cloud), true
	}
	return fmt.Sprintf("the field of this name is %s; look at the indentation", joinOr(places)), true
}

// metadataFields are those that a user writes.
var metadataFields = []string{"annotations", "finalizers", "generateName", "labels", "name", "namespace", "ownerReferences"}

// mostPlaces with a field of the same name are listed; a longer list is no help.
const mostPlaces = 3

// apart cuts the last name off a path.
func apart(path string) (parent, name string) {
	if dot := strings.LastIndex(path, "."); dot >= 0 {
		return path[:dot], path[dot+1:]
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

func fieldsAt(node *structuralschema.Structural) []string {
	if node == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(node.Properties))
}

// plain is a name without case, underscores and hyphens.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

func sameName(a, b string) bool { return plain(a) == plain(b) }

// Nearest returns the name that a user most likely meant, or nothing.
func Nearest(name string, names []string) string {
	best, shortest := "", len(name)
	for _, word := range names {
		if sameName(name, word) {
			return word
		}
		if n := Distance(plain(name), plain(word)); n < shortest && n <= 1+len(word)/6 && n < len(word)/2 {
			best, shortest = word, n
		}
	}
	return best
}

// longestNear is how long a name may be that is compared: no field has a longer one.
const longestNear = 40

// Distance is how many letters must be put in, taken away, replaced, or swapped with their neighbour.
func Distance(a, b string) int {
	if len(a) > longestNear || len(b) > longestNear {
		return longestNear
	}
	var previous, row []int
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
				change = min(change, previous[j-1]+1)
			}
			next = append(next, min(change, row[j+1]+1, next[j]+1))
		}
		previous, row = row, next
	}
	return row[len(b)]
}

// placesOf lists the fields of a name, wherever the kind has them.
func (k *kindRules) placesOf(name string) []string {
	var found []string
	var look func(node *structuralschema.Structural, path string)
	look = func(node *structuralschema.Structural, path string) {
		if node == nil {
			return
		}
		for _, field := range fieldsAt(node) {
			if child := node.Properties[field]; path != "" || field == "spec" {
				if sameName(name, field) && path != "" {
					found = append(found, fieldIn(path, field))
				}
				look(&child, fieldIn(path, field))
			}
		}
		look(node.Items, path+"[]")
	}
	look(k.structural, "")
	return found
}

// otherCloud returns the cloud that has the field, if that is not the one whose spec the field is in.
func otherCloud(path string, places []string) string {
	for cloud, foreignCloud := range map[string]string{
		infrav1.CloudVSphere: infrav1.CloudAzure, infrav1.CloudAzure: infrav1.CloudVSphere,
	} {
		if !strings.Contains(path, "spec."+cloud+".") {
			continue
		}
		inForeignCloud := true
		for _, place := range places {
			inForeignCloud = inForeignCloud && strings.Contains(place, "spec."+foreignCloud+".")
		}
		if inForeignCloud {
			return "spec." + foreignCloud
		}
	}
	return ""
}

func joinOr(names []string) string { return strings.Replace(joinAnd(names), " and ", " or ", 1) }
