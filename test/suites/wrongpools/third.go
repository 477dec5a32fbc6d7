package wrongpools

import "strings"

// More places where the good pools can be changed.
const (
	cluster  = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\n"
	template = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: WindowsM"
	azure    = "      azure:\n"
	subnet   = "subnet: {name: nodes}"
	end      = "kind: WindowsMachineTemplate, name: prod-windows-1}\n"
	fields   = "{apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsM"
	id       = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/prod/providers/"
)

// nic is an adapter of vSphere with more fields.
func nic(more string) string {
	return memory + "        networkInterfaces: [{name: node, network: VM Network, " + more + "}]\n"
}

// secret is the good login for a vCenter with something else in it.
func secret(old, other string) string {
	const good = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: vcenter}\nstringData: {server: vc.example.com, username: " +
		"ops@vsphere.local, password: b, thumbprint: SHA256}\n"
	text := good
	if old != "" {
		text = strings.Replace(good, old, other, 1)
	}
	return end + strings.Replace(text, "SHA256", strings.Repeat("AB", 32), 1)
}

// third are refused: what users of other providers, of AKS and of Rancher write.
var third = []Case{
	{
		51, Azure, "kind: AzureCluster, name: prod}", "kind: AzureManagedCluster, name: prod}", "Cluster default/prod", "AKS",
		"AzureManagedMachinePool",
	},
	{
		52, Azure, gallery, "communityGallery: {gallery: a, name: capi-win-2022-containerd, version: v1.36.3}",
		spec + "azure.image.communityGallery.version", `"v1.36.3"`, "three numbers",
	},
	{
		53, VSphere, services, "    services: {cidrBlocks: [192.168.0.0/20]}\n", "spec.clusterNetwork", "192.168.0.0/20",
		"do not overlap",
	},
	{
		54, VSphere, "cidrBlocks: [192.168.0.0/16]", "cidrBlocks: [192.168.0.0/16, 10.32.0.0/16]", "spec.clusterNetwork.pods",
		"10.32.0.0/16", "use one",
	},
	{
		55, VSphere, "name: prod-windows-1\nspec:\n  template:\n    spec:\n      id",
		"name: prod-windows-1\n  namespace: team-a\nspec:\n  template:\n    spec:\n      id",
		"WindowsMachineTemplate default/prod-windows-1", "team-a", "metadata.namespace",
	},
	{
		56, VSphere, fields, "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: WindowsM",
		"spec.template.spec.infrastructureRef.apiVersion", "v1beta1", "write apiGroup: infrastructure.cluster.x-k8s.io",
	},
	{
		57, VSphere, "replicas: 3\n", "replicas: 3\n  strategy: {type: RollingUpdate}\n", "spec.strategy", "v1beta1",
		"spec.rollout.strategy",
	},
	{
		58, VSphere, version, version + "      nodeDrainTimeout: 10m\n", "spec.template.spec.nodeDrainTimeout", "v1beta1",
		"nodeDrainTimeoutSeconds: 600",
	},
	{
		59, VSphere, version, version + "      nodeVolumeDetachTimeout: 5m\n", "spec.template.spec.nodeVolumeDetachTimeout",
		"v1beta1", "nodeVolumeDetachTimeoutSeconds: 300",
	},
	{
		60, VSphere, "replicas: 3\n", "replicas: 3\n  minReadySeconds: 10\n", "spec.minReadySeconds", "v1beta1",
		"spec.template.spec.minReadySeconds",
	},
	{
		61, VSphere, "replicas: 3\n", "replicas: 3\n  progressDeadlineSeconds: 600\n", "spec.progressDeadlineSeconds", "v1beta1",
		"remove it",
	},
	{62, VSphere, "replicas: 3\n", "replicas: 3\n  revisionHistoryLimit: 1\n", "spec.revisionHistoryLimit", "v1beta1", "remove it"},
	{
		63, VSphere, end, end + healthCheck("maxUnhealthy: 40%"), "spec.maxUnhealthy", "v1beta1",
		"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
	},
	{
		64, VSphere, end, end + healthCheck("nodeStartupTimeout: 20m"), "spec.nodeStartupTimeout", "v1beta1",
		"nodeStartupTimeoutSeconds: 1200",
	},
	{
		65, VSphere, end, end + healthCheck("unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}]"),
		"spec.unhealthyConditions", "v1beta1", "spec.checks.unhealthyNodeConditions",
	},
	{
		66, VSphere, end, end + healthCheck("unhealthyRange: '[1-3]'"), "spec.unhealthyRange", "v1beta1",
		"spec.remediation.triggerIf.unhealthyInRange",
	},
	{
		67, VSphere, "  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: prod}\n",
		"  topology: {class: windows, version: v1.36.3}\n", "spec.topology.class", "v1beta1", "classRef",
	},
	{
		68, VSphere, "selector: {}", "selector: {matchLabels: {pool: windows}}", "spec.template.metadata.labels", "pool=windows",
		"leave spec.selector out",
	},
	{69, VSphere, version, "", "spec.version", "must be set", "Kubernetes version of the image"},
	{
		70, VSphere, network, network + "      node: {labels: {node-role.kubernetes.io/windows: ''}}\n", spec + "node.labels",
		"kubernetes.io", "node.kubernetes.io/",
	},
	{
		71, VSphere, network, network + "      node: {taints: [{key: os, value: windows, effect: NoSchedual}]}\n",
		spec + "node.taints[0].effect", "NoSchedual", "did you mean NoSchedule?",
	},
	{
		72, VSphere, network, network + "      node: {cloudConfigFile: Managed}\n", "spec.node.cloudConfigFile", "not on Azure",
		"remove it",
	},
	{
		73, VSphere, "host: 10.0.0.10, port", "host: 'https://10.0.0.10', port", "spec.controlPlaneEndpoint",
		"https://10.0.0.10", "without scheme",
	},
	{
		74, VSphere, "mode: Overlay, cni: Flannel", "mode: Transparent, cni: AzureCNI", spec + "network.cni",
		`"AzureCNI" with the mode "Transparent"`, "L2Bridge with Flannel, Calico or AzureCNI",
	},
	{
		75, VSphere, template, strings.Replace(template, "infrastructure.", "", 1),
		"WindowsMachineTemplate default/prod-windows-1", "not of cluster.x-k8s.io",
		"apiVersion: infrastructure.cluster.x-k8s.io/v1beta1",
	},
	{
		76, VSphere, template, strings.Replace(template, "infrastructure.cluster.", "infrastructure.", 1),
		"WindowsMachineTemplate default/prod-windows-1", "infrastructure.x-k8s.io/v1beta1",
		"write apiVersion: infrastructure.cluster.x-k8s.io/v1beta1",
	},
	{
		77, VSphere, cluster, "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\n", "Cluster default/prod",
		"provisioning.cattle.io/v1", "write apiVersion: cluster.x-k8s.io/v1beta2",
	},
	{
		78, VSphere, "kind: MachineDeployment", "kind: machinedeployment", "machinedeployment default/prod-windows",
		"no such kind", "did you mean MachineDeployment?",
	},
	{
		79, VSphere, fields, "{apiGroup: infrastructure.cluster.x-k8s.io/v1beta1, kind: WindowsM",
		"spec.template.spec.infrastructureRef.apiGroup", "a group with a version", "write infrastructure.cluster.x-k8s.io",
	},
	{
		80, VSphere, configRef, "kind: RKE2ConfigTemplate, name", "spec.template.spec.bootstrap.configRef.kind",
		"RKE2ConfigTemplate", "WindowsBootstrapConfigTemplate",
	},
	{
		81, Azure, windows, "kind: AzureMachineTemplate, name", "spec.template.spec.infrastructureRef.kind",
		"AzureMachineTemplate", "WindowsMachineTemplate",
	},
	{
		82, Azure, "apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster",
		"apiGroup: cluster.x-k8s.io, kind: AzureCluster", "spec.infrastructureRef.apiGroup", `"cluster.x-k8s.io"`,
		"infrastructure.cluster.x-k8s.io",
	},
	{
		83, Azure, subnet, "subnet: {id: " + id + "Microsoft.Network/virtualNetwork/prod/subnet/nodes}",
		spec + "azure.networkInterfaces[0].subnet.id", "/subscriptions/", "virtualNetworks/<name>/subnets/<name>",
	},
	{
		84, Azure, subnet, "subnet: {name: " + id + "Microsoft.Network/virtualNetworks/prod/subnets/nodes}",
		spec + "azure.networkInterfaces[0].subnet.name", "it is an ID", "subnet.id",
	},
	{85, Azure, subnet, "subnet: {id: nodes}", spec + "azure.networkInterfaces[0].subnet.id", `"nodes"`, "resource ID"},
	{
		86, Azure, osDisk, osDisk + "        subscriptionID: /subscriptions/11111111-2222-3333-4444-555555555555\n",
		spec + "azure.subscriptionID", "/subscriptions/", "the last part of it alone",
	},
	{87, Azure, osDisk, osDisk + "        location: North Europe\n", spec + "azure.location", "North Europe", "lowercase"},
	{88, Azure, osDisk, osDisk + "        zones: [westeurope-1]\n", spec + "azure.zones[0]", "westeurope-1", `["1"]`},
	{
		89, Azure, osDisk,
		osDisk + "        identities: {type: UserAssigned, userAssigned: [11111111-2222-3333-4444-555555555555]}\n",
		spec + "azure.identities.userAssigned[0]", "11111111-", "resource ID of a managed identity",
	},
	{90, Azure, "type: Premium_LRS", "type: PremiumV2_LRS", spec + "azure.osDisk.type", "PremiumV2_LRS", "write Premium_LRS"},
	{
		91, Azure, osDisk, osDisk + "        availabilitySet: windows\n", spec + "azure.availabilitySet", "no availability sets",
		spec + "azure.zones",
	},
	{92, VSphere, "memoryMiB: 16384", "memoryGiB: 16", spec + "vsphere.memoryGiB", "vsphere.memoryMiB", "16 GiB are 16384"},
	{93, VSphere, "memoryMiB: 16384", "memory: 16Gi", spec + "vsphere.memory", "vsphere.memoryMiB", "16 GiB are 16384"},
	{94, VSphere, "memoryMiB: 16384", "memoryMiB: 17179869184", spec + "vsphere.memoryMiB", "17179869184", "bytes are 16384"},
	{95, VSphere, "cpus: 4", "cpus: 4000m", spec + "vsphere.cpus", `"4000m"`, "a number"},
	{96, VSphere, memory, nic("dhcp: true"), spec + "vsphere.networkInterfaces[0].dhcp", "uses DHCP", "leave it out"},
	{
		97, VSphere, memory, nic("addresses: [10.0.0.5/24]"), spec + "vsphere.networkInterfaces[0].addresses",
		"addressesFromPools", "InClusterIPPool",
	},
	{98, VSphere, memory, nic("gateway: 10.0.0.1"), spec + "vsphere.networkInterfaces[0].gateway", "not needed", "from its pool"},
	{
		99, VSphere, memory,
		nic("addressesFromPools: [{apiVersion: ipam.cluster.x-k8s.io/v1alpha2, kind: InClusterIPPool, name: nodes}]"),
		"addressesFromPools[0].apiVersion", "addressesFromPools[].apiGroup", "without its version",
	},
	{
		100, VSphere, memory, memory + "        customizationSpec: windows\n", spec + "vsphere.customizationSpec", "not needed",
		"cloudbase-init",
	},
	{
		101, VSphere, "kind: Secret, name: vcenter", "kind: VSphereClusterIdentity, name: vcenter", spec + "identityRef.kind",
		"VSphereClusterIdentity", "kind: Secret",
	},
	{
		102, VSphere, "kind: Secret, name: vcenter", "kind: Secret, name: vcenter, namespace: capv-system",
		spec + "identityRef.namespace", "not needed", "in the namespace of the machine",
	},
	{
		103, VSphere, "  clusterName: prod\n  replicas: 3\n  selector: {}\n  template:\n    spec:\n      clusterName: prod\n",
		"  clusterName: prd\n  template:\n    spec:\n      clusterName: prd\n", "Cluster default/prd", "is not in",
		"did you mean prod",
	},
	{104, VSphere, end, secret("stringData", "data"), "Secret default/vcenter", "data.password", "stringData"},
	{105, VSphere, end, secret("password: b", "password: 12345"), "Secret default/vcenter", "a number", "in quotes"},
	{
		106, VSphere, end, secret("stringData: {server", "type: kubernetes.io/ssh-auth\nstringData: {server"), "Secret default/vcenter",
		"kubernetes.io/ssh-auth", "leave type out",
	},
	{
		107, VSphere, network, network + "      windows: {computerName: win1}\n", spec + "windows.computerName", "not needed",
		"computed from its machine",
	},
	{
		108, VSphere, network, network + "      windows: {dataDrive: {letter: 'D:'}}\n", spec + "windows.dataDrive.letter",
		`"D:"`, "did you mean D?",
	},
	{109, VSphere, "mode: Overlay", "mode: vxlan", spec + "network.mode", "vxlan", "write Overlay"},
	{
		110, VSphere, cluster, "apiVersion: cluster.x-k8s.io/v1alpha4\nkind: Cluster\n", "Cluster default/prod", "v1alpha4",
		"write cluster.x-k8s.io/v1beta2",
	},
}

// healthCheck is a MachineHealthCheck with a field of v1beta1.
func healthCheck(field string) string {
	return "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineHealthCheck\nmetadata: {name: windows}\n" +
		"spec: {clusterName: prod, selector: {matchLabels: {pool: windows}}, " + field + "}\n"
}
