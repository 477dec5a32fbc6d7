package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// unordered are the lists of a VM whose order means nothing, each with its reason. CEL compares all lists of the types set and
// map so; of each other one a rule compares the order.
var unordered = map[string]string{
	"spec.azure.identities.userAssigned":                         "a program on the node names the identity that it uses",
	"spec.azure.networkInterfaces[].applicationSecurityGroupIDs": "Azure knows them as a set",
	"spec.azure.networkInterfaces[].loadBalancerPoolIDs":         "the adapter is in all of them",
	"spec.vsphere.networkInterfaces[].routes":                    "Windows chooses the longest prefix",
}

// twoOf are two items of each list that no rule refuses together.
var twoOf = map[string][]any{
	"spec.azure.zones":                                           {"1", "2"},
	"spec.azure.fallbackVMSizes":                                 {"Standard_D4as_v5", "Standard_D8s_v5"},
	"spec.azure.dataDisks":                                       {diskNumber(1), diskNumber(2)},
	"spec.azure.networkInterfaces":                               {map[string]any{"name": "a"}, map[string]any{"name": "b"}},
	"spec.azure.networkInterfaces[].applicationSecurityGroupIDs": {applicationGroup, applicationGroup + "2"},
	"spec.azure.networkInterfaces[].loadBalancerPoolIDs":         {backendPool, backendPool + "2"},
	"spec.azure.networkInterfaces[].dnsServers":                  {"10.0.0.2", "10.0.0.3"},
	"spec.azure.identities.userAssigned":                         {managedIdentity, managedIdentity + "2"},
	"spec.vsphere.networkInterfaces":                             {adapterNumber(1), adapterNumber(2)},
	"spec.vsphere.networkInterfaces[].routes":                    {route(1), route(2)},
}

func diskNumber(i int) any {
	return map[string]any{"name": fmt.Sprint("disk-", i), "sizeGiB": int64(8)}
}

// Another order of a list that CEL compares without its order is refused, unless it means nothing.
func TestOrderOfLists(t *testing.T) {
	spec := definitions["WindowsMachine"].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	lists := map[string]bool{}
	for _, cloud := range []string{"vsphere", "azure"} {
		maps.Copy(lists, unorderedLists("spec."+cloud, spec.Properties[cloud]))
	}
	for _, field := range slices.Sorted(maps.Keys(lists)) {
		items := twoOf[field]
		if len(items) == 0 {
			t.Errorf("CEL compares %s without its order: add a rule to WindowsMachine's spec, or a reason here, and two items", field)
			continue
		}
		made := newObjectFor("WindowsMachine", field)
		set(made.Object, field, items)
		expect.OK(t, api.Create(t.Context(), made))
		set(made.Object, field, []any{items[1], items[0]})
		if err := update(t, made); unordered[field] == "" {
			rule, _, _ := strings.Cut(field, "[]")
			mustRefuse(t, err, rule, otherOrder.message)
		} else if err != nil {
			t.Errorf("%s: %s, but: %v", field, unordered[field], err)
		}
	}
	for field := range unordered {
		if !lists[field] {
			t.Errorf("%s is not a list that CEL compares without its order", field)
		}
	}
}

// unorderedLists are the lists of a schema of the types set and map.
func unorderedLists(path string, schema apiextensionsv1.JSONSchemaProps) map[string]bool {
	found := map[string]bool{}
	if kind := schema.XListType; kind != nil && (*kind == "set" || *kind == "map") {
		found[path] = true
	}
	for name, child := range schema.Properties {
		maps.Copy(found, unorderedLists(path+"."+name, child))
	}
	if schema.Items != nil {
		maps.Copy(found, unorderedLists(path+"[]", *schema.Items.Schema))
	}
	return found
}

// otherOrder is the rule of the lists whose order means something; TestOrderOfLists has the others of them.
var otherOrder = rule{
	at: "spec", field: "spec.azure.zones", changes: true,
	message:  "the order of this list counts, and a VM cannot be edited; " + replaceMachines,
	accepted: edits("spec.azure.zones", []any{"1", "2"}),
	refused:  edits("spec.azure.zones", []any{"2", "1"}),
}

// A field that somebody adds to a cloud, at any depth, is immutable without a rule of its own.
func TestAddedFieldsAreImmutable(t *testing.T) {
	added := []string{"spec.vsphere", "spec.azure", "spec.vsphere.image", "spec.azure.osDisk", "spec.azure.dataDisks[]"}
	definition := withField(t, added)
	expect.OK(t, api.Create(t.Context(), definition))
	ctx, cancel := wait.Within(t.Context(), patience)
	defer cancel()
	expect.OK(t, served(ctx, definition))
	for _, path := range added {
		made := newObjectFor("WindowsMachine", path)
		made.SetAPIVersion(definition.Spec.Group + "/v1beta1")
		set(made.Object, path+".added", "a")
		expect.OK(t, api.Create(t.Context(), made))
		for _, other := range []any{"b", absent} {
			set(made.Object, path+".added", other)
			cloud := strings.Join(strings.Split(path, ".")[:2], ".")
			mustRefuse(t, update(t, made), cloud, editedVM.message)
		}
	}
}

// withField is the CRD of machines in a group of its own, with a field in each of these objects.
func withField(t *testing.T, objects []string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	ours := definitions["WindowsMachine"].DeepCopy()
	made := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: ours.ObjectMeta, Spec: ours.Spec}
	made.ManagedFields, made.ResourceVersion = nil, ""
	made.Spec.Group = "added." + ours.Spec.Group
	made.Name = made.Spec.Names.Plural + "." + made.Spec.Group
	var schema map[string]any
	version := &made.Spec.Versions[0]
	expect.OK(t, json.Unmarshal(expect.Got(json.Marshal(version.Schema.OpenAPIV3Schema))(t), &schema))
	for _, object := range objects {
		node := schema
		for name := range strings.SplitSeq(object, ".") {
			list, isItem := strings.CutSuffix(name, "[]")
			node = inSchema(t, node, "properties", list)
			if isItem {
				node = inSchema(t, node, "items")
			}
		}
		inSchema(t, node, "properties")["added"] = map[string]any{"type": "string", "maxLength": int64(9)}
	}
	version.Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{}
	expect.OK(t, json.Unmarshal(expect.Got(json.Marshal(schema))(t), version.Schema.OpenAPIV3Schema))
	return made
}

func inSchema(t *testing.T, schema map[string]any, names ...string) map[string]any {
	t.Helper()
	found, ok, err := unstructured.NestedFieldNoCopy(schema, names...)
	below, isObject := found.(map[string]any)
	if err != nil || !ok || !isObject {
		t.Fatalf("the schema has no %v: %v", names, err)
	}
	return below
}

// Who manages the VM may change while it runs. In Azure the reference may also come and go.
func TestIdentityOfARunningMachine(t *testing.T) {
	secret := map[string]any{"kind": "Secret", "name": "another"}
	identity := map[string]any{"kind": "AzureClusterIdentity", "name": "blue"}
	for _, c := range []struct {
		cloud, what string
		before, now any
		refused     string
	}{
		{cloud: "spec.azure", what: "another object", before: secret, now: identity},
		{cloud: "spec.azure", what: "taken away: the AzureCluster's is used from then on", before: secret, now: absent},
		{cloud: "spec.azure", what: "added: it goes before the AzureCluster's", before: absent, now: identity},
		{cloud: "spec.vsphere", what: "another Secret", before: map[string]any{"kind": "Secret", "name": "a"}, now: secret},
		{cloud: "spec.vsphere", what: "taken away", before: secret, now: absent, refused: secretOfVCenter.message},
		{cloud: "spec.vsphere", what: "of another kind", before: secret, now: identity, refused: onlySecrets.message},
	} {
		t.Run(c.cloud+" "+c.what, func(t *testing.T) {
			made := newObjectFor("WindowsMachine", c.cloud)
			set(made.Object, "spec.identityRef", c.before)
			expect.OK(t, api.Create(t.Context(), made))
			set(made.Object, "spec.identityRef", c.now)
			err := update(t, made)
			if got := fmt.Sprint(err); (err != nil) != (c.refused != "") || !strings.Contains(got, c.refused) {
				t.Errorf("want a refusal with %q, got: %v", c.refused, err)
			}
		})
	}
}
