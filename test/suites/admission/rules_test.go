package admission

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// rule is a CEL rule of the API, with edits of a valid object that it must accept and edits that it must refuse.
type rule struct {
	// at is the place of the rule in the API, field the one that its error names.
	at, field string
	message   string
	// changes: the edits are updates of an existing object.
	changes bool
	// status is set on the existing object before the update.
	status   map[string]any
	accepted []map[string]any
	refused  []map[string]any
}

var rules = map[string][]rule{
	"WindowsMachine": slices.Concat(machineRules, placementRules, adapterRules, []rule{
		identity, azureIdentity,
		{
			at: "spec", field: "spec.providerID", changes: true,
			message: "providerID identifies the machine's VM and cannot be changed; delete the Machine to get a new VM",
			accepted: []map[string]any{
				{"metadata.labels": map[string]any{"a": "b"}},
				{"spec.providerID": vmOne},
			},
			refused: []map[string]any{{"spec.providerID": vmTwo}, {"spec.providerID": absent}},
		},
		otherCloud, editedVM, otherOrder,
	}),
	"WindowsMachineTemplate": slices.Concat(machineRules, adapterRules, []rule{
		inTemplate(identity), inTemplate(azureIdentity),
		{
			at: "spec.template", field: "spec.template.spec.providerID",
			message:  "providerID identifies a single VM and is not allowed in a template; remove it",
			accepted: []map[string]any{{"spec.providerID": absent}},
			refused:  []map[string]any{{"spec.providerID": vmOne}},
		},
	}),
	"WindowsBootstrapConfig": slices.Concat(configRules, kubeletRules, settingsRules, stringRules, []rule{
		configName, renderedOnce,
	}),
	"WindowsBootstrapConfigTemplate": slices.Concat(configRules, kubeletRules, settingsRules, stringRules),
}

// placementRules hold the controller to what azure.json needs.
var placementRules = []rule{
	identified("tenantID", "the ID of a tenant"), identified("subscriptionID", "the ID of a subscription"),
	placed("vmID", "must be the ID of a VM, such as 11111111-2222-3333-4444-555555555555", strings.Replace(guid, "1", "a", 1),
		strings.Replace(guid, "1", "A", 1), guid[1:], ""),
	placed("resourceGroup", "must be the name of a resource group, such as win-nodes", "My.Group_(1)-a", "ends-with-dot.", ""),
	placed("location", "must be the short name of a location, such as westeurope", "westeurope", "West Europe", ""),
	placedAt("securityGroupID", "a network security group", "networkSecurityGroups/NAME", securityGroup),
	placedAt("routeTableID", "a route table", "routeTables/NAME", routeTable),
	placedAt("outboundPoolID", "a backend pool", "loadBalancers/NAME/backendAddressPools/POOL", outboundPool),
	placedAt("subnetIDs[]", "a subnet", "virtualNetworks/NETWORK/subnets/SUBNET", subnet),
	{
		at: "status.azure.tags.pool", field: "status.azure.tags[pool]",
		message:  "must not have control characters, such as the end of a line",
		accepted: edits("status.azure.tags.pool", "", "blue"), refused: edits("status.azure.tags.pool", "a\n"),
	},
	placed("loadBalancerName", "must be the name of a load balancer, such as blue", "a_B-1.c", "/a", ""),
}

// placedAt is the rule of a field with the ID of a network resource.
func placedAt(field, what, form, id string) rule {
	return placed(field, "must be the resource ID of "+what+", such as /subscriptions/ID/resourceGroups/GROUP/providers/"+
		"Microsoft.Network/"+form, strings.ToLower(id), "nodes", id+"/a", "")
}

func identified(field, what string) rule {
	return placed(field, "must be "+what+", such as 11111111-2222-3333-4444-555555555555",
		strings.ToUpper(strings.Replace(guid, "1", "a", 1)), strings.Replace(guid, "1", "g", 1), guid[1:], "")
}

// placed is the rule of a field of status.azure, with a right value and wrong ones.
func placed(field, message, right string, wrong ...any) rule {
	path := "status.azure." + field
	named := strings.ReplaceAll(path, "[]", "[0]")
	return rule{at: path, field: named, message: message, accepted: edits(path, right), refused: edits(path, wrong...)}
}

// configName keeps user data out of the Secrets of Clusters: their kubeconfigs, certificate authorities and keys.
var configName = rule{
	message: "the bootstrap Secret gets the name of the config, and names that end in -kubeconfig, -ca, -etcd, -proxy, -sa or " +
		"-apiserver-etcd-client are for the Secrets of Clusters; use another name",
	accepted: edits("metadata.name", "win-kubeconfig-0", "kubeconfig", "ca", "blue-sa-x7k2p", "blue.ca", "usa", "etcd-0"),
	refused: edits("metadata.name",
		"blue-kubeconfig", "blue-ca", "blue-etcd", "blue-proxy", "blue-sa", "blue-apiserver-etcd-client", "win-0-ca"),
}

// renderedOnce has changes that the CRD's rule sees. TestRenderedConfigsAreFrozen has those that only the policy sees.
var renderedOnce = rule{
	field: "spec", changes: true, status: rendered, message: frozen,
	accepted: []map[string]any{{}, {"metadata.labels": map[string]any{"a": "b"}}},
	refused:  []map[string]any{{"spec.bootstrapDeadlineSeconds": int64(600)}, {"spec.kubelet": absent}, {"spec": absent}},
}

// A config can be changed until it is rendered: it may have an error that prevents the rendering.
func TestConfigIsMendedBeforeItIsRendered(t *testing.T) {
	made := newObjectFor("WindowsBootstrapConfig", "spec")
	expect.OK(t, api.Create(t.Context(), made))
	expect.Fine(t, update(t, setAll(made, map[string]any{"spec.bootstrapDeadlineSeconds": int64(600)})))
}

var configRules = slices.Concat(networkRules, []rule{
	{
		at: "spec.node.labels", field: "spec.node.labels",
		message:  "the key of a label must be a name of at most 63 letters, digits, '-', '_' and '.', such as pool or example.com/pool",
		accepted: labelled("pool", "example.com/A_b.c", "a", long(253)+"/"+long(63)),
		refused:  labelled("", "-a", "a.", "a/", "a b", long(64), "kubernetes.io/a b"),
	},
	{
		at: "spec.node.labels", field: "spec.node.labels",
		message:  "what is before '/' in the key of a label must be a DNS name in lower case, such as example.com/pool",
		accepted: labelled("pool", "example.com/A_b.c", "a", long(253)+"/"+long(63)),
		refused:  labelled("Example.com/a", "a/b/c", "/a", "a..b/c", long(254)+"/a"),
	},
	{
		at: "spec.node.labels", field: "spec.node.labels",
		message: "a kubelet must not set labels of kubernetes.io and k8s.io on its own node, but for those under " +
			"node.kubernetes.io/; use such a name, or set them in metadata.labels of the Machine, from where Cluster API copies " +
			"them to the node",
		accepted: labelled(
			"pool", "example.com/pool", "node.kubernetes.io/pool", "my.node.kubernetes.io/pool",
			"kubelet.kubernetes.io/pool", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
			"node.kubernetes.io/instance-type", "notkubernetes.io/pool"),
		refused: labelled("node-role.kubernetes.io/worker", "kubernetes.io/role", "a.k8s.io/pool", "topology.kubernetes.io/rack"),
	},
	{
		at: "spec.node.labels.pool", field: "spec.node.labels[pool]", message: "the value of a label " + valueOf("win-2022"),
		accepted: edits("spec.node.labels.pool", "A_b.c", "", "1", long(63)),
		refused:  edits("spec.node.labels.pool", "-a", "a b", "a/b", "ä"),
	},
	{
		at: "spec.node.taints[].key", field: "spec.node.taints[0].key", message: "the key of a taint " + nameOf("os"),
		accepted: edits("spec.node.taints[].key", "os", "example.com/pool"),
		refused:  edits("spec.node.taints[].key", "", "/pool", "Example.com/a", "a b", long(254)+"/a"),
	},
	{
		at: "spec.node.taints[].value", field: "spec.node.taints[0].value", message: "the value of a taint " + valueOf("windows"),
		accepted: edits("spec.node.taints[].value", "A_b.c-1", ""),
		refused:  edits("spec.node.taints[].value", "a,b", "a."),
	},
	{
		at: "spec.node.taints[]", field: "spec.node.taints[0].key", message: "Cluster API's own taint is always added; remove it",
		accepted: edits("spec.node.taints[]",
			taint("node.cluster.x-k8s.io/uninitialized", "NoExecute"),
			taint("node.cluster.x-k8s.io/other", "NoSchedule")),
		refused: []map[string]any{{"spec.node.taints[]": taint("node.cluster.x-k8s.io/uninitialized", "NoSchedule")}},
	},
})

// nameOf is the end of the sentence about keys of labels and taints.
func nameOf(example string) string {
	return "must be a name of at most 63 letters, digits, '-', '_' and '.', with or without a lower-case DNS name and a slash " +
		"before it, such as " + example + " or example.com/pool"
}

// valueOf is the end of the sentence about values of labels and taints.
func valueOf(example string) string {
	return "must have letters, digits, '-', '_' and '.' only, and begin and end with a letter or digit, such as " + example +
		"; it may be empty"
}

// labelled are edits of one label each.
func labelled(names ...string) []map[string]any {
	var all []map[string]any
	for _, name := range names {
		all = append(all, edits("spec.node.labels", map[string]any{name: "a"})...)
	}
	return all
}

func taint(key, effect string) map[string]any { return map[string]any{"key": key, "effect": effect} }

func TestRules(t *testing.T) {
	for kind, rules := range rules {
		for _, r := range rules {
			t.Run(kind+" "+r.message, func(t *testing.T) { r.try(t, kind) })
		}
	}
}

func (r rule) try(t *testing.T, kind string) {
	t.Helper()
	send := create
	made := newObjectFor(kind, strings.ReplaceAll(r.field, "[0]", "[]"))
	switch {
	case r.changes:
		expect.OK(t, api.Create(t.Context(), made))
		send = update
	case strings.HasPrefix(r.at, "status"):
		send = updateStatus
	}
	if r.status != nil {
		expect.OK(t, api.Status().Update(t.Context(), setAll(made, r.status)))
	}
	for _, edits := range r.accepted {
		if err := send(t, setAll(made.DeepCopy(), edits)); err != nil {
			t.Errorf("want %v accepted, got: %v", edits, err)
		}
	}
	for _, edits := range r.refused {
		mustRefuse(t, send(t, setAll(made.DeepCopy(), edits)), in(kind, r.field), r.message)
	}
}

func update(t *testing.T, made *unstructured.Unstructured) error {
	t.Helper()
	return api.Update(t.Context(), made, client.DryRunAll)
}

// The controller can set the providerID once.
func TestProviderIDIsWrittenOnce(t *testing.T) {
	machine := newObject("WindowsMachine")
	set(machine.Object, "spec.providerID", absent)
	expect.OK(t, api.Create(t.Context(), machine))
	set(machine.Object, "spec.providerID", vmOne)
	if err := api.Update(t.Context(), machine); err != nil {
		t.Fatalf("write providerID: %v", err)
	}
	set(machine.Object, "spec.providerID", vmTwo)
	mustRefuse(t, update(t, machine), "spec.providerID", "cannot be changed")
}
