package wrongpools

// Where the good pools can be changed.
const (
	network   = "      network: {mode: Overlay, cni: Flannel}\n"
	vsphere   = "      vsphere:\n"
	memory    = "        memoryMiB: 16384\n"
	image     = "        image: {template: windows-2022}\n"
	identity  = "      identityRef: {kind: Secret, name: vcenter}\n"
	osDisk    = "        osDisk: {sizeGiB: 128, type: Premium_LRS}\n"
	gallery   = "computeGallery: {resourceGroup: images, gallery: windows, name: ws2022, version: 1.36.3}"
	version   = "      version: v1.36.3\n"
	pods      = "    pods: {cidrBlocks: [192.168.0.0/16]}\n"
	services  = "    services: {cidrBlocks: [10.96.0.0/12]}\n"
	configRef = "kind: WindowsBootstrapConfigTemplate, name"
	windows   = "kind: WindowsMachineTemplate, name"
)

const spec = "spec.template.spec."

var first = []Case{
	{1, VSphere, memory, "        memoryMiB: 1024\n", spec + "vsphere.memoryMiB", "1024", "4096"},
	{
		1, VSphere, memory, "        memoryMiB: 4096\n", "spec.reservations", "4096 MiB of memory", "use a VM of 6144 MiB or more",
	},
	{
		2, VSphere, "Overlay, cni: Flannel", "L2Bridge, cni: AzureCNI", "spec.network.cni", "AzureCNI",
		"Overlay with Flannel or Calico",
	},
	{3, VSphere, "mode: Overlay", "mode: NAT", spec + "network.mode", "NAT", "other nodes reach them"},
	{4, VSphere, "mode: Overlay", "mode: L2Tunnel", spec + "network.mode", "L2Tunnel", "write L2Bridge"},
	{
		5, VSphere, network, network + "      kubelet: {extraArgs: {max-pods: \"50\"}}\n",
		spec + "kubelet.extraArgs", "an object with fields", `- {name: max-pods, value: "50"}`,
	},
	{
		6, VSphere, network, network + "      kubelet: {extraArgs: [{name: pod-infra-container-image, value: a}]}\n",
		"spec.kubelet.extraArgs", "pod-infra-container-image", "containerd.pauseImage",
	},
	{
		7, VSphere, network, network + `      custom: {files: [{path: 'C:\k\kubelet.exe', content: a}]}` + "\n",
		spec + "custom.files[0].path", `C:\\k\\kubelet.exe`, "use another one",
	},
	{
		7, VSphere, network, network + "      custom: {files: [{path: /etc/kubernetes/pki/ca.crt, content: a}]}\n",
		spec + "custom.files[0].path", "/etc/kubernetes/pki/ca.crt", `C:\etc\app.conf`,
	},
	{
		7, VSphere, network, network + `      custom: {files: [{path: 'C:\PROGRA~1\containerd\config.toml', content: a}]}` + "\n",
		spec + "custom.files[0].path", `PROGRA~1`, `C:\etc\app.conf`,
	},
	{
		8, VSphere, memory, memory + "        networkInterfaces: [{name: node, network: VM Network, ipAddrs: [10.0.0.5/24]}]\n",
		spec + "vsphere.networkInterfaces[0].ipAddrs", "Cluster API Provider vSphere", "addressesFromPools",
	},
	{
		8, VSphere, memory, memory + "        networkInterfaces: [{name: node, network: VM Network, gateway4: 10.0.0.1}]\n",
		spec + "vsphere.networkInterfaces[0].gateway4", "Cluster API Provider vSphere", "comes with the address from its pool",
	},
	{9, VSphere, "cpus: 4", "numCPUs: 4", spec + "vsphere.numCPUs", "Cluster API Provider vSphere", "write cpus: 4"},
	{9, VSphere, image, "        template: windows-2022\n", spec + "vsphere.template", "vSphere", spec + "vsphere.image.template"},
	{9, VSphere, vsphere, vsphere + "        server: vcenter.example.com\n", spec + "vsphere.server", "vSphere", "identityRef"},
	{9, VSphere, memory, memory + "        diskGiB: 80\n", spec + "vsphere.diskGiB", "vSphere", "enlarge"},
	{
		9, VSphere, memory, memory + "        network: {devices: [{networkName: VM Network, dhcp4: true}]}\n",
		spec + "vsphere.network", "vSphere", "- {name: node, network: NAME}",
	},
	{10, VSphere, network, network + "      files: [{path: /a, content: b}]\n", spec + "files", "kubeadm", spec + "custom.files"},
	{
		10, VSphere, network, network + "      preKubeadmCommands: [hostname]\n", spec + "preKubeadmCommands", "kubeadm",
		spec + "custom.preJoin",
	},
	{
		10, VSphere, network, network + "      joinConfiguration: {nodeRegistration: {}}\n", spec + "joinConfiguration", "kubeadm",
		spec + "kubelet.extraArgs",
	},
	{11, Azure, "sizeGiB: 128", "diskSizeGB: 128", spec + "azure.osDisk.diskSizeGB", "Azure", "write sizeGiB: 128"},
	{11, Azure, osDisk, osDisk + "        sshPublicKey: AAAA\n", spec + "azure.sshPublicKey", "Azure", "spec.windows.users"},
	{11, VSphere, memory, memory + osDisk, spec + "vsphere.osDisk", "a field of spec.azure", "remove it"},
	{11, VSphere, memory, memory + "        dataDisks: [{sizeGiB: 1}]\n", spec + "vsphere.dataDisks", "vSphere", "template"},
	{
		12, VSphere, vsphere, "      azure: {vmSize: Standard_D4s_v5}\n" + vsphere, "spec.template.spec", "azure and vsphere",
		"exactly one",
	},
	{
		12, VSphere, vsphere + "        datacenter: dc0\n" + image + "        cpus: 4\n" + memory, "", "spec.template.spec", "",
		"exactly one",
	},
	{13, VSphere, identity, "", "identityRef", "", "Secret"},
	{
		13, VSphere, "kind: Secret, name: vcenter", "kind: AzureClusterIdentity, name: prod", "identityRef", "AzureClusterIdentity",
		"Secret",
	},
	{
		14, Azure, "version: 1.36.3}", "sku: a}", spec + "azure.image.computeGallery.sku", "Azure", "gallery, name and version only",
	},
	{
		14, Azure, gallery, gallery + "\n          id: /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/images" +
			"/providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/1.0.0",
		spec + "azure.image", "computeGallery and id", "set one of",
	},
	{
		14, Azure, gallery, gallery + "\n          marketplace: {publisher: a, offer: b, sku: c}", spec + "azure.image",
		"computeGallery and marketplace", "set one of",
	},
	{15, Azure, "Standard_D4s_v5", "Standard D4s v5", spec + "azure.vmSize", "Standard D4s v5", "Standard_D4s_v5"},
	{17, VSphere, version, version + "      failureDomain: \"1\"\n", "spec.failureDomain", `"1"`, "remove spec.failureDomain"},
	{18, VSphere, "  clusterName: prod\n", "  clusterName: prod2\n", "spec.clusterName", "prod2", `the second is "prod"`},
	{
		19, VSphere, "name: prod-windows\n", "name: a123456789-b123456789-c123456789-d123456789-e123456789-f123456789-g123\n",
		"metadata.name", "", "63",
	},
	{19, VSphere, "replicas: 3", "replicas: -1", "spec.replicas", "-1", "non-negative"},
	{20, VSphere, version, "      version: v1.19.3\n", "spec.version", "v1.19.3", "or a later v1"},
	{20, VSphere, version, "      version: 1.36\n", spec + "version", "1.36", "in quotes"},
	{20, VSphere, version, "      version: v1.36\n", spec + "version", "v1.36", "v1.36.3"},
	{
		21, VSphere, network, network + "      reservations: {system: {memory: '1,5Gi'}}\n", spec + "reservations.system.memory",
		"1,5Gi", "1536Mi",
	},
	{
		21, VSphere, network, network + "      reservations: {system: {memory: '500'}}\n", "reservations.system.memory", "500",
		"500Mi",
	},
	{
		21, VSphere, network, network + "      reservations: {systemReserved: {memory: 1Gi}}\n", spec + "reservations.systemReserved",
		"", spec + "reservations.system",
	},
	{
		22, VSphere, configRef, "kind: KubeadmConfigTemplate, name", spec + "bootstrap.configRef.kind", "KubeadmConfigTemplate",
		"WindowsBootstrapConfigTemplate",
	},
	{
		22, VSphere, windows, "kind: VSphereMachineTemplate, name", spec + "infrastructureRef.kind", "VSphereMachineTemplate",
		"WindowsMachineTemplate",
	},
	{
		22, VSphere, windows, "kind: WindowsMachine, name", spec + "infrastructureRef.kind", `"WindowsMachine"`,
		"WindowsMachineTemplate",
	},
	{23, VSphere, pods, "    pods: {cidrBlocks: ['fd00::/48']}\n", "spec.clusterNetwork", "fd00::/48", "IPv4"},
	{
		23, VSphere, services, "    services: {cidrBlocks: [10.96.0.0/29]}\n", "spec.clusterNetwork.services", "10.96.0.0/29",
		"larger CIDR",
	},
	{
		24, VSphere, network, network + "      windows: {domain: {name: corp.example.com, credentialsRef: {name: join}}}\n" +
			"---\napiVersion: v1\nkind: Secret\nmetadata: {name: join}\nstringData: {username: a, Password: b}\n",
		"", "Secret default/join", "stringData.password",
	},
	{25, VSphere, network, "\tnetwork: {mode: Overlay, cni: Flannel}\n", "document 3, line 34, column 1", "a tab", "write blanks"},
	{25, VSphere, memory, memory + memory, "document 2, line 26", "memoryMiB", "keep one"},
	{
		25, VSphere, network, "      kubelet:\n        network: {mode: Overlay, cni: Flannel}\n", spec + "kubelet.network", "unknown " +
			"field",
		spec + "network",
	},
	{
		25, VSphere, "name: prod-windows-1\nspec:\n  template:\n    spec:\n      id",
		"name: ${CLUSTER_NAME}-windows-1\nspec:\n  template:\n    spec:\n      id", "metadata.name", "${CLUSTER_NAME}", "clusterctl " +
			"generate",
	},
	{25, VSphere, "datacenter: dc0", "datacenter: {{ .Values.datacenter }}", "line 22, column 21", "{{", "helm template"},
}
