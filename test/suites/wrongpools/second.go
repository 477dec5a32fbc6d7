package wrongpools

var second = []Case{
	{26, VSphere, "memoryMiB: 16384", "memoryMiB: 8Gi", spec + "vsphere.memoryMiB", `"8Gi"`, "write 8192"},
	{27, VSphere, "cpus: 4", `cpus: "4"`, spec + "vsphere.cpus", `"4"`, "write 4"},
	{28, VSphere, "memoryMiB: 16384", "memoryMiB: 16", spec + "vsphere.memoryMiB", "is 16", "16 GiB are 16384"},
	{
		29, VSphere, network, network + "      custom: {preJoin: [{name: a, content: exit, timeoutSeconds: 5m}]}\n",
		spec + "custom.preJoin[0].timeoutSeconds", `"5m"`, "write 300",
	},
	{
		30, VSphere, "cni: Flannel}", "cni: Flannel, firewall: [{name: a, protocol: tcp, ports: {first: 9100}}]}",
		spec + "network.firewall[0].protocol", `"tcp"`, "did you mean TCP?",
	},
	{31, Azure, osDisk, osDisk + "        priority: spot\n", spec + "azure.priority", `"spot"`, "did you mean Spot?"},
	{
		32, VSphere, network, network + "      kubelet: {featureGates: {NodeLogQuery: true}}\n", spec + "kubelet.featureGates",
		"an object with fields", "- {name: NodeLogQuery, state: Enabled}",
	},
	{
		33, VSphere, image, "        image: windows-2022\n", spec + "vsphere.image", `"windows-2022"`,
		"write {template: windows-2022}",
	},
	{
		34, VSphere, memory, memory + "        networkInterfaces: {name: node, network: VM Network}\n",
		spec + "vsphere.networkInterfaces", "an object with fields", "put a dash",
	},
	{
		35, VSphere, network, network + "      windows: {ntpServers: time.example.com}\n", spec + "windows.ntpServers", "a text",
		"in brackets",
	},
	{
		36, VSphere, network, network + "      containerd: {hyperVIsolation: true}\n", spec + "containerd.hyperVIsolation", "true",
		"write Enabled",
	},
	{
		37, VSphere, network, network + "      kubelet: {extraArgs: [{name: v, value: 4}]}\n", spec + "kubelet.extraArgs[0].value",
		"the number 4", "in quotes",
	},
	{
		38, VSphere, network, network + "      kubelet: {extraArgs: [{name: --v, value: \"4\"}]}\n", spec + "kubelet.extraArgs[0].name",
		`"--v"`, "without dashes",
	},
	{
		39, VSphere, network, network + "      windows: {timeZone: Europe/Berlin}\n", spec + "windows.timeZone", "Europe/Berlin",
		"W. Europe Standard Time",
	},
	{40, VSphere, "cni: Flannel", "cni: Cilium", spec + "network.cni", "Cilium", "write Calico or Flannel"},
	{41, VSphere, "mode: Overlay", "mode: overlay", spec + "network.mode", `"overlay"`, "did you mean Overlay?"},
	{
		42, VSphere, memory, memory + "        networkInterfaces: [{name: node, network: a}, {name: node, network: b}]\n",
		spec + "vsphere.networkInterfaces[1]", "twice", "remove one",
	},
	{
		43, VSphere, "---\napiVersion: bootstrap", "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n" +
			"kind: WindowsMachineTemplate\nmetadata:\n  name: prod-windows-1\nspec: {template: {spec: {identityRef: {kind: Secret, " +
			"name: vcenter}, vsphere: {datacenter: dc0, image: {template: a}}}}}\n---\napiVersion: bootstrap",
		"WindowsMachineTemplate default/prod-windows-1", "exists 2 times", "keep only one",
	},
	{
		44, VSphere, windows + ": prod-windows-1", windows + ": prod-window-1", "WindowsMachineTemplate default/prod-window-1",
		"is not in", "prod-windows-1",
	},
	{
		46, VSphere, network, network + "      kubelet: {configuration: {containerLogMaxSize: 5}}\n", "spec.kubelet.configuration",
		"containerLogMaxSize", "must be a text",
	},
	{
		47, Azure, "type: Premium_LRS", "managedDisk: {storageAccountType: Premium_LRS}", spec + "azure.osDisk.managedDisk", "Azure",
		"type: Premium_LRS",
	},
	{48, Azure, osDisk, osDisk + "        zones: [1]\n", spec + "azure.zones[0]", "the number 1", "in quotes"},
	{
		49, VSphere, "spec:\n  template:\n    spec:\n      identityRef",
		"spec:\n  vsphere: {}\n  template:\n    spec:\n      identityRef",
		`"spec.vsphere"`, "unknown field", spec + "vsphere",
	},
	{
		50, VSphere, "infrastructure.cluster.x-k8s.io/v1beta1\nkind: WindowsM",
		"infrastructure.cluster.x-k8s.io/v1beta2\nkind: WindowsM",
		"WindowsMachineTemplate default/prod-windows-1", "v1beta2", "v1beta1",
	},
}

// absent lack what may be in the cluster.
var absent = []Case{
	{
		16, Azure, "subnet: {name: nodes}", "subnet: {name: windows}", "spec.azure.networkInterfaces[0].subnet.name", `"windows"`,
		"the subnets control-plane, nodes",
	},
	{
		24, VSphere, network, network + "      windows: {domain: {name: corp.example.com, credentialsRef: {name: join}}}\n",
		"keys password", "Secret default/join", "kubectl get secret join",
	},
	{
		45, VSphere, network, network + "      windows: {domain: {name: corp.example.com, credentialsRef: {name: join}}}\n" +
			"---\napiVersion: v1\nkind: Secret\nmetadata: {name: join, namespace: team-b}\nstringData: {username: a, password: b}\n",
		"Secret default/join", "in the namespace team-b", "metadata.namespace",
	},
}
