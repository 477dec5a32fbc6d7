package wrongpools

import "strings"

// contradicted are taken, and held or refused only when a VM is paid for, if at all: the first of the notes says so.
var contradicted = []Case{
	{111, VSphere, "kind: VSphereCluster", "kind: AzureCluster", "Cluster default/prod", "is on Azure", "write spec.azure"},
	{
		112, Azure, "kind: KubeadmControlPlane", "kind: AzureManagedControlPlane", "Cluster default/prod", "AKS",
		"AzureManagedMachinePool",
	},
	{
		113, VSphere, "kind: KubeadmControlPlane", "kind: RKE2ControlPlane", "Cluster default/prod",
		"RKE2 makes its control plane", "KubeadmControlPlane",
	},
	{
		113, VSphere, "kind: KubeadmControlPlane", "kind: TalosControlPlane", "Cluster default/prod",
		"Talos makes its control plane", "KubeadmControlPlane",
	},
	{
		113, VSphere, "kind: KubeadmControlPlane", "kind: K0sControlPlane", "Cluster default/prod",
		"k0s makes its control plane", "KubeadmControlPlane",
	},
	{
		114, VSphere, "kind: KubeadmControlPlane", "kind: KubeadmControlPlaneTemplate", "spec.controlPlaneRef.kind",
		"is a template", "write the kind KubeadmControlPlane",
	},
	{
		115, VSphere, "apiGroup: controlplane.cluster.x-k8s.io", "apiGroup: bootstrap.cluster.x-k8s.io",
		"spec.controlPlaneRef.apiGroup", "bootstrap.cluster", "controlplane.cluster.x-k8s.io: write that",
	},
	{
		116, Azure, "kind: AzureCluster, name: prod}", "kind: AzureCluster, name: prd}", "spec.infrastructureRef",
		"AzureCluster prd", "did you mean prod",
	},
	{
		117, Azure, gallery, "communityGallery: {gallery: a, name: capi-win-2022-containerd, version: 1.35.0}",
		"spec.azure.image.communityGallery.version", "1.35.0", "an image of 1.36",
	},
	{
		118, VSphere, image, "        image: {template: windows-2022-kube-v1.34.1}\n", "spec.vsphere.image.template", "1.34",
		"an image of 1.36",
	},
	{
		119, Azure, gallery, "id: " + id + "Microsoft.Compute/galleries/windows/images/ws2022/versions/1.34.1",
		"spec.azure.image.id", "1.34", "an image of 1.36",
	},
	{120, Azure, "version: 1.36.3}", "version: latest}", "spec.azure.image.computeGallery.version", "is latest", "Write the number"},
	{
		121, Azure, gallery, "communityGallery: {gallery: a, name: capi-ubun2-2404, version: 1.36.3}",
		"spec.azure.image.communityGallery.name", "capi-ubun2-2404", "image of Windows",
	},
	{
		121, VSphere, image, "        image: {template: ubuntu-2204-kube-v1.36.3}\n", "spec.vsphere.image.template",
		"ubuntu-2204", "image of Windows",
	},
	{
		122, Azure, gallery,
		"marketplace: {publisher: MicrosoftWindowsServer, offer: WindowsServer, sku: 2022-datacenter, version: latest}",
		"spec.azure.image.marketplace", "neither cloudbase-init", "image-builder",
	},
	{
		123, VSphere, image, "        image: {template: windows-2019-kube-v1.36.3}\n", "spec.vsphere.image.template", "2019",
		"Server 2022 or 2025",
	},
	{124, Azure, "Standard_D4s_v5", "Standard_D4ps_v5", "Standard_D4ps_v5", "Arm processors", "Standard_D4s_v5"},
	{125, Azure, "Standard_D4s_v5", "Standard_D4_v5", "Standard_D4_v5", "no premium disks", "StandardSSD_LRS"},
	{
		126, Azure, "Standard_D4s_v5", "Standard_DC4as_v5", "Standard_DC4as_v5", "confidential VMs only",
		"securityType: ConfidentialVM",
	},
	{127, Azure, "Standard_D4s_v5", "D4s_v5", "the size D4s_v5", "begin with Standard_", "Standard_D4s_v5"},
	{128, Azure, "Standard_D4s_v5", "Standard_B1ms", "Standard_B1ms", "one processor", "Standard_D4s_v5"},
	{129, Azure, "sizeGiB: 128", "sizeGiB: 30", "spec.azure.osDisk.sizeGiB", "is 30", "Write 128 or more"},
	{130, Azure, osDisk, osDisk + "        location: northeurope\n", "spec.azure.location", "westeurope", "Remove location"},
	{
		131, Azure, subnet, "subnet: {name: control-plane}", "spec.azure.networkInterfaces[0].subnet.name", "role control-plane",
		"write nodes",
	},
	{
		132, Azure, subnet, "subnet: {id: " + id + "Microsoft.Network/virtualNetworks/prodd/subnets/nodes}",
		"spec.azure.networkInterfaces[0].subnet.id", "prodd", "subnet: {name: NAME}",
	},
	{133, VSphere, end, secret("username", "user"), "Secret default/vcenter", "it has user", `no key "username"`},
	{
		134, VSphere, end, secret("thumbprint: SHA256", "thumbprint: "+strings.Repeat("AB:", 19)+"AB"), "Secret default/vcenter",
		"thumbprint", "SHA-256",
	},
	{
		135, VSphere, end, secret("vc.example.com", "https://vc.example.com/sdk"), "Secret default/vcenter", "server",
		"without https://",
	},
	{136, VSphere, end, secret("{server", "{ca.crt: a, server"), "Secret default/vcenter", "ca.crt", "exactly one"},
	{
		137, VSphere, end,
		secret("server: vc.example.com, username: ops@vsphere.local", "server: dmMuZXhhbXBsZS5jb20=, username: "+
			"b3BzQHZzcGhlcmUubG9jYWw="),
		"Secret default/vcenter", "base64 once more", "stringData",
	},
	{138, VSphere, end, secret("ops@vsphere.local", "ops"), "Secret default/vcenter", "no domain", "@vsphere.local"},
	{
		139, VSphere, end, secret("vc.example.com", "'${VSPHERE_SERVER}'"), "Secret default/vcenter", "key server",
		"clusterctl generate yaml",
	},
	{140, VSphere, end, secret("name: vcenter", "name: vcentre"), "Secret default/vcenter", "is not in", "did you mean vcentre"},
	{
		141, VSphere, end,
		secret("kind: Secret\nmetadata: {name: vcenter}\nstringData", "kind: ConfigMap\nmetadata: {name: vcenter}\ndata"),
		"Secret default/vcenter", "a ConfigMap of this name", "kind: Secret",
	},
	{
		142, VSphere, end, secret("{name: vcenter}", "{name: vcenter, namespace: capv-system}"), "Secret default/vcenter",
		"in the namespace capv-system", "metadata.namespace",
	},
	{143, VSphere, memory, memory + "        folder: 'dc0\\vm\\windows'\n", "spec.vsphere.folder", "backslashes", "write slashes"},
	{
		144, VSphere, memory, memory + "        datastore: '[ssd1] windows'\n", "spec.vsphere.datastore", "path of files",
		"write a name",
	},
	{
		145, VSphere, memory, memory + "        resourcePool: /dc1/host/c1/Resources\n", "spec.vsphere.resourcePool",
		"datacenter dc1", `"dc0"`,
	},
	{
		146, VSphere, image, "        image: {template: windows-2022.ova}\n", "spec.vsphere.image.template", "windows-2022.ova",
		"that of the template",
	},
	{
		147, VSphere, memory, nic("addressesFromPools: [{apiGroup: cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]"),
		"addressesFromPools", `"cluster.x-k8s.io"`, "ipam.cluster.x-k8s.io",
	},
}

// Silent are pools about which nothing is said, and why.
var Silent = []struct {
	Case
	Why string
}{
	{
		Case{149, VSphere, end, secret("password: b", `password: "b\n"`), "", "", ""},
		"the manager takes the end of a line off each value",
	},
	{
		Case{150, VSphere, end, secret("thumbprint: SHA256", "thumbprint: "+strings.Repeat("ab:", 31)+"ab"), "", "", ""},
		"colons and small letters are read",
	},
	{Case{151, Azure, "Standard_D4s_v5", "standard_d4s_v5", "", "", ""}, "Azure does not mind the case of sizes"},
	{Case{152, Azure, "location: westeurope", "location: West Europe", "", "", ""}, "Azure takes both names of a region"},
	{Case{153, VSphere, memory, memory + "        folder: '*/windows'\n", "", "", ""}, "a folder may be found by wildcards"},
	{Case{154, VSphere, memory, memory + "        folder: /dc0/vm/windows/\n", "", "", ""}, "a slash at the end changes nothing"},
	{
		Case{155, VSphere, "  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: " +
			"prod}\n", "", "", "", ""},
		"a Cluster may have Machines of a control plane of its own",
	},
	{Case{156, VSphere, image, "        image: {template: golden}\n", "", "", ""}, "a name need not say what is in the template"},
}
