package agree

import "slices"

// goodFiles are taken.
func goodFiles() []file {
	return slices.Concat(
		eachOwner(good, onVSphere, wholeRows...), eachOwner(good, inAzure, wholeAzureRows...),
		files(good, onVSphere, "", goodContentRows...), files(good, onVSphere, "", goodKubeletRows...),
		files(good, onVSphere, "", goodNetworkRows...), files(good, onVSphere, "", goodWindowsRows...),
		files(good, onVSphere, "", goodVSphereRows...), files(good, inAzure, "", goodAzureRows...),
		files(good, onVSphere, machine, goodMachineRows...), files(good, onVSphere, deployment, goodDeploymentRows...),
		files(good, inAzure, machine, row{"an address of its own", ofItsOwn("10.1.0.77")}),
		files(good, inAzure, deployment, row{"an address of its own", ofItsOwn("10.1.0.79")}),
		files(good, inAzure, machine, row{"the ID of a VM that is there already", idInAzure}),
	)
}

func ofItsOwn(address string) string {
	return `{vm: {networkInterfaces: [{name: node, subnet: {id: $SUBNET}, privateAddress: ` + address + `}]}}`
}

const idInAzure = `{windows: {providerID: "azure:///subscriptions/$SUBSCRIPTION/resourceGroups/$GROUP/providers/` +
	`Microsoft.Compute/virtualMachines/windows-1"}}`

// wholeRows have many fields at once, so that each owner's kind has all of them in a few files.
var wholeRows = []row{
	{"nothing but what must be", `{}`},
	{"all of the settings", `{config: {bootstrapDeadlineSeconds: 7200,
	  containerd: {pauseImage: registry.example.com/pause:3.10.2, hyperVIsolation: Enabled,
	    prepullImages: [registry.example.com/app:1],
	    dropIns: [{name: text, content: "version = 3"}, {name: secret, contentFrom: {secret: {name: files, key: limits.toml}}},
	      {name: map, contentFrom: {configMap: {name: files, key: limits.toml}}}],
	    registries: [{host: docker.io, mirrors: [{url: "https://mirror.example.com"}], caFrom: {secret: {name: files, key: ca.crt}}},
	      {host: registry.example.com, caFrom: {configMap: {name: files, key: ca.crt}}, credentialsRef: {name: files}}]},
	  custom: {files: [{path: 'C:\etc\a', content: a, access: Administrators},
	      {path: 'C:\etc\b', contentFrom: {secret: {name: files, key: app.conf}}},
	      {path: 'C:\etc\c', contentFrom: {configMap: {name: files, key: app.conf}}, access: Inherited}],
	    preJoin: [{name: a, type: Cmd, content: echo, timeoutSeconds: 60},
	      {name: b, contentFrom: {secret: {name: files, key: script.ps1}}},
	      {name: c, contentFrom: {configMap: {name: files, key: script.ps1}}}],
	    postJoin: [{name: a, type: PowerShell, content: echo, timeoutSeconds: 60},
	      {name: b, contentFrom: {secret: {name: files, key: script.ps1}}},
	      {name: c, contentFrom: {configMap: {name: files, key: script.ps1}}}],
	    everyBoot: [{name: boot, type: Cmd, content: echo, timeoutSeconds: 60}]},
	  windows: {proxy: {http: "http://proxy:3128", https: "http://proxy:3128", noProxy: [.example.com],
	    credentialsRef: {name: files}},
	    trustedCertificates: [{name: text, content: $CERTIFICATE}, {name: secret, contentFrom: {secret: {name: files, key: ca.crt}}},
	      {name: map, contentFrom: {configMap: {name: files, key: ca.crt}}}],
	    timeZone: UTC, ntpServers: [time.example.com], users: [{name: ops, role: User, sshAuthorizedKeys: [$KEY]}],
	    features: [Containers], defenderExclusions: {folders: ['C:\data'], processes: [app.exe]},
	    csiProxy: {path: 'C:\k\csi-proxy.exe'}, pageFile: {policy: Fixed, sizeMiB: 8192}, dataDrive: {letter: D, format: IfEmpty},
	    gmsaPlugin: {classID: 11111111-2222-3333-4444-555555555555},
	    domain: {name: corp.example.com, organizationalUnit: 'OU=Nodes,DC=corp', credentialsRef: {name: files}}}}}`},
	{"all of the kubelet and the network", `{config: {
	  kubelet: {maxPods: 50, cloudProvider: External, extraArgs: [{name: logging-format, value: json}],
	    featureGates: [{name: WindowsCPUAndMemoryAffinity, state: Enabled}], priorityClass: AboveNormal, start: Automatic,
	    serverCertificates: SelfSigned, systemLogQuery: Enabled,
	    log: {verbosity: 2, directory: 'C:\logs', maxSizeMiB: 50, maxAgeHours: 168}, configuration: {containerLogMaxSize: 20Mi}},
	  reservations: {system: {cpu: "1", memory: 2Gi, ephemeralStorage: 1Gi}, kube: {cpu: 500m, memory: 1Gi, ephemeralStorage: 1Gi},
	    eviction: {memoryAvailable: 500Mi, nodefsAvailable: 10%, imagefsAvailable: 15%}, lowMemoryPolicy: Allow},
	  node: {labels: {example.com/pool: win}, taints: [{key: os, value: windows, effect: NoSchedule}]},
	  network: {mode: Overlay, cni: Flannel, interface: Ethernet0, hnsNetworkName: flannel.4096, vni: 4096,
	    exceptionCIDRs: [192.168.0.0/16], clusterDNS: 10.96.0.10, nodePorts: {first: 30000, last: 32767},
	    dynamicPorts: {first: 34000, last: 65535}, firewall: [{name: metrics, protocol: TCP, ports: {first: 9100, last: 9200}}],
	    kubeProxy: {run: Service, dsr: Enabled}, flannel: {run: Service}}},
	  vm: {cpus: 4, coresPerSocket: 2, memoryMiB: 16384}}`},
	{"all of a kubeconfig and a VM", `{config: {discovery: {kubeconfigFrom: {secret: {name: files, key: kubeconfig}}}},
	  vm: {datastore: LocalDS_0, nestedVirtualization: Enabled, image: {setup: CloudbaseInit}}}`},
	{"all of adapters", `{vm: {networkInterfaces: [{name: node, network: VM Network, nameservers: [10.0.0.2], mtu: 1450,
	    routes: [{to: 10.9.0.0/16, via: 10.0.0.9}],
	    addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]}]},
	  more: [{apiVersion: ipam.cluster.x-k8s.io/v1alpha2, kind: InClusterIPPool, metadata: {name: nodes},
	    spec: {addresses: [10.0.0.20-10.0.0.40], prefix: 24, gateway: 10.0.0.1}}]}`},
}

// wholeAzureRows do the same in Azure.
var wholeAzureRows = []row{
	{"nothing but what must be", `{}`},
	{"the file of the cloud", `{config: {node: {cloudConfigFile: Managed}}}`},
	{"all of disks and zones", `{vm: {zones: ["1", "2"], fallbackVMSizes: [Standard_D4as_v5],
	    image: {setup: CloudbaseInit}, osDisk: {sizeGiB: 128, type: Premium_LRS, caching: ReadOnly},
	    dataDisks: [{name: data, sizeGiB: 256, lun: 0, type: Premium_LRS, caching: None}],
	    additionalTags: {pool: blue}, extensionOperations: Enabled, bootDiagnostics: {type: Managed},
	    windows: {licenseType: Windows_Server, timeZone: UTC, patchMode: AutomaticByPlatform, assessmentMode: ImageDefault,
	      hotpatch: Disabled}}}`},
	{"all of encrypted disks", `{vm: {vmSize: Standard_DC4as_v5,
	    osDisk: {diskEncryptionSetID: $COMPUTE/diskEncryptionSets/keys, securityEncryptionType: VMGuestStateOnly},
	    dataDisks: [{name: data, sizeGiB: 256, diskEncryptionSetID: $COMPUTE/diskEncryptionSets/keys}],
	    securityProfile: {securityType: ConfidentialVM, secureBoot: Enabled, vTPM: Enabled}}}`},
	{"all of a fast disk", `{vm: {zones: ["1"], ultraSSD: Enabled, diskController: SCSI,
	    bootDiagnostics: {type: UserManaged, storageURI: "https://nodes.blob.core.windows.net/"},
	    dataDisks: [{name: data, sizeGiB: 256, type: UltraSSD_LRS, caching: None}], securityProfile: {encryptionAtHost: Enabled}}}`},
	{"an ephemeral disk", `{vm: {vmSize: Standard_D4ds_v5, osDisk: {ephemeralPlacement: Cache, caching: ReadOnly}}}`},
	{"all of an adapter", `{vm: {networkInterfaces: [{name: node, subnet: {id: $SUBNET}, acceleratedNetworking: Enabled,
	    ipForwarding: Enabled, secondaryAddresses: 3, publicIP: Enabled, dnsServers: [10.0.0.2], networkSecurityGroupID: $FIREWALL,
	    applicationSecurityGroupIDs: [$SECURITY], loadBalancerPoolIDs: [$BACKEND]}],
	    identities: {type: UserAssigned, userAssigned: [$IDENTITY]}}}`},
	{"a subnet by name", `{` + inherits + `, vm: {networkInterfaces: [{name: node, subnet: {name: $NODES}}]}}`},
	{"spot", `{vm: {priority: Spot, spot: {maxPrice: "0.25", evictionPolicy: Delete}}}`},
	{"near another", `{vm: {proximityPlacementGroupID: $COMPUTE/proximityPlacementGroups/near}}`},
	{"in a scale set", `{vm: {scaleSetID: $COMPUTE/virtualMachineScaleSets/nodes}}`},
	{"reserved", `{vm: {capacityReservationGroupID: $COMPUTE/capacityReservationGroups/kept}}`},
	{"on a group of hosts", `{vm: {hostGroupID: $COMPUTE/hostGroups/ours}}`},
	{"on a host", `{vm: {hostID: $COMPUTE/hostGroups/ours/hosts/one}}`},
	{"an image of a gallery", `{vm: {image: {id: null, computeGallery: {gallery: capwin, name: windows-2022, version: 1.36.3,
	    resourceGroup: $NETWORK, subscriptionID: $SUBSCRIPTION}}}}`},
	{"an image of the community", `{vm: {image: {id: null, communityGallery: {gallery: ClusterAPI-f72ceb4f,
	    name: capi-win-2022-containerd, version: 1.36.3}}}}`},
	{"an image of the marketplace", `{vm: {image: {id: null, marketplace: {publisher: cncf-upstream, offer: capi-windows,
	    sku: windows-2022-containerd, version: latest, plan: Image}}}}`},
}

// inherits makes the Cluster one of Cluster API Provider Azure, from which the machine has what its spec leaves out.
const inherits = `cluster: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster,
	    name: linux-first}}},
  more: [{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureCluster, metadata: {name: linux-first},
    spec: {subscriptionID: $SUBSCRIPTION, resourceGroup: $GROUP, location: $LOCATION,
      identityRef: {kind: AzureClusterIdentity, name: blue},
      networkSpec: {vnet: {name: $VNET, resourceGroup: $NETWORK}, subnets: [{name: $NODES, role: node}]}}}]`

var goodMachineRows = []row{
	{"labels of a Machine", `{owner: {metadata: {labels: {team: blue}}}}`},
	{"a version without v", `{owner: {spec: {version: 1.36.3}}}`},
	{"a version with a suffix", `{owner: {spec: {version: v1.36.3+vendor.1}}}`},
	{"the ID of a VM that is there already", `{windows: {providerID: "vsphere://11111111-2222-3333-4444-555555555555"}}`},
}

var goodDeploymentRows = []row{
	{"labels of a MachineDeployment", `{owner: {metadata: {labels: {team: blue}},
	    spec: {template: {metadata: {labels: {team: blue}}}}}}`},
	{"a name of 63 characters", `{owner: {metadata: {name: the-name-of-this-machinedeployment-has-as-much-as-it-can-have-6}}}`},
	{"labels and annotations of what is made", `{made: {labels: {team: blue}, annotations: {example.com/team: blue}}}`},
	{"two at once", `{owner: {spec: {rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2,
	    maxUnavailable: 0}}}}}}`},
	{"a percentage at once", `{owner: {spec: {rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 10%}}}}}}`},
	{"names of machines", `{owner: {spec: {machineNaming: {template: "win-{{ .random }}"}}}}`},
	{"time to drain", `{owner: {spec: {template: {spec: {deletion: {nodeDrainTimeoutSeconds: 600}}}}}}`},
	{"a selector", `{owner: {spec: {selector: {matchLabels: {team: blue}}, template: {metadata: {labels: {team: blue}}}}}}`},
}
