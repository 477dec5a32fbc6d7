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

// blame leads what is refused of the made objects back to the variables that the patches of the class wrote there.
func (t *topology) blame(err error, all []made) error {
	var refused []error
	told := map[string]bool{}
	for _, one := range each(err) {
		if found, ok := errors.AsType[*objects.FieldError](one); ok {
			one = t.blameField(found, all)
		}
		if !told[one.Error()] { // several pools have the variable
			told[one.Error()] = true
			refused = append(refused, one)
		}
	}
	return errors.Join(refused...)
}

// each takes joined errors apart.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, each(one)...)
		}
		return all
	}
	if next := errors.Unwrap(err); next != nil {
		if _, ok := err.(*objects.FieldError); !ok { //nolint:errorlint // because each error of the chain is looked at
			return each(next)
		}
	}
	return []error{err}
}

func (t *topology) blameField(e *objects.FieldError, all []made) error {
	i := slices.IndexFunc(all, func(one made) bool { return one.Kind == e.Of.Kind && one.Key == e.Of.Key })
	if i < 0 {
		return e
	}
	one := all[i]
	var blamed []string
	for _, path := range t.variablesAt(one, e.Path) {
		h := t.holderOf(one, path)
		blamed = append(blamed, fmt.Sprintf("variable %s%s (%s)", path, h.of, t.placeOfVariable(h, path)))
	}
	if len(blamed) == 0 {
		return fmt.Errorf("%s (%s), of which %s makes %s: %w", t.object, one.Place, one.MadeBy, one.Object, errors.New(e.Text))
	}
	return fmt.Errorf("%s, %s: %s; it becomes %s of the %s", t.object, strings.Join(blamed, ", "), textOf(e), e.Path, one.Kind)
}

// holderOf is where the value of a variable comes from for an object: what a pool or the control plane says itself counts first.
func (t *topology) holderOf(one made, path string) holder {
	name := partsOf(path)[0]
	all := t.holders()
	for _, h := range all {
		has := func(v clusterv1.ClusterVariable) bool { return v.Name == name }
		if h.part == one.part && slices.ContainsFunc(h.all(t.cluster), has) {
			return h
		}
	}
	return all[len(all)-1]
}

// placeOfVariable is the line of a variable, or says that the class has its value.
func (t *topology) placeOfVariable(h holder, path string) string {
	at := lineOf(h, path)
	if t.lines().Has(at...) {
		return t.lines().At(at...)
	}
	return "the default of ClusterClass " + t.classKey().String()
}

// variablesAt are the variables that patches write to a field of an object, or into it. If a template of a patch has several, it
// is the one whose value is refused, as far as one can see that.
func (t *topology) variablesAt(one made, path string) []string {
	var found []string
	for _, patch := range t.class.Spec.Patches {
		for _, definition := range patch.Definitions {
			if !matches(definition.Selector, one) {
				continue
			}
			for _, json := range definition.JSONPatches {
				if covers(json.Path, one, path) {
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
	value := textAt(one.content, path)
	exact := slices.DeleteFunc(slices.Clone(found), func(name string) bool {
		return value == "" || t.textOfVariable(t.holderOf(one, name), name) != value
	})
	if len(exact) > 0 {
		return exact
	}
	return found
}

// matches says whether a patch is for the template of an object.
func matches(s clusterv1.PatchSelector, one made) bool {
	kind := one.Kind
	if !strings.HasSuffix(kind, "Template") {
		kind += "Template"
	}
	if s.APIVersion != one.Version.String() || s.Kind != kind {
		return false
	}
	switch one.is {
	case ofInfrastructure:
		return ptr.Deref(s.MatchResources.InfrastructureCluster, false)
	case ofControlPlane:
		return ptr.Deref(s.MatchResources.ControlPlane, false)
	}
	return s.MatchResources.MachineDeploymentClass != nil &&
		slices.ContainsFunc(s.MatchResources.MachineDeploymentClass.Names, func(name string) bool { return fits(name, one.class) })
}

// fits says whether a name of a selector, which may begin or end with *, is that of a class.
func fits(name, class string) bool {
	return name == class || strings.HasPrefix(name, "*") && strings.HasSuffix(class, name[1:]) ||
		strings.HasSuffix(name, "*") && strings.HasPrefix(class, name[:len(name)-1])
}

// covers says whether a patch writes the field, or what it is in, or a part of it. A patch writes to a template, and the refused
// object may be what is made of that.
func covers(pointer string, one made, path string) bool {
	patched := strings.Split(strings.Trim(pointer, "/"), "/")
	if !strings.HasSuffix(one.Kind, "Template") && len(patched) > 1 && patched[0] == "spec" && patched[1] == "template" {
		patched = patched[2:]
	}
	if last := len(patched) - 1; patched[last] == "-" {
		patched = patched[:last]
	}
	refused := partsOf(path)
	n := min(len(patched), len(refused))
	return slices.Equal(patched[:n], refused[:n])
}

var nameInTemplate = regexp.MustCompile(`(?:^|[^\w.\])])\.((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)`)

// namesIn are the variables that a patch reads, each with the field of it.
func (t *topology) namesIn(patch clusterv1.JSONPatch) []string {
	from := ptr.Deref(patch.ValueFrom, clusterv1.JSONPatchValue{})
	names := []string{from.Variable}
	for _, found := range nameInTemplate.FindAllStringSubmatch(from.Template, -1) {
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
	for _, one := range h.all(t.cluster) {
		var value any
		if one.Name == parts[0] && json.Unmarshal(one.Value.Raw, &value) == nil {
			return textAt(value, strings.Join(parts[1:], "."))
		}
	}
	return ""
}

// textAt is a single value in an object, as a text.
func textAt(content any, path string) string {
	for _, part := range partsOf(path) {
		switch within := content.(type) {
		case map[string]any:
			content = within[part]
		case []any:
			i := slices.IndexFunc(within, func(any) bool { return true })
			if _, err := fmt.Sscan(part, &i); err != nil || i < 0 || i >= len(within) {
				return ""
			}
			content = within[i]
		}
	}
	switch content.(type) {
	case map[string]any, []any, nil:
		return ""
	}
	return cmp.Or(fmt.Sprint(content))
}
