package security

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/config/crd"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// Every field by which a spec of ours names another object, with the least spec that has it. It names what only another
// namespace has. NS is where a namespace would stand.
var (
	ofConfigs = map[string]string{
		"containerd.dropIns[].contentFrom.secret":             `{containerd: {dropIns: [{name: a, contentFrom: SECRET}]}}`,
		"containerd.dropIns[].contentFrom.configMap":          `{containerd: {dropIns: [{name: a, contentFrom: CONFIGMAP}]}}`,
		"containerd.registries[].caFrom.secret":               `{containerd: {registries: [{host: a.io, caFrom: SECRET}]}}`,
		"containerd.registries[].caFrom.configMap":            `{containerd: {registries: [{host: a.io, caFrom: CONFIGMAP}]}}`,
		"containerd.registries[].credentialsRef":              `{containerd: {registries: [{host: a.io, credentialsRef: NAME}]}}`,
		"custom.files[].contentFrom.secret":                   `{custom: {files: [{path: 'C:\a\b', contentFrom: SECRET}]}}`,
		"custom.files[].contentFrom.configMap":                `{custom: {files: [{path: 'C:\a\b', contentFrom: CONFIGMAP}]}}`,
		"custom.preJoin[].contentFrom.secret":                 `{custom: {preJoin: [{name: a, contentFrom: SECRET}]}}`,
		"custom.preJoin[].contentFrom.configMap":              `{custom: {preJoin: [{name: a, contentFrom: CONFIGMAP}]}}`,
		"custom.postJoin[].contentFrom.secret":                `{custom: {postJoin: [{name: a, contentFrom: SECRET}]}}`,
		"custom.postJoin[].contentFrom.configMap":             `{custom: {postJoin: [{name: a, contentFrom: CONFIGMAP}]}}`,
		"discovery.kubeconfigFrom.secret":                     `{discovery: {kubeconfigFrom: SECRET}}`,
		"windows.domain.credentialsRef":                       `{windows: {domain: {name: a.example.com, credentialsRef: NAME}}}`,
		"windows.proxy.credentialsRef":                        `{windows: {proxy: {http: 'http://a:1', credentialsRef: NAME}}}`,
		"windows.trustedCertificates[].contentFrom.secret":    `{windows: {trustedCertificates: [{name: a, contentFrom: SECRET}]}}`,
		"windows.trustedCertificates[].contentFrom.configMap": `{windows: {trustedCertificates: [{name: a, contentFrom: CONFIGMAP}]}}`,
	}
	ofMachines = map[string]string{
		"identityRef": `{identityRef: {kind: Secret, name: theirs NS}, vsphere: {datacenter: dc0, image: {template: a}}}`,
		"vsphere.networkInterfaces[].addressesFromPools[]": `{identityRef: {kind: Secret, name: cloud}, vsphere: {datacenter: dc0,
			image: {template: a}, networkInterfaces: [{name: node, network: a,
			addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: theirs NS}]}]}}`,
	}
)

// azureMachine has the same reference in the other cloud.
const azureMachine = `{identityRef: {kind: Secret, name: theirs NS}, azure: {resourceGroup: a, location: westeurope,
	subscriptionID: 00000000-0000-0000-0000-000000000000, vmSize: a, image: {id: ` + fake.Image + `}}}`

// specOf is a spec from above, with or without a namespace.
func specOf(t *testing.T, text, namespace string) map[string]any {
	t.Helper()
	if namespace != "" {
		namespace = ", namespace: " + namespace
	}
	text = strings.NewReplacer("SECRET", "{secret: {name: theirs, key: key NS}}",
		"CONFIGMAP", "{configMap: {name: theirs, key: key NS}}", "NAME", "{name: theirs NS}").Replace(text)
	spec := map[string]any{}
	expect.OK(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, " NS", namespace)), &spec))
	return spec
}

// TestEveryReferenceIsTried walks the CRDs: no field of a spec that names an object may be without an attack, and none may name
// a namespace. Templates have the fields of what is made of them.
func TestEveryReferenceIsTried(t *testing.T) {
	tried := map[string]map[string]string{
		"WindowsBootstrapConfig": ofConfigs, "WindowsBootstrapConfigTemplate": ofConfigs,
		"WindowsMachine": ofMachines, "WindowsMachineTemplate": ofMachines,
	}
	for kind, schema := range schemas(t) {
		found := map[string]bool{}
		collect(found, "spec", schema.Properties["spec"])
		names := []string{}
		for name := range found {
			names = append(names, strings.TrimPrefix(strings.Replace(name, "spec.template.", "", 1), "spec."))
		}
		slices.Sort(names)
		expect.Same(t, "references of a "+kind, slices.Sorted(maps.Keys(tried[kind])), names)
	}
}

// A field refers to an object if its name says so, or if it has a name and nothing that an object's reference has not.
var (
	sayingSo    = regexp.MustCompile(`(Ref|Refs|From|FromPools\[\]|Selector|[a-z](Secret|ConfigMap|Namespace)|namespace)(Name)?$`)
	ofReference = []string{"apiGroup", "apiVersion", "kind", "name", "namespace", "key", "uid", "fieldPath", "optional"}
)

// collect notes the innermost references of a schema.
func collect(found map[string]bool, path string, schema apiextensionsv1.JSONSchemaProps) {
	before := len(found)
	for name, property := range schema.Properties {
		collect(found, path+"."+name, property)
	}
	if schema.Items != nil {
		collect(found, path+"[]", *schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		collect(found, path+"{}", *schema.AdditionalProperties.Schema)
	}
	_, named := schema.Properties["name"]
	foreign := func(name string) bool { return !slices.Contains(ofReference, name) }
	pointing := named && !slices.ContainsFunc(slices.Collect(maps.Keys(schema.Properties)), foreign)
	if len(found) == before && (pointing || sayingSo.MatchString(path)) {
		found[path] = true
	}
}

// TestCollect checks that a new reference would be found, whatever it is called.
func TestCollect(t *testing.T) {
	var schema apiextensionsv1.JSONSchemaProps
	expect.OK(t, yaml.Unmarshal([]byte(`{properties: {
		a: {properties: {name: {}, key: {}}}, b: {items: {properties: {kind: {}, name: {}, uid: {}}}}, cRef: {type: string},
		dFrom: {properties: {url: {}}}, eSecretName: {}, f: {properties: {namespace: {}, other: {}}},
		name: {}, folder: {}, user: {properties: {name: {}, role: {}}},
		g: {additionalProperties: {properties: {name: {}}}}}}`), &schema))
	found := map[string]bool{}
	collect(found, "spec", schema)
	expect.Same(t, "references", []string{
		"spec.a", "spec.b[]", "spec.cRef", "spec.dFrom", "spec.eSecretName", "spec.f.namespace", "spec.g{}",
	}, slices.Sorted(maps.Keys(found)))
}

// schemas are those of our kinds.
func schemas(t *testing.T) map[string]*apiextensionsv1.JSONSchemaProps {
	t.Helper()
	all := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, file := range expect.Got(crd.Bases.ReadDir("bases"))(t) {
		var definition apiextensionsv1.CustomResourceDefinition
		content := expect.Got(crd.Bases.ReadFile("bases/" + file.Name()))(t)
		expect.OK(t, yaml.Unmarshal(content, &definition))
		all[definition.Spec.Names.Kind] = definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return all
}
