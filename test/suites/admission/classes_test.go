package admission

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A class says whether a field can change after creation. A field's description ends with it, or that of its parent.
const (
	immutableField = "Immutable."
	mutableField   = "Mutable."
)

// choices are the fields whose own class is not that of the fields below, which say their own.
var choices = map[string]bool{"spec": true, "spec.vsphere": true, "spec.azure": true}

// specField is a field below spec, as the CRD describes it. The name of a list's item ends with [].
type specField struct {
	name, class string
	schema      apiextensionsv1.JSONSchemaProps
	required    bool
}

// fieldsOf lists a schema's fields below a field, without the items of lists, which are changed with their fields.
func fieldsOf(parent specField) []specField {
	if parent.schema.Items != nil {
		item := *parent.schema.Items.Schema
		return fieldsOf(specField{name: parent.name + "[]", class: parent.class, schema: item})
	}
	var all []specField
	for _, name := range slices.Sorted(maps.Keys(parent.schema.Properties)) {
		schema := parent.schema.Properties[name]
		one := specField{
			name: parent.name + "." + name, schema: schema, required: slices.Contains(parent.schema.Required, name),
			class: cmp.Or(classIn(schema.Description), parent.class),
		}
		below := one
		if choices[one.name] {
			below.class = ""
		}
		all = append(append(all, one), fieldsOf(below)...)
	}
	return all
}

func classIn(description string) string {
	words := strings.Fields(description)
	if n := len(words); n > 0 && (words[n-1] == immutableField || words[n-1] == mutableField) {
		return words[n-1]
	}
	return ""
}

func specOf(kind string) specField {
	return specField{name: "spec", schema: definitions[kind].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]}
}

// change returns another value for a field, if possible a valid one, or says that there is none.
func (f specField) change(value any) (any, bool) {
	switch {
	case len(f.schema.Enum) == 1 && (f.required || strings.HasSuffix(f.name, ".image.setup")): // left out, setup means the same
		return nil, false
	case f.name == "spec.providerID":
		return vmTwo, true
	case f.name == "spec.identityRef.name":
		return "another", true
	case strings.HasPrefix(f.name, "spec.identityRef"): // TestIdentityOfARunningMachine has the rest
		return nil, false
	case !f.required || choices[f.name]:
		return absent, true
	}
	switch value := value.(type) {
	case int64:
		return value + 4, true
	case string:
		return f.otherText(value), true
	case []any:
		return append(slices.Clone(value), "another"), true
	}
	return nil, false // its fields are changed
}

func (f specField) otherText(value string) string {
	for _, other := range f.schema.Enum {
		if text := strings.Trim(string(other.Raw), `"`); text != value {
			return text
		}
	}
	return value[:len(value)-1] + string('1'+value[len(value)-1]%8)
}

// Every field of a machine's spec says its class, and the API server does what the class says.
func TestClasses(t *testing.T) {
	machines := map[string]*unstructured.Unstructured{}
	for _, field := range append([]string{"spec.vsphere", "spec.azure"}, variantFields()...) {
		machines[field] = newObjectFor("WindowsMachine", field)
		expect.OK(t, api.Create(t.Context(), machines[field]))
	}
	for _, f := range fieldsOf(specOf("WindowsMachine")) {
		t.Run(f.name, func(t *testing.T) {
			made := machines["spec.vsphere"].DeepCopy()
			if strings.HasPrefix(f.name, "spec.azure") {
				made = machines[cmp.Or(variantOf(f.name).field, "spec.azure")].DeepCopy()
			}
			if f.class == "" {
				t.Fatalf("end its description with %q and give it a rule, or end it with %q", immutableField, mutableField)
			}
			changed := made.DeepCopy()
			other, ok := f.change(get(t, made.Object, f.name))
			if !ok {
				return
			}
			set(changed.Object, f.name, other)
			switch f.name { // a machine without a cloud is refused for that
			case "spec.vsphere":
				set(changed.Object, "spec.azure", parse(azureSpec)["azure"])
				set(changed.Object, "spec.providerID", absent)
			case "spec.azure":
				set(changed.Object, "spec.vsphere", parse(vsphereSpec)["vsphere"])
			}
			f.wantClass(t, update(t, changed))
		})
	}
}

// notAlone are fields that may not be left out alone, each with the one that needs it.
var notAlone = map[string]string{
	"spec.vsphere.cpus":          "spec.vsphere.coresPerSocket",
	"spec.azure.priority":        "spec.azure.spot",
	"spec.azure.securityProfile": "spec.azure.osDisk.securityEncryptionType",
}

// Fields that were left out have a class, too.
func TestClassesOfAbsentFields(t *testing.T) {
	for _, f := range fieldsOf(specOf("WindowsMachine")) {
		if f.required || strings.Count(f.name, ".") != 2 || strings.HasPrefix(f.name, "spec.identityRef") {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			made := newObjectFor("WindowsMachine", f.name)
			value := get(t, made.Object, f.name)
			set(made.Object, f.name, absent)
			if other := notAlone[f.name]; other != "" {
				set(made.Object, other, absent)
			}
			expect.OK(t, api.Create(t.Context(), made))
			set(made.Object, f.name, value)
			f.wantClass(t, update(t, made))
		})
	}
}

// An empty image is as good as none, which a template may have for a patch of a ClusterClass to fill in.
func TestEmptyImages(t *testing.T) {
	for _, cloud := range []string{"spec.vsphere", "spec.azure"} {
		made := newObjectFor("WindowsMachine", cloud)
		set(made.Object, cloud+".image", map[string]any{})
		expect.OK(t, api.Create(t.Context(), made))
		set(made.Object, cloud+".image", absent)
		expect.Fine(t, update(t, made))
	}
}

// The order of adapters says which one is the node's.
func TestOrderOfAdaptersIsImmutable(t *testing.T) {
	made := newObject("WindowsMachine")
	set(made.Object, "spec.vsphere.networkInterfaces", []any{adapterNumber(1), adapterNumber(2)})
	expect.OK(t, api.Create(t.Context(), made))
	set(made.Object, "spec.vsphere.networkInterfaces", []any{adapterNumber(2), adapterNumber(1)})
	mustRefuse(t, update(t, made), "spec.vsphere.networkInterfaces", otherOrder.message)
}

// wantClass wants an answer that fits the class, and a refusal that names the cloud.
func (f specField) wantClass(t *testing.T, err error) {
	t.Helper()
	if f.class == mutableField {
		if err != nil {
			t.Errorf("want the change accepted, got: %v", err)
		}
		return
	}
	switch parts := strings.Split(f.name, "."); {
	case f.name == "spec.providerID":
		mustRefuse(t, err, f.name, "providerID identifies the machine's VM and cannot be changed")
	case len(parts) == 2:
		mustRefuse(t, err, "spec", otherCloud.message)
	default:
		mustRefuse(t, err, strings.Join(parts[:2], "."), editedVM.message)
	}
}

// Every field of a config's spec can change until the user data is rendered from it.
func TestClassesOfConfigs(t *testing.T) {
	if said := specOf("WindowsBootstrapConfig").schema.Description; classIn(said) != immutableField {
		t.Errorf("the description of spec must end with its class, it is: %s", said)
	}
	free, made := newObject("WindowsBootstrapConfig"), newObject("WindowsBootstrapConfig")
	expect.OK(t, api.Create(t.Context(), free))
	createRendered(t, made)
	for _, f := range fieldsOf(specOf("WindowsBootstrapConfig")) {
		value, ok := find(made.Object, f.name)
		other, has := f.change(value)
		if !ok || !has {
			continue // it excludes another field that is there
		}
		t.Run(f.name, func(t *testing.T) {
			for _, one := range []*unstructured.Unstructured{free, made} {
				changed := one.DeepCopy()
				set(changed.Object, f.name, other)
				err := update(t, changed)
				if refused := err != nil && strings.Contains(err.Error(), frozen); refused != (one == made) {
					t.Errorf("rendered: %t, frozen: %t, got: %v", one == made, refused, err)
				}
			}
		})
	}
}

// get returns the value of a field, in the first item of each list.
func get(t *testing.T, fields map[string]any, field string) any {
	t.Helper()
	value, ok := find(fields, field)
	if !ok && field != "spec.providerID" && field != "spec.azure" {
		t.Fatalf("the valid object of the tests lacks %s; add it", field)
	}
	return value
}

func find(fields map[string]any, field string) (any, bool) {
	name, rest, more := strings.Cut(field, ".")
	list, isItem := strings.CutSuffix(name, "[]")
	value, ok := fields[list]
	if isItem && ok {
		items, _ := value.([]any)
		if len(items) == 0 {
			return nil, false
		}
		value = items[0]
	}
	if !more || !ok {
		return value, ok
	}
	child, _ := value.(map[string]any)
	return find(child, rest)
}
