package objects

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestKindsOfKubernetes: Secrets and ConfigMaps are refused as an API server would, in the words of their fields.
func TestKindsOfKubernetes(t *testing.T) {
	const object = "apiVersion: v1\nkind: KIND\nmetadata: {name: a}\nHERE\n"
	const lacks, type64 = "]: is missing, and a Secret of the type kubernetes.io/", " must have it; add it, or leave type out"
	const plain = " is not base64; write plain text to stringData"
	areSaid(t, strings.Replace(object, "KIND", "Secret", 1), "Secret default/a: ", map[string]string{
		"type: Opaque": "well",
		"type: kubernetes.io/tls\ndata: {tls.crt: YQ==}":                           "data[tls.key" + lacks + "tls" + type64,
		"type: kubernetes.io/tls\nstringData: {tls.crt: a}\ndata: {tls.key: YQ==}": "well",
		"type: kubernetes.io/ssh-auth":                                             "data[ssh-privatekey" + lacks + "ssh-auth" + type64,
		"type: kubernetes.io/basic-auth\ndata: {username: YQ==}":                   "well",
		"type: kubernetes.io/basic-auth\nstringData: {password: a}":                "well",
		"type: kubernetes.io/basic-auth": "data[username" + lacks + "basic-auth" + type64 + "\ndata[password" + lacks + "basic-auth" +
			type64,
		"data: {a: b, c: '!', 'd e': '!', f: YQ==}":              "data.a, data.c" + plain,
		"data: {'d e': '!'}":                                     "data" + plain,
		"data: {a: '!', b: '!', c: '!', d: '!', e: '!', f: '!'}": "data.a, data.b, data.c, data.d, data.e" + plain,
		"data: {a: [b]}":                                         "data: must be a text in base64, not a list",
		"data: text":                                             "data: must be an object with fields, not a text",
		"data: [5]":                                              "data: must be an object with fields, not a list",
		"immutable: 5":                                           "immutable: must be true or false, not a number",
		"stringData: {a: true}":                                  "stringData: must be a text, not true or false; write it in quotes",
		"stringData: {a: {b: c}}":                                "stringData: must be a text, not an object with fields",
	})
	areSaid(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, HERE}\n", "Secret default/a: ", map[string]string{
		"creationTimestamp: null":    "well",
		"creationTimestamp: hunter2": "a text is not a time, such as 2026-01-31T12:00:00Z",
	})
	expect.Same(t, "what nobody foresaw", "Secret /: odd", explain(Object{Kind: "Secret"}, errors.New("odd")).Error())
	areSaid(t, strings.Replace(object, "KIND", "ConfigMap", 1), "ConfigMap default/a: ", map[string]string{
		"data: {a: b}":         "well",
		"binaryData: {a: '!'}": "a value of binaryData is not base64; write plain text to data",
		"data: {a: {b: c}}":    "data: must be a text, not an object with fields",
	})
}

// TestKindsAndVersions: a kind that Cluster API and this provider do not have is refused. What is of an older version, or of
// another provider, is left to whoever reads it.
func TestKindsAndVersions(t *testing.T) {
	const kinds = "there is no such kind in cluster.x-k8s.io, which has Cluster, ClusterClass, Machine, MachineDeployment, " +
		"MachineDrainRule, MachineHealthCheck, MachinePool, MachineSet"
	areSaid(t, "HERE\nmetadata: {name: a}\nspec: {a: b}", " default/a", map[string]string{
		"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Banana": "Banana: " + kinds,
		"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Clustr": "Clustr: there is no such kind in " +
			"cluster.x-k8s.io; did you mean Cluster?",
		"apiVersion: cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane": "KubeadmControlPlane: " + kinds,
		"apiVersion: cluster.x-k8s.io/v1beta1\nkind: WindowsMachine": "WindowsMachine: a WindowsMachine is not of " +
			"cluster.x-k8s.io; write apiVersion: infrastructure.cluster.x-k8s.io/v1beta1",
		"apiVersion: cluster.x-k8s.io/v1alpha3\nkind: Machine":                       "well",
		"apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1\nkind: WindowsMachine": "well",
		"apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureMachine":    "well",
		"apiVersion: v1beta1\nkind: Secret":                                          "well",
	})
}

// TestMetadata: the metadata of our kinds is that of an API server.
func TestMetadata(t *testing.T) {
	const machine = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: WindowsMachine\nHERE\n"
	const spec = "\nspec: {azure: {vmSize: Standard_D4s_v5}}"
	areSaid(t, machine, "WindowsMachine default/a: ", map[string]string{
		"metadata: {name: a}" + spec:                        "well",
		"metadata: {name: a}\nspec: null":                   "spec: is missing; set it",
		"metadata: {name: a, labels: 5}" + spec:             "metadata.labels: must be an object with fields, not a number",
		"metadata: {name: a, annotations: {a: [b]}}" + spec: "metadata.annotations: must be a text, not a list",
		"metadata: {name: a, finalizers: b}" + spec:         "metadata.finalizers: must be a list, not a text",
		"metadata: {name: a, generation: x}" + spec: "metadata.generation: must be a whole number that is not too " +
			"large, not a text",
		"metadata: {name: a, creationTimestamp: hunter2}" + spec: "metadata: a text is not a time, such as 2026-01-31T12:00:00Z",
		"metadata: {name: a, labls: {a: b}}" + spec:              `unknown field "metadata.labls"; did you mean "metadata.labels"?`,
		"metadata: {name: a, ownerReferences: [{name: b, kind: c, apiVersion: d}]}" + spec: "metadata.ownerReferences.uid: " +
			"must not be empty",
		"metadata: {name: a}" + spec + "\nstatus: {a: b}": `unknown field "status.a"`,
	})
	areSaid(t, machine, "WindowsMachine default/: ", map[string]string{
		spec: "metadata.name: is missing; name or generateName is required",
	})
	areSaid(t, machine, "WindowsMachine B/a: ", map[string]string{
		"metadata: {name: a, namespace: B}" + spec: "metadata.namespace: a lowercase RFC 1123 label must consist of lower case " +
			"alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc')",
	})
}

// TestWordsOfRefusals: a sentence shows what stands there, if nobody writes a secret there, and what to write.
func TestWordsOfRefusals(t *testing.T) {
	long, tooLong := strings.Repeat("x", 80), "..."+`"; may not be more than `
	const form, modes = `, but must be the name of a VM size: letters, digits, '-' and '_', such as Standard_D4s_v5`,
		`network.mode: must be one of "L2Bridge", "Overlay", "Transparent", "None", not `
	const notFilled, fill = " has the variable ${", "}, which is not filled in; run clusterctl generate yaml, or " +
		"clusterctl generate cluster, and give what that prints"
	const disks = `osDisk.type: must be one of "Standard_LRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Premium_LRS", ` +
		`"Premium_ZRS", not `
	well := "vmSize: Standard_D4s_v5, "
	areSaid(t, inAzure, "WindowsMachine default/a: spec.azure.", map[string]string{
		"vmSize: a b":                    `vmSize: is "a b"` + form,
		well + "location: " + long:       `location: Too long; "` + long + `"; may not be more than 64 bytes`,
		well + "location: " + long + "y": `location: Too long; "` + long + tooLong + "64 bytes",
		well + "zones: ['12']": `zones[0]: Too long; "12"; may not be more than 1 byte; write the number alone, ` +
			`such as ["1"]`,
		well + "zones: ['1', '1']": "zones[1]: is listed twice, remove one",
		well + "resourceGroup: /subscriptions/x/" + long: `resourceGroup: Too long; "/subscriptions/x/` + long[:63] + tooLong +
			"90 bytes; write the last part of it alone",
		well + "networkInterfaces: [{name: a, subnet: {name: " +
			"/subscriptions/" + long + "}}]": `networkInterfaces[0].subnet.name: Too ` +
			`long; "/subscriptions/` + long[:65] + tooLong + "80 bytes; it is an ID: write it to " +
			"spec.azure.networkInterfaces[0].subnet.id",
		well + "osDisk: {sizeGiB: 99999999999}": "osDisk.sizeGiB: is 99999999999, but should be less than or equal to 4095",
		well + "osDisk: {type: Premium}":        disks + `"Premium": write Premium_LRS`,
		well + "osDisk: {type: Premium_LSR}":    disks + `"Premium_LSR"; did you mean Premium_LRS?`,
		well + "priority: spot":                 `priority: must be one of "Regular", "Spot", not "spot"; did you mean Spot?`,
		"vmSize: '${SIZE'":                      `vmSize: is "${SIZE"` + form,
		"vmSize: '${size}'":                     `vmSize: is "${size}"` + form,
		"vmSize: '{{ x'":                        `vmSize: is "{{ x"` + form,
		"vmSize: 'x }}'":                        `vmSize: is "x }}"` + form,
		"vmSize: '{{ x }}'":                     "vmSize has " + templateOfHelm,
		"vmSize: '${SIZE:=b}'":                  "vmSize" + notFilled + "SIZE" + fill,
		"vmSize: '${SIZE=b} ${B}'":              "vmSize" + notFilled + "SIZE" + fill,
		"location: '${A}', vmSize: '${A}'":      "location" + notFilled + "A" + fill, // once for each variable
		"location: '${A}', vmSize: '${B}'":      "location" + notFilled + "A" + fill + "\nvmSize" + notFilled + "B" + fill,
		"location: '${A}', vmSize: 'b c'":       "location" + notFilled + "A" + fill + "\nvmSize: is \"b c\"" + form,
	})
	const bytes = "; without a unit these are bytes, so write "
	areSaid(t, inConfig, "WindowsBootstrapConfig default/a: spec.", map[string]string{
		"network: {mode: Overlya}":    modes + `"Overlya"; did you mean Overlay?`,
		"network: {mode: 'Overlay:'}": modes + `"Overlay:"; did you mean Overlay?`,
		"network: {mode: L2Tunnel}": modes + `"L2Tunnel": Azure CNI dropped it in 2024 and makes an L2Bridge instead; ` +
			`write L2Bridge`,
		"network: {mode: hunter2}": modes + `"hunter2"`,
		"network: {cni: Calico, mode: Transparent}": `network.cni: is "Calico" with the mode "Transparent", but mode and ` +
			`cni do not fit ` +
			"together; use L2Bridge with Flannel, Calico or AzureCNI, Overlay with Flannel or Calico, Transparent with Antrea " +
			"or no cni, or None with no cni",
		"reservations: {eviction: {memoryAvailable: 500}}": "reservations.eviction.memoryAvailable: is 500, but must be an " +
			"amount from 1Mi to 24Ti or a percentage from 1% to 99%, such as 500Mi or 5%" + bytes + "500Mi or 500Gi",
		"windows: {domain: {name: x.test}}": "windows.domain: has name; a domain needs name and credentialsRef; set both, " +
			"or leave out domain",
		"windows: {proxy: {http: 'http://u:hunter2@x'}}": "windows.proxy.http: Forbidden; user and password do not belong " +
			"in a URL, where everybody who can read the config sees them; write credentialsRef and remove them here",
		"windows: {users: [{name: a, role: hunter2, sshAuthorizedKeys: [ssh-ed25519 AAAA]}]}": "windows.users[0].role: must " +
			"be one of " +
			`"Administrator", "User"`,
	})
	areSaid(t, inPool, "MachineDeployment default/a: spec.", map[string]string{
		"rollout: {after: hunter2}":             "rollout.after: the text is not a time, such as 2026-01-31T12:00:00Z",
		"deletion: {order: Old}":                `deletion.order: must be one of "Random", "Newest", "Oldest", not "Old"`,
		"selector: {}\n  replicas: 99999999999": "replicas: is 99999999999, but must be from -2147483648 to 2147483647",
	})
}

// TestMoreThanAPersonReads: of many objects the first are refused.
func TestMoreThanAPersonReads(t *testing.T) {
	wrong := "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: 5\n---\n"
	for n, want := range map[int]string{
		20: strings.TrimSuffix(strings.Repeat("Secret default/a: data: must be an object with fields, not a number\n", 20), "\n"),
		21: strings.Repeat("Secret default/a: data: must be an object with fields, not a number\n", 20) + "and perhaps " +
			"more: these were the first 20 objects",
	} {
		err := expect.Got(readText(t, "x.yaml", strings.Repeat(wrong, n)))(t).Admit()
		expect.Same(t, fmt.Sprint(n), want, err.Error())
	}
	good := strings.Join([]string{goodSecret, goodConfigMap, goodConfig, goodMachine, goodControlPlane}, "---\n") + "---\n"
	expect.OK(t, expect.Got(readText(t, "x.yaml", strings.Repeat(good, 21)))(t).Admit()) // they do not count
}

// TestWhatAdmissionKeeps: an object is kept as an API server would store it, with its defaults. The status of Cluster API's kinds
// is left out.
func TestWhatAdmissionKeeps(t *testing.T) {
	const machine = `{"spec":{"azure":{"vmSize":"Standard_D4s_v5","zones":null}},"status":{"computerName":"win-1"},`
	const ours = `"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"WindowsMachine","metadata":{"name":"a"}}`
	const theirs = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"a"},"spec":{"paused":true,` +
		`"infrastructureRef":{"apiGroup":"a","kind":"B","name":"c"}},"status":{"phase":"x"}}`
	found := expect.Got(readText(t, "x.json", machine+ours+theirs))(t)
	expect.OK(t, found.Admit())
	for i, want := range []string{
		`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","kind":"WindowsMachine","metadata":{"name":"a"},"spec":{"azure":` +
			`{"image":{"setup":"CloudbaseInit"},"vmSize":"Standard_D4s_v5"}},"status":{"computerName":"win-1"}}`,
		`{"kind":"Cluster","apiVersion":"cluster.x-k8s.io/v1beta2","metadata":{"name":"a"},"spec":{"paused":true,` +
			`"infrastructureRef":{"kind":"B","name":"c","apiGroup":"a"}}}`,
	} {
		expect.Same(t, found.Items[i].String(), want, string(found.Items[i].Data))
	}
}

// TestRefuseValue: the value of a variable of a ClusterClass is refused as a field of that name would be.
func TestRefuseValue(t *testing.T) {
	least := 5.0
	whole := map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: "integer"}}
	object := apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: whole, Required: []string{"a"},
		XValidations: []apiextensionsv1.ValidationRule{{Rule: "self.a > 3", Message: "a must be more than 3"}},
	}
	for _, c := range []struct {
		data   string
		schema apiextensionsv1.JSONSchemaProps
		want   string
	}{
		{`{"a": 1}`, apiextensionsv1.JSONSchemaProps{Type: "string"}, "size: must be a text, not an object with fields"},
		{`3`, apiextensionsv1.JSONSchemaProps{Type: "integer", Minimum: &least}, "size: is 3, but should be greater than or " +
			"equal to 5"},
		{`1.5`, apiextensionsv1.JSONSchemaProps{Type: "number"}, ""},
		{`2.0`, apiextensionsv1.JSONSchemaProps{Type: "integer"}, ""},
		{`"x"`, apiextensionsv1.JSONSchemaProps{Type: "string", Pattern: "^a$"}, "size: does not have the form that it must " +
			"have; by its ClusterClass it matches '^a$'"},
		{`{}`, apiextensionsv1.JSONSchemaProps{Type: "array"}, "size: must be a list, not an object with fields; write it " +
			"in brackets, as in [a, b]"},
		{`{}`, object, "size.a: is missing; set it"},
		{`{"b": 1, "c": {"d": 1}}`, object, "unknown field \"size.b\"\nunknown field \"size.c\""},
		{`{"a": {"b": 1}}`, object, "size.a: must be a whole number, not an object with fields"},
		{`{"a": 3}`, object, "size: has a; a must be more than 3"},
		{`{"a": 4}`, object, ""},
	} {
		refused, err := RefuseValue(&c.schema, "size", []byte(c.data))
		expect.OK(t, err)
		var said []string
		for _, one := range refused {
			said = append(said, one.Text)
		}
		expect.Same(t, c.data, c.want, strings.Join(said, "\n"))
	}
	for text, schema := range map[string]apiextensionsv1.JSONSchemaProps{
		"unexpected end of JSON input": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte("{")}},
		"is not supported":             {Type: "object", Definitions: apiextensionsv1.JSONSchemaDefinitions{"a": {}}},
	} {
		expect.Says(t, "no schema", expect.ErrorOf(RefuseValue(&schema, "size", []byte("{}"))), text)
	}
	expect.Says(t, "half a value", expect.ErrorOf(RefuseValue(&object, "size", []byte("{"))), "unexpected end of JSON input")
}
