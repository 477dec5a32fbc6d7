package admission

import (
	"slices"
	"strings"
)

const (
	vmOne   = "vsphere://" + guid
	vmTwo   = "vsphere://21111111-2222-3333-4444-555555555555"
	azureVM = "azure://" + azureGroup + "/providers/Microsoft.Compute/virtualMachines/win-1"
)

// machineRules are the rules of machines and of their templates.
var machineRules = slices.Concat(
	[]rule{oneCloud, memory, cores},
	[]rule{
		named("spec.vsphere.datacenter", "dc1 or /europe/dc1"),
		named("spec.vsphere.image.template", "windows-2022 or /dc1/vm/templates/windows-2022"),
		named("spec.vsphere.folder", "nodes or /dc1/vm/nodes"),
		named("spec.vsphere.resourcePool", "nodes or /dc1/host/cluster1/Resources/nodes"),
		named("spec.vsphere.datastore", "ssd1 or /dc1/datastore/ssd1"),
		identityName, wholeIdentity, secretOfVCenter, onlySecrets,
	},
	azureRules,
)

// named is a field with the name of something in a vCenter.
func named(field, examples string) rule {
	return rule{
		at: field, field: field,
		message:  "must be a name or inventory path without control characters and without blanks at its ends, such as " + examples,
		accepted: edits(field, "a", "VM Network", "/dc1/vm/a b/c", "win [2022] (1.36) 100%2f", "Größe-1"),
		refused:  edits(field, "", " ", "\n", " a", "a ", "a\tb", "a\n", "\u00a0a", "a\u2028", "a\x00b", "a\u0085b"),
	}
}

// wholeIdentity has both fields or, where it is optional, none.
var wholeIdentity = rule{
	at: "spec.identityRef", field: "spec.identityRef", message: "set kind and name, such as kind Secret and name vcenter",
	accepted: edits("spec.identityRef", map[string]any{"kind": "Secret", "name": "a"}),
	refused:  edits("spec.identityRef", map[string]any{"kind": "Secret"}, map[string]any{"name": "a"}),
}

// secretOfVCenter: nothing else can say which vCenter it is. In Azure the AzureCluster may.
var secretOfVCenter = rule{
	at: "spec", field: "spec.identityRef",
	message: "a VM in a vCenter needs a Secret with the login; set kind Secret and name, such as vcenter",
	accepted: []map[string]any{
		{"spec.identityRef": map[string]any{"kind": "Secret", "name": "a"}},
		{"spec": parse(azureSpec), "spec.identityRef": absent},
		{"spec": parse(azureSpec), "spec.identityRef": map[string]any{}},
	},
	refused: edits("spec.identityRef", map[string]any{}, absent),
}

// onlySecrets: vCenters know no other identity.
var onlySecrets = rule{
	at: "spec", field: "spec.identityRef.kind",
	message: "must be Secret, the only kind for a vCenter's login",
	accepted: []map[string]any{
		{"spec.identityRef": map[string]any{"kind": "Secret", "name": "a"}},
		{"spec": parse(azureSpec), "spec.identityRef": map[string]any{"kind": "AzureClusterIdentity", "name": "a"}},
	},
	refused: edits("spec.identityRef", map[string]any{"kind": "AzureClusterIdentity", "name": "a"}),
}

var identityName = rule{
	at: "spec.identityRef.name", field: "spec.identityRef.name",
	message: "must be the name of an object: lowercase letters, digits, '-' and '.', beginning and ending with a letter or " +
		"digit, such as vcenter",
	accepted: edits("spec.identityRef.name", "a", "vcenter-2.team-a"),
	refused:  edits("spec.identityRef.name", "", "Vcenter", "A B/..", "../../x", "-a", "a.", "a..b", "a_b", "team/vcenter", "a\n"),
}

var oneCloud = rule{
	at: "spec", field: "spec", message: "set exactly one of spec.vsphere and spec.azure",
	accepted: []map[string]any{{}, {"spec": parse(azureSpec)}},
	refused:  []map[string]any{{"spec.vsphere": absent}, {"spec.azure": parse(azureSpec)["azure"]}},
}

// A wrong providerID could not be corrected later.
var identity = rule{
	at: "spec", field: "spec.providerID",
	message: "providerID of a vSphere VM must be vsphere:// followed by a lowercase UUID; remove it: the controller sets it",
	accepted: []map[string]any{
		{"spec.providerID": vmTwo},
		{"spec.providerID": absent},
	},
	refused: edits("spec.providerID",
		"", "vsphere://1", "vsphere://11111111-2222-3333-4444-55555555555A", "vsphere://{"+guid+"}", vmOne+"1", guid,
		"azure:///subscriptions/1", azureVM),
}

// The cloud controller manager of Azure needs exactly this form: only the resource group is in lowercase.
var azureIdentity = rule{
	at: "spec", field: "spec.providerID",
	message: "providerID of an Azure VM must be azure:/// followed by the VM's resource ID with subscription, resource group and " +
		"VM name in lowercase; remove it: the controller sets it",
	accepted: []map[string]any{{"spec": parse(azureSpec), "spec.providerID": azureVM}, {"spec": parse(azureSpec)}},
	refused: inAzure("", "azure:///subscriptions/1", azureVM+"/", azureVM+"\n", azureVM[len("azure://"):],
		strings.Replace(azureVM, "/group/", "/Group/", 1), strings.Replace(azureVM, "Microsoft", "microsoft", 1),
		strings.Replace(azureVM, "win-1", "Win-1", 1), vmOne),
}

func inAzure(providerIDs ...any) (all []map[string]any) {
	for _, id := range providerIDs {
		all = append(all, map[string]any{"spec": parse(azureSpec), "spec.providerID": id})
	}
	return all
}

// inTemplate has no accepted providerID, because another rule does not allow it in templates.
func inTemplate(r rule) rule {
	r.accepted = []map[string]any{{"spec.providerID": absent}}
	return r
}

var memory = rule{
	at: "spec.vsphere", field: "spec.vsphere.memoryMiB",
	message:  "memoryMiB must be a multiple of 4, as vSphere requires",
	accepted: []map[string]any{{"spec.vsphere.memoryMiB": int64(4100)}, {"spec.vsphere.memoryMiB": absent}},
	refused:  []map[string]any{{"spec.vsphere.memoryMiB": int64(4098)}},
}

var cores = rule{
	at: "spec.vsphere", field: "spec.vsphere.coresPerSocket",
	message: "cpus must be set, to a multiple of coresPerSocket, such as cpus 8 with coresPerSocket 4",
	accepted: []map[string]any{
		{"spec.vsphere.cpus": int64(8), "spec.vsphere.coresPerSocket": int64(4)}, {"spec.vsphere.coresPerSocket": absent},
	},
	refused: []map[string]any{
		{"spec.vsphere.cpus": int64(8), "spec.vsphere.coresPerSocket": int64(3)},
		{"spec.vsphere.cpus": absent, "spec.vsphere.coresPerSocket": int64(4)},
	},
}

// otherCloud has the only change of all of spec.vsphere and spec.azure; TestClasses has those of their fields.
var otherCloud = rule{
	at: "spec", field: "spec", changes: true,
	message:  "the cloud of a machine cannot be changed; " + replaceMachines,
	accepted: []map[string]any{{}},
	refused:  []map[string]any{{"spec.vsphere": absent, "spec.azure": parse(azureSpec)["azure"], "spec.providerID": vmOne}},
}

var editedVM = rule{
	at: "spec", field: "spec.vsphere", changes: true, message: "a VM cannot be edited; " + replaceMachines,
	accepted: []map[string]any{
		{"spec.vsphere.cpus": int64(4)},
		{"spec.vsphere.image.setup": absent}, // it is the default
		{"spec.identityRef.name": "another"},
	},
	refused: []map[string]any{{"spec.vsphere.cpus": int64(8)}, {"spec.vsphere.cpus": absent}},
}

const replaceMachines = "create a new WindowsMachineTemplate and use it in the MachineDeployment, " +
	"which then replaces its machines"
