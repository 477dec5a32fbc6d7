package agree

import (
	"fmt"
	"slices"
	"strings"
)

// schemaFiles are refused by the API server: by a schema, a rule in CEL, or a name that it does not take.
func schemaFiles() []file {
	return slices.Concat(
		files(bySchema, onVSphere, "", schemaConfigRows...), files(bySchema, onVSphere, "", schemaTypeRows...),
		files(bySchema, onVSphere, "", schemaVSphereRows...), files(bySchema, inAzure, "", schemaAzureRows...),
		files(bySchema, onVSphere, machine, schemaMachineRows...), files(bySchema, onVSphere, deployment, schemaDeploymentRows...),
		files(bySchema, inAzure, deployment, row{"the ID of a VM in a template", idInAzure}),
		eachOwner(bySchema, onVSphere,
			row{"a configuration of 70 KiB", `{config: {kubelet: {configuration: {staticPodPath: ` + strings.Repeat("x", 70<<10) + `}}}}`},
			row{"files of 120 KiB", `{config: {custom: {files: [` + largeFiles(4) + `]}}}`}),
	)
}

// largeFiles are this many files of 30 KiB.
func largeFiles(count int) string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf(`{path: 'C:\a%d', content: %s}`, i, strings.Repeat("x", 30<<10)))
	}
	return strings.Join(all, ", ")
}

// schemaConfigRows break a rule in CEL of a WindowsBootstrapConfig.
var schemaConfigRows = []row{
	{"Linux file", `{config: {custom: {files: [{path: /etc/app.conf, content: a}]}}}`},
	{"two contents", `{config: {custom: {files: [{path: 'C:\a', content: a, contentFrom: {secret: {name: files, key: words}}}]}}}`},
	{"reserved path", `{config: {custom: {files: [{path: 'C:\k\kubelet.exe', content: a}]}}}`},
	{"a path twice", `{config: {custom: {files: [{path: 'C:\a', content: a}, {path: 'c:\A', content: b}]}}}`},
	{"a Secret for all", `{config: {custom: {files: [{path: 'C:\a', access: Inherited, contentFrom: {secret: {name: files,
	    key: words}}}]}}}`},
	{"no content", `{config: {custom: {preJoin: [{name: a}]}}}`},
	{"half a reference", `{config: {custom: {postJoin: [{name: a, contentFrom: {secret: {name: files}}}]}}}`},
	{"scripts that take too long", `{config: {custom: {preJoin: [{name: a, content: a, timeoutSeconds: 3600}]}}}`},
	{"a late start after scripts", `{config: {kubelet: {start: AutomaticDelayed}, custom: {everyBoot: [{name: a, content: a}]}}}`},
	{"a registry with its scheme", `{config: {containerd: {registries: [{host: "https://docker.io",
	    credentialsRef: {name: files}}]}}}`},
	{"a registry of nothing", `{config: {containerd: {registries: [{host: docker.io}]}}}`},
	{"credentials for all", `{config: {containerd: {registries: [{host: _default, credentialsRef: {name: files}}]}}}`},
	{"a mirror without its scheme", `{config: {containerd: {registries: [{host: docker.io,
	    mirrors: [{url: mirror.example.com}]}]}}}`},
	{"a short image", `{config: {containerd: {pauseImage: "pause:3.10"}}}`},
	{"an image of Docker", `{config: {containerd: {prepullImages: [nginx]}}}`},
	{"dashes", `{config: {kubelet: {extraArgs: [{name: --v, value: "4"}]}}}`},
	{"half a pair", `{config: {kubelet: {extraArgs: [{name: image-credential-provider-bin-dir, value: 'C:\a'}]}}}`},
	{"a gate in small letters", `{config: {kubelet: {featureGates: [{name: nodeLogQuery, state: Enabled}]}}}`},
	{"a query without its gate", `{config: {kubelet: {systemLogQuery: Enabled, featureGates: [{name: NodeLogQuery,
	    state: Disabled}]}}}`},
	{"a log of Linux", `{config: {kubelet: {log: {directory: /var/log}}}}`},
	{"no mode", `{config: {network: {vni: 4096}}}`},
	{"a CNI of another mode", `{config: {network: {mode: Overlay, cni: Antrea}}}`},
	{"a VNI of Calico", `{config: {network: {mode: Overlay, cni: Calico, vni: 4096}}}`},
	{"a name for Antrea", `{config: {network: {mode: Transparent, cni: Antrea, hnsNetworkName: a}}}`},
	{"exceptions of Calico", `{config: {network: {mode: L2Bridge, cni: Calico, exceptionCIDRs: [10.0.0.0/8]}}}`},
	{"flanneld of Calico", `{config: {network: {mode: Overlay, cni: Calico, flannel: {run: External}}}}`},
	{"DSR of a DaemonSet", `{config: {network: {mode: Overlay, cni: Flannel, kubeProxy: {run: DaemonSet, dsr: Enabled}}}}`},
	{"bits behind the prefix", `{config: {network: {mode: L2Bridge, cni: Flannel, exceptionCIDRs: [10.0.0.1/8]}}}`},
	{"ports that overlap", `{config: {network: {mode: None, dynamicPorts: {first: 32000, last: 65535}}}}`},
	{"ports the wrong way", `{config: {network: {mode: None, firewall: [{name: a, protocol: TCP, ports: {first: 9, last: 8}}]}}}`},
	{"a rule of ours", `{config: {network: {mode: None, firewall: [{name: kubelet, protocol: TCP, ports: {first: 9}}]}}}`},
	{"a label of Kubernetes", `{config: {node: {labels: {kubernetes.io/os: linux}}}}`},
	{"a taint of Cluster API", `{config: {node: {taints: [{key: node.cluster.x-k8s.io/uninitialized, effect: NoSchedule}]}}}`},
	{"memory in GB", `{config: {reservations: {system: {memory: 2GB}}}}`},
	{"little memory", `{config: {reservations: {system: {memory: 1Gi}}}}`},
	{"a zone of the IANA", `{config: {windows: {timeZone: Europe/Berlin}}}`},
	{"a proxy with a password", `{config: {windows: {proxy: {http: "http://user:s3cret@proxy:3128"}}}}`},
	{"a star", `{config: {windows: {proxy: {http: "http://proxy:3128", noProxy: ["*.local"]}}}}`},
	{"exceptions of no proxy", `{config: {windows: {proxy: {noProxy: [.local]}}}}`},
	{"a user of Windows", `{config: {windows: {users: [{name: Administrator, sshAuthorizedKeys: [$KEY]}]}}}`},
	{"a user twice", `{config: {windows: {users: [{name: a, sshAuthorizedKeys: [$KEY]}, {name: A, sshAuthorizedKeys: [$KEY]}]}}}`},
	{"half a domain", `{config: {windows: {domain: {name: corp.example.com}}}}`},
	{"a format without a letter", `{config: {windows: {dataDrive: {format: IfEmpty}}}}`},
	{"a size without a policy", `{config: {windows: {pageFile: {sizeMiB: 4096}}}}`},
	{"braces", `{config: {windows: {gmsaPlugin: {classID: '{11111111-2222-3333-4444-555555555555}'}}}}`},
	{"a private key", `{config: {windows: {trustedCertificates: [{name: a,
	    content: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"}]}}}`},
}

// schemaTypeRows have a value of another type, an unknown name, or too much.
var schemaTypeRows = []row{
	{"text for a number", `{config: {kubelet: {maxPods: "110"}}}`},
	{"number for a text", `{config: {kubelet: {extraArgs: [{name: v, value: 4}]}}}`},
	{"a flag without its value", `{config: {kubelet: {extraArgs: [{name: logging-format}]}}}`},
	{"map for a list", `{config: {kubelet: {extraArgs: {max-pods: "50"}}}}`},
	{"text for a list", `{config: {windows: {ntpServers: time.example.com}}}`},
	{"text for an object", `{config: {network: {mode: None, nodePorts: 30000-32767}}}`},
	{"true for a word", `{config: {containerd: {hyperVIsolation: true}}}`},
	{"a word in small letters", `{config: {network: {mode: overlay, cni: Flannel}}}`},
	{"a mode of others", `{config: {network: {mode: NAT}}}`},
	{"no effect", `{config: {node: {taints: [{key: os}]}}}`},
	{"too many pods", `{config: {kubelet: {maxPods: 70000}}}`},
	{"a port that is none", `{config: {network: {mode: None, nodePorts: {first: 70000}}}}`},
	{"an unknown field", `{config: {kubelet: {kubeletExtraArgs: []}}}`},
	{"an unknown field deep inside", `{config: {custom: {files: [{path: 'C:\a', content: a, permissions: a}]}}}`},
	{"an unknown field of CABPK", `{config: {preKubeadmCommands: [a]}}`},
	{"an item twice", `{config: {custom: {preJoin: [{name: a, content: a}, {name: a, content: b}]}}}`},
	{"a registry twice", `{config: {containerd: {registries: [{host: a.b, credentialsRef: {name: files}}, {host: a.b,
	    credentialsRef: {name: files}}]}}}`},
}

var schemaVSphereRows = []row{
	{"one CPU", `{vm: {cpus: 1}}`},
	{"odd memory", `{vm: {memoryMiB: 8191}}`},
	{"cores without CPUs", `{vm: {coresPerSocket: 2}}`},
	{"no datacenter", `{vm: {datacenter: null}}`},
	{"no login", `{windows: {identityRef: null}}`},
	{"an identity of Azure", `{windows: {identityRef: {kind: AzureClusterIdentity}}}`},
	{"two clouds", `{windows: {azure: {vmSize: Standard_D4s_v5}}}`},
	{"no cloud", `{windows: {vsphere: null}}`},
	{"an adapter of Windows", `{vm: {networkInterfaces: [{name: ethernet0, network: VM Network}]}}`},
	{"an adapter twice", `{vm: {networkInterfaces: [{name: node, network: VM Network}, {name: node, network: DC0_DVPG0}]}}`},
	{"name servers by DHCP", `{vm: {networkInterfaces: [{name: node, network: VM Network, nameservers: [10.0.0.2]}]}}`},
	{"a name of CAPV", `{vm: {numCPUs: 4}}`},
	{"blanks around", `{vm: {folder: " windows"}}`},
}

var schemaAzureRows = []row{
	{"no size", `{vm: {vmSize: null}}`},
	{"a location for people", `{vm: {location: West Europe}}`},
	{"a size twice", `{vm: {fallbackVMSizes: [Standard_D4s_v5]}}`},
	{"a price without spot", `{vm: {spot: {maxPrice: "0.25"}}}`},
	{"a number as a price", `{vm: {priority: Spot, spot: {maxPrice: 0.25}}}`},
	{"two images", `{vm: {image: {communityGallery: {gallery: a, name: b}}}}`},
	{"half an image", `{vm: {image: {id: null, computeGallery: {gallery: a}}}}`},
	{"another ID", `{vm: {networkInterfaces: [{name: node, subnet: {id: $FIREWALL}}]}}`},
	{"a public address beside one of its own", `{vm: {networkInterfaces: [{name: node, subnet: {id: $SUBNET}, publicIP: Enabled,
	    privateAddress: 10.1.0.5}]}}`},
	{"reserved tags", `{vm: {additionalTags: {azure-team: a}}}`},
	{"a tag with a slash", `{vm: {additionalTags: {a/b: a}}}`},
	{"a zone as a number", `{vm: {zones: [1]}}`},
	{"secure boot of nothing", `{vm: {securityProfile: {secureBoot: Enabled}}}`},
	{"a list of identities of the system", `{vm: {identities: {type: SystemAssigned, userAssigned: [$IDENTITY]}}}`},
	{"a disk named os", `{vm: {dataDisks: [{name: os, sizeGiB: 8}]}}`},
	{"a slot twice", `{vm: {dataDisks: [{name: a, sizeGiB: 8, lun: 1}, {name: b, sizeGiB: 8, lun: 1}]}}`},
	{"hotpatch by hand", `{vm: {windows: {hotpatch: Enabled, patchMode: Manual}}}`},
}

var schemaMachineRows = []row{
	{"an ID in capitals", `{windows: {providerID: "vsphere://4200AA11-2222-3333-4444-555555555555"}}`},
	{"an ID of another cloud", `{windows: {providerID: "aws:///a/b"}}`},
	{"no cluster", `{owner: {spec: {clusterName: null}}}`},
	{"no infrastructure", `{owner: {spec: {infrastructureRef: null}}}`},
	{"an unknown field of a Machine", `{owner: {spec: {versions: v1.36.3}}}`},
}

var schemaDeploymentRows = []row{
	{"less than none", `{owner: {spec: {replicas: -1}}}`},
	{"an unknown field of a MachineDeployment", `{owner: {spec: {selectr: {}}}}`},
	{"an ID in a template", `{windows: {providerID: "vsphere://11111111-2222-3333-4444-555555555555"}}`},
	{"pods of no range", `{cluster: {spec: {clusterNetwork: {pods: {cidrBlocks: []}}}}}`},
}
