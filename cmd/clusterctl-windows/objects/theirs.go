package objects

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// theirName is a field of another provider, and our field for the same.
type theirName struct {
	// provider is the other provider.
	provider string
	// field is ours, below the spec of a machine; empty if there is none.
	field string
	// note describes what differs, or why there is none.
	note string
}

// words say where the field is here. A number is the same number here.
func (t theirName) words(root string, value any) string {
	if t.field == "" {
		return fmt.Sprintf("it is a field of %s that is not needed here: %s", t.provider, t.note)
	}
	place := root + t.field
	_, name := apart(place)
	switch value.(type) {
	case int64, float64, bool:
		if t.note == "" {
			return fmt.Sprintf("it is the name in %s for %s; write %s: %v", t.provider, place, name, value)
		}
	}
	text := fmt.Sprintf("it is the name in %s for %s; write it there", t.provider, place)
	if t.note != "" {
		text += ": " + t.note
	}
	return text
}

// theirsAt finds the name that stands at a path: with the fields around it, or alone.
func theirsAt(kind, path string) (theirName, bool) {
	table := theirNames[strings.TrimSuffix(kind, "Template")]
	rest := strings.TrimPrefix(strings.TrimPrefix(indexes.ReplaceAllString(path, ""), "spec."), "template.spec.")
	for rest != "" {
		if found, ok := table[rest]; ok {
			return found, true
		}
		// A spec that is copied whole may lack the cloud, or what is between.
		_, rest, _ = strings.Cut(rest, ".")
	}
	return theirName{}, false
}

// otherVersion reports that a field belongs to the other version of Cluster API, and what it is in this one.
func otherVersion(object Object, path string, value any) string {
	if object.Version.Version == clusterv1.GroupVersion.Version {
		old, prefix := findOld(object.Kind, path)
		return inNewWords(old, prefix, value)
	}
	newer := schema.GroupVersion{Group: object.Version.Group, Version: clusterv1.GroupVersion.Version}
	rules, err := rulesOf(newer.WithKind(object.Kind))
	if err != nil || rules == nil || schemaAt(rules.structural, path) == nil {
		return ""
	}
	text := "it is a field of " + newer.Version + "; write apiVersion: " + newer.String()
	if old := oldName(path); old != "" {
		text += ", or " + old + " here"
	}
	return text
}

// inNewWords names the field of v1beta2 that is meant, and how to write the value there.
func inNewWords(o oldField, prefix string, value any) string {
	if o == (oldField{}) {
		return ""
	}
	if o.newPath == "" {
		return "it is a field of v1beta1, and v1beta2 has none for it: " + o.note
	}
	text := "it is the name in v1beta1 for " + prefix + o.newPath
	_, name := apart(o.newPath)
	written, _ := value.(string)
	group, _, isVersion := strings.Cut(written, "/")
	switch seconds := inUnitOf(name, written); {
	case name == "apiGroup" && isVersion && plainGroup.MatchString(group):
		return text + "; write apiGroup: " + group
	case strings.HasSuffix(name, "Seconds") && seconds != "":
		return text + "; write " + name + ": " + seconds
	case o.note != "":
		return text + "; " + o.note
	}
	return text + "; write it there"
}

var plainGroup = regexp.MustCompile(`^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){1,8}$`)

const (
	capv  = "Cluster API Provider vSphere"
	capz  = "Cluster API Provider Azure"
	cabpk = "Cluster API's kubeadm provider"

	kubelet = "the kubelet's configuration"
	netplan = "netplan and cloud-init"
	client  = "the clouds' own tools"
)

const (
	ofTheTemplate = "a clone has what its template has, so make a template with it"
	inMiB         = "a GiB is 1024 MiB, so 16 GiB are 16384"
	adapterByDHCP = "an adapter without addressesFromPools uses DHCP; leave it out"
	notCustomized = "cloudbase-init in the template names the computer and sets its addresses, from what the machine gets; " +
		"domain and time zone are in spec.windows of the WindowsBootstrapConfig"
	fromPools = "addresses come from pools: write the kind and name of one, such as an InClusterIPPool"
)

// theirRow is what is here for names that mean the same, with blanks in between.
type theirRow struct{ names, provider, field, note string }

// theirNames are fields of other providers that people copy into our objects, by our kind. A name begins with as many surrounding
// fields as it needs to be unique.
var theirNames = map[string]map[string]theirName{
	"WindowsMachine": byName(machineNames), "WindowsBootstrapConfig": byName(configNames),
}

func byName(rows []theirRow) map[string]theirName {
	table := map[string]theirName{}
	for _, row := range rows {
		for name := range strings.FieldsSeq(row.names) {
			table[name] = theirName{row.provider, row.field, row.note}
		}
	}
	return table
}

var machineNames = []theirRow{
	// VSphereMachine.
	{"numCPUs", capv, "vsphere.cpus", ""},
	{"numCoresPerSocket", capv, "vsphere.coresPerSocket", ""},
	{"vsphere.template template", capv, "vsphere.image.template", "image: {template: NAME}"},
	{"vsphere.server server", capv, "", "the Secret that identityRef names has the key server"},
	{"thumbprint", capv, "", "the Secret that identityRef names has the key thumbprint, the SHA-256 of the certificate"},
	{"vsphere.network network.devices devices", capv, "vsphere.networkInterfaces", "- {name: node, network: NAME} for each adapter"},
	{"networkName", capv, "vsphere.networkInterfaces[].network", "network: NAME"},
	{"deviceName", capv, "vsphere.networkInterfaces[].name", "name: NAME, which Windows shows as well"},
	{"dhcp4 dhcp6 skipIPAllocation", capv, "", adapterByDHCP},
	{"ipAddrs", capv, "vsphere.networkInterfaces[].addressesFromPools", fromPools},
	{"gateway4 gateway6", capv, "", "the gateway comes with the address from its pool"},
	{"macAddr", capv, "", "the MAC is computed from the machine, so that two machines never have the same"},
	{"searchDomains", capv, "", "Windows takes its search list from DHCP, or from the domain that it joins"},
	{"vsphere.diskGiB diskGiB", capv, "", "the disk has the size of the template's; enlarge that"},
	{
		"vsphere.dataDisks additionalDisksGiB customVMXKeys pciDevices hardwareVersion resources cryptoProfile cryptoKeyID " +
			"ftEncryptionMode migrateEncryption",
		capv, "", ofTheTemplate,
	},
	{"cloneMode", capv, "", "a VM has disks of its own"},
	{"snapshot", capv, "", "the template is cloned as it is"},
	{"storagePolicyName", capv, "vsphere.datastore", "datastore: NAME"},
	{"tagIDs", capv, "", "a VM is marked by its instance UUID; tag it in the vCenter"},
	{"vsphere.os", capv, "", "it is always Windows"},
	{
		"powerOffMode guestSoftPowerOffTimeout guestSoftPowerOffTimeoutSeconds",
		capv, "", "a VM is switched off before it is deleted, once its node is drained",
	},
	{"namingStrategy naming", capv, "", "the VM has the name that is computed from its Machine"},
	{"vsphere.failureDomain", capv, "", "machines on vSphere are placed by datacenter, datastore, folder and resourcePool"},
	// VSphereMachine of v1beta2, and what is rare.
	{"nestedHV", capv, "vsphere.nestedVirtualization", "nestedVirtualization: Enabled"},
	{"devices.addressesFromPools", capv, "vsphere.networkInterfaces[].addressesFromPools", ""},
	{"devices.mtu", capv, "vsphere.networkInterfaces[].mtu", ""},
	{"devices.nameservers", capv, "vsphere.networkInterfaces[].nameservers", ""},
	{"devices.routes", capv, "vsphere.networkInterfaces[].routes", "- {to: RANGE, via: GATEWAY} for each"},
	{"network.routes", capv, "vsphere.networkInterfaces[].routes", "- {to: RANGE, via: GATEWAY}, at an adapter"},
	{"dhcp4Overrides dhcp6Overrides", capv, "", "Windows takes what DHCP gives"},
	// Fields of no provider, which users know from other tools.
	{"networkInterfaces.addresses", netplan, "vsphere.networkInterfaces[].addressesFromPools", fromPools},
	{
		"networkInterfaces.ipAddresses networkInterfaces.ipAddress",
		client, "vsphere.networkInterfaces[].addressesFromPools", fromPools,
	},
	{"networkInterfaces.gateway", netplan, "", "the gateway comes with the address from its pool"},
	{"networkInterfaces.subnetMask", client, "", "the prefix comes with the address from its pool"},
	{"networkInterfaces.dhcp", netplan, "", adapterByDHCP},
	{"networkInterfaces.macAddress", client, "", "the MAC is computed from the machine, so that two machines never have the same"},
	{"networkInterfaces.networkName", client, "vsphere.networkInterfaces[].network", "network: NAME"},
	{"customization customizationSpec guestCustomization", client, "", notCustomized},
	{"guestId guestID firmware", client, "", ofTheTemplate},
	{"memoryGiB memoryGB vsphere.memory", client, "vsphere.memoryMiB", inMiB},
	{"vsphere.networks", client, "vsphere.networkInterfaces", "- {name: node, network: NAME} for each adapter"},
	{"vsphere.host", client, "vsphere.resourcePool", "/DATACENTER/host/HOST/Resources"},
	{"addressesFromPools.apiVersion", capv, "vsphere.networkInterfaces[].addressesFromPools[].apiGroup", "without its version"},
	{"availabilitySet availabilitySetID", client, "azure.zones", `zones: ["1"]; there are no availability sets`},
	{"identityRef.namespace", capz, "", "the Secret is in the namespace of the machine"},
	{"credentialsRef secretRef", client, "identityRef", "identityRef: {kind: Secret, name: NAME}"},
	{"vsphere.cluster", client, "vsphere.resourcePool", "/DATACENTER/host/CLUSTER/Resources"},
	// AzureMachine.
	{"azure.cpus azure.memoryMiB", capv, "azure.vmSize", "a size has both processors and memory"},
	{"sshPublicKey", capz, "", "the users of Windows and their keys are in spec.windows.users of the WindowsBootstrapConfig"},
	{"osDisk.diskSizeGB", capz, "azure.osDisk.sizeGiB", ""},
	{"osDisk.cachingType", capz, "azure.osDisk.caching", "caching: ReadWrite, ReadOnly or None"},
	{"osDisk.osType", capz, "", "it is always Windows"},
	{"osDisk.managedDisk", capz, "azure.osDisk.type", "type: Premium_LRS, for storageAccountType: Premium_LRS"},
	{"osDisk.diffDiskSettings", capz, "azure.osDisk.ephemeralPlacement", "ephemeralPlacement: Cache, Resource or NVMe"},
	{"dataDisks.nameSuffix", capz, "azure.dataDisks[].name", "name: NAME"},
	{"dataDisks.diskSizeGB", capz, "azure.dataDisks[].sizeGiB", ""},
	{"dataDisks.cachingType", capz, "azure.dataDisks[].caching", "caching: ReadWrite, ReadOnly or None"},
	{"dataDisks.managedDisk", capz, "azure.dataDisks[].type", "type: Premium_LRS, for storageAccountType: Premium_LRS"},
	{"azure.failureDomain", capz, "azure.zones", `zones: ["1"]`},
	{"failureDomain", capz, "azure.zones", `zones: ["1"]; a VM on vSphere has none`},
	{"identity userAssignedIdentities", capz, "azure.identities", "identities: {type: UserAssigned, userAssigned: [ID]}"},
	{"systemAssignedIdentityRole roleAssignmentName", capz, "", "the manager assigns no roles"},
	{"vmExtensions", capz, "", "what is to run on the node is a script of spec.custom of the WindowsBootstrapConfig"},
	{"subnetName", capz, "azure.networkInterfaces[].subnet", "subnet: {name: NAME}"},
	{"privateIPConfigs", capz, "azure.networkInterfaces[].secondaryAddresses", "their number, without the adapter's own address"},
	{"enableIPForwarding", capz, "azure.networkInterfaces[].ipForwarding", "ipForwarding: Enabled"},
	{"allocatePublicIP", capz, "azure.networkInterfaces[].publicIP", "publicIP: Enabled"},
	{"azure.dnsServers", capz, "azure.networkInterfaces[].dnsServers", "for each adapter"},
	{
		"azure.acceleratedNetworking",
		capz, "azure.networkInterfaces[].acceleratedNetworking", "acceleratedNetworking: Enabled, for each adapter",
	},
	{"spotVMOptions", capz, "azure.spot", "with priority: Spot beside it"},
	{"diagnostics", capz, "azure.bootDiagnostics", "bootDiagnostics: {type: Managed}"},
	{"additionalCapabilities", capz, "azure.ultraSSD", "ultraSSD: Enabled"},
	{"disableExtensionOperations", capz, "azure.extensionOperations", "extensionOperations: Disabled"},
	{"virtualMachineScaleSetID", capz, "azure.scaleSetID", "scaleSetID: ID"},
	{"computeGallery.sku", capz, "azure.image.marketplace.sku", "an image of a gallery has gallery, name and version only"},
	{"thirdPartyImage", capz, "azure.image.marketplace.plan", "plan: Image"},
	// AzureMachine, what is rare.
	{"disableVMBootstrapExtension", capz, "", "the node reports its bootstrap itself, without an extension"},
	{"uefiSettings", capz, "azure.securityProfile", "secureBoot: Enabled and vTPM: Enabled"},
	{"image.sharedGallery", capz, "azure.image.computeGallery", "computeGallery: {gallery: NAME, name: NAME}"},
}

var configNames = []theirRow{
	// KubeadmConfig.
	{"files", cabpk, "custom.files", `- {path: 'C:\NAME', content: TEXT}`},
	{"preKubeadmCommands", cabpk, "custom.preJoin", "each a script, as in - {name: setup, content: TEXT}"},
	{"postKubeadmCommands", cabpk, "custom.postJoin", "each a script, as in - {name: setup, content: TEXT}"},
	{"bootCommands", cabpk, "custom.everyBoot", "each a script, as in - {name: setup, content: TEXT}"},
	{"kubeletExtraArgs", cabpk, "kubelet.extraArgs", `- {name: vmodule, value: kubelet_node_status=4}; v is kubelet.log.verbosity`},
	{"nodeRegistration", cabpk, "kubelet.extraArgs", "and its taints are spec.node.taints, its labels spec.node.labels"},
	{"registerWithTaints nodeRegistration.taints", cabpk, "node.taints", "- {key: KEY, effect: NoSchedule}"},
	{"joinConfiguration", cabpk, "kubelet.extraArgs", "its taints are in node.taints; how a node joins is not for users to write"},
	{"initConfiguration clusterConfiguration", cabpk, "", "a control plane runs on Linux, and its KubeadmControlPlane has it"},
	{"users sshAuthorizedKeys", cabpk, "windows.users", "- {name: NAME, role: Administrator, sshAuthorizedKeys: [KEY]}"},
	{"users.sudo", cabpk, "windows.users[].role", "role: Administrator"},
	{"users.groups", cabpk, "windows.users[].role", "role: Administrator or User"},
	{"users.shell", cabpk, "", "OpenSSH for Windows has one shell for all users"},
	{"users.passwd users.password users.lockPassword", cabpk, "", "a user gets a random password, and logs in with a key"},
	{
		"windows.computerName windows.hostname",
		client, "", "the computer has the name that is computed from its machine, of at most 15 letters",
	},
	{"ntp", cabpk, "windows.ntpServers", "ntpServers: [time.example.com]"},
	{"diskSetup mounts", cabpk, "windows.dataDrive", "dataDrive: {letter: D, format: IfEmpty}"},
	{"format ignition", cabpk, "", "the user data is always for cloudbase-init"},
	{"verbosity", cabpk, "kubelet.log.verbosity", ""},
	{"useExperimentalRetryJoin", cabpk, "", "each step of the join is tried again by itself"},
	{"files.owner files.permissions", cabpk, "custom.files[].access", "access: Administrators or Inherited"},
	{"files.append", cabpk, "", "a file is written as a whole"},
	{"files.encoding", cabpk, "custom.files[].contentFrom", "binary content belongs in a Secret or ConfigMap"},
	{"custom.files.secret", cabpk, "custom.files[].contentFrom", "contentFrom: {secret: {name: NAME, key: KEY}}"},
	// What is a field of its own elsewhere.
	{"systemReserved", kubelet, "reservations.system", "{cpu: 500m, memory: 2Gi}"},
	{"kubeReserved", kubelet, "reservations.kube", "{cpu: 500m, memory: 1Gi}"},
	{"evictionHard", kubelet, "reservations.eviction", "{memoryAvailable: 500Mi}"},
	{"kubelet.nodeLabels", cabpk, "node.labels", "{KEY: VALUE}"},
	{"kubelet.nodeIP", cabpk, "", "the address is that of the adapter in spec.network.interface"},
}
