package topology

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// blame traces what is refused of the generated objects back to the variables that the patches of the class wrote there.
func (t *topology) blame(err error, generated []made) error {
	var refused []error
	reported := map[string]bool{}
	for _, e := range split(err) {
		if found, ok := errors.AsType[*objects.FieldError](e); ok {
			e = t.blameField(found, generated)
		}
		if !reported[e.Error()] { // several pools have the variable
			reported[e.Error()] = true
			refused = append(refused, e)
		}
	}
	return errors.Join(refused...)
}

// split takes joined errors apart.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range joined.Unwrap() {
			errs = append(errs, split(e)...)
		}
		return errs
	}
	if next := errors.Unwrap(err); next != nil {
		if _, ok := err.(*objects.FieldError); !ok { //nolint:errorlint // because each error of the chain is looked at
			return split(next)
		}
	}
	return []error{err}
}

func (t *topology) blameField(e *objects.FieldError, generated []made) error {
	i := slices.IndexFunc(generated, func(object made) bool { return object.Kind == e.Object.Kind && object.Key == e.Object.Key })
	if i < 0 {
		return e
	}
	object := generated[i]
	var blamed []string
	for _, path := range t.variablesAt(object, e.Path) {
		h := t.holderOf(object, path)
		blamed = append(blamed, fmt.Sprintf("variable %s%s (%s)", path, h.name, t.placeOfVariable(h, path)))
	}
	if len(blamed) == 0 {
		return fmt.Errorf("%s (%s), of which %s makes %s: %w", t.object, object.Place, object.MadeBy, object.Object, errors.New(e.Text))
	}
	return fmt.Errorf("%s, %s: %s; it becomes %s of the %s", t.object, strings.Join(blamed, ", "), textOf(e), e.Path, object.Kind)
}

// holderOf returns where the value of a variable of an object comes from: a value of the pool or the control plane itself comes
// first.
func (t *topology) holderOf(object made, path string) holder {
	name := partsOf(path)[0]
	holders := t.holders()
	for _, h := range holders {
		hasName := func(v clusterv1.ClusterVariable) bool { return v.Name == name }
		if h.part == object.part && slices.ContainsFunc(h.variables(t.cluster), hasName) {
			return h
		}
	}
	return holders[len(holders)-1]
}

// placeOfVariable is the line of a variable, or the class if that has its value.
func (t *topology) placeOfVariable(h holder, path string) string {
	linePath := lineOf(h, path)
	if t.lines().Contains(linePath...) {
		return t.lines().Place(linePath...)
	}
	return "the default of ClusterClass " + t.classKey().String()
}

// variablesAt are the variables that patches write to a field of an object, or into it. If a template of a patch has several, it
// is the one whose value is refused, as far as one can see that.
func (t *topology) variablesAt(object made, path string) []string {
	var found []string
	for _, patch := range t.class.Spec.Patches {
		for _, definition := range patch.Definitions {
			if !matches(definition.Selector, object) {
				continue
			}
			for _, json := range definition.JSONPatches {
				if covers(json.Path, object, path) {
					found = append(found, t.namesIn(json)...)
				}
			}
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) < 2 {
		return found
	}
	value := textAt(object.content, path)
	exact := slices.DeleteFunc(slices.Clone(found), func(name string) bool {
		return value == "" || t.textOfVariable(t.holderOf(object, name), name) != value
	})
	if len(exact) > 0 {
		return exact
	}
	return found
}

// matches reports whether a patch is for the template of an object.
func matches(s clusterv1.PatchSelector, object made) bool {
	kind := object.Kind
	if !strings.HasSuffix(kind, "Template") {
		kind += "Template"
	}
	if s.APIVersion != object.Version.String() || s.Kind != kind {
		return false
	}
	switch object.role {
	case ofInfrastructure:
		return ptr.Deref(s.MatchResources.InfrastructureCluster, false)
	case ofControlPlane:
		return ptr.Deref(s.MatchResources.ControlPlane, false)
	}
	return s.MatchResources.MachineDeploymentClass != nil &&
		slices.ContainsFunc(s.MatchResources.MachineDeploymentClass.Names, func(name string) bool { return fits(name, object.class) })
}

// fits reports whether a name of a selector, which may begin or end with *, is that of a class.
func fits(name, class string) bool {
	return name == class || strings.HasPrefix(name, "*") && strings.HasSuffix(class, name[1:]) ||
		strings.HasSuffix(name, "*") && strings.HasPrefix(class, name[:len(name)-1])
}

// covers reports whether a patch writes the field, or what it is in, or a part of it. A patch writes to a template, and the
// refused object may be what is made of that.
func covers(pointer string, object made, path string) bool {
	patched := strings.Split(strings.Trim(pointer, "/"), "/")
	if !strings.HasSuffix(object.Kind, "Template") && len(patched) > 1 && patched[0] == "spec" && patched[1] == "template" {
		patched = patched[2:]
	}
	if end := len(patched) - 1; patched[end] == "-" {
		patched = patched[:end]
	}
	refused := partsOf(path)
	n := min(len(patched), len(refused))
	return slices.Equal(patched[:n], refused[:n])
}

var nameInTemplate = regexp.MustCompile(`(?:^|[^\w.\])])\.((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)`)

// namesIn are the variables that a patch reads, each with the field of it.
func (t *topology) namesIn(patch clusterv1.JSONPatch) []string {
	source := ptr.Deref(patch.ValueFrom, clusterv1.JSONPatchValue{})
	names := []string{source.Variable}
	for _, found := range nameInTemplate.FindAllStringSubmatch(source.Template, -1) {
		names = append(names, found[1])
	}
	return slices.DeleteFunc(names, func(name string) bool {
		head, _, _ := strings.Cut(name, ".")
		return !slices.ContainsFunc(t.class.Spec.Variables, func(v clusterv1.ClusterClassVariable) bool { return v.Name == head })
	})
}

// textOfVariable is the value of a variable, or of a field of it.
func (t *topology) textOfVariable(h holder, path string) string {
	parts := partsOf(path)
	for _, variable := range h.variables(t.cluster) {
		var value any
		if variable.Name == parts[0] && json.Unmarshal(variable.Value.Raw, &value) == nil {
			return textAt(value, strings.Join(parts[1:], "."))
		}
	}
	return ""
}

// textAt is a single value in an object, as a text.
func textAt(content any, path string) string {
	for _, part := range partsOf(path) {
		switch typed := content.(type) {
		case map[string]any:
			content = typed[part]
		case []any:
			i := slices.IndexFunc(typed, func(any) bool { return true })
			if _, err := fmt.Sscan(part, &i); err != nil || i < 0 || i >= len(typed) {
				return ""
			}
			content = typed[i]
		}
	}
	switch content.(type) {
	case map[string]any, []any, nil:
		return ""
	}
	return cmp.Or(fmt.Sprint(content))
}
