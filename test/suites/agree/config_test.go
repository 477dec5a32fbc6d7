package agree

import "slices"

// configFiles are refused by the bootstrap controller: ConfigInvalid and OwnerNotSupported.
func configFiles() []file {
	return slices.Concat(
		files(byConfig, onVSphere, "", configKubeletRows...), files(byConfig, onVSphere, "", configNetworkRows...),
		files(byConfig, onVSphere, "", configSettingsRows...), files(byConfig, inAzure, "", configAzureRows...),
		files(byConfig, onVSphere, machine, configMachineRows...), files(byConfig, onVSphere, deployment, configDeploymentRows...),
	)
}

var configKubeletRows = []row{
	{"a flag of ours", `{config: {kubelet: {extraArgs: [{name: hostname-override, value: x}]}}}`},
	{"a flag that has a field", `{config: {kubelet: {extraArgs: [{name: max-pods, value: "5"}]}}}`},
	{"labels as a flag", `{config: {kubelet: {extraArgs: [{name: node-labels, value: a=b}]}}}`},
	{"a flag that is gone", `{config: {kubelet: {extraArgs: [{name: network-plugin, value: cni}]}}}`},
	{"a flag that is misspelt", `{config: {kubelet: {extraArgs: [{name: vmodul, value: x}]}}}`},
	{"a flag of the configuration", `{config: {kubelet: {extraArgs: [{name: event-burst, value: "5"}]}}}`},
	{"a flag of Linux", `{config: {kubelet: {extraArgs: [{name: runtime-cgroups, value: /x}]}}}`},
	{"one address for all", `{config: {kubelet: {extraArgs: [{name: node-ip, value: 10.0.0.1}]}}}`},
	{"a format that there is not", `{config: {kubelet: {extraArgs: [{name: logging-format, value: xml}]}}}`},
	{"an unknown gate", `{config: {kubelet: {featureGates: [{name: WinDRS, state: Enabled}]}}}`},
	{"a gate that is gone", `{config: {kubelet: {featureGates: [{name: CloudDualStackNodeIPs, state: Enabled}]}}}`},
	{"a gate to come", `{config: {kubelet: {featureGates: [{name: DefaultPodSysctls, state: Enabled}]}}}`},
	{"a gate that is locked", `{config: {kubelet: {featureGates: [{name: WinDSR, state: Disabled}]}}}`},
	{"a gate without what it needs", `{config: {kubelet: {featureGates: [{name: ClusterTrustBundleProjection, state: Enabled}]}}}`},
	{"a gate that others need", `{config: {kubelet: {featureGates: [{name: GracefulNodeShutdown, state: Disabled}]}}}`},
	{"a field of ours", `{config: {kubelet: {configuration: {providerID: x}}}}`},
	{"gates in the configuration", `{config: {kubelet: {configuration: {featureGates: {}}}}}`},
	{"an unknown field of the kubelet", `{config: {kubelet: {configuration: {containerLogMaxSiz: 1Mi}}}}`},
	{"a field with which it exits", `{config: {kubelet: {configuration: {singleProcessOOMKill: false}}}}`},
	{"a field without effect", `{config: {kubelet: {configuration: {cgroupDriver: systemd}}}}`},
	{"a field without its gate", `{config: {kubelet: {configuration: {cpuManagerPolicy: static}}}}`},
	{"text for a number of the kubelet", `{config: {kubelet: {configuration: {containerLogMaxFiles: three}}}}`},
	{"number for a text of the kubelet", `{config: {kubelet: {configuration: {containerLogMaxSize: 5}}}}`},
	{"no duration", `{config: {kubelet: {configuration: {streamingConnectionIdleTimeout: 5x}}}}`},
	{"one log file", `{config: {kubelet: {configuration: {containerLogMaxFiles: 1}}}}`},
	{"thresholds", `{config: {kubelet: {configuration: {imageGCLowThresholdPercent: 90}}}}`},
	{"pulls one after the other", `{config: {kubelet: {configuration: {maxParallelImagePulls: 5, serializeImagePulls: true}}}}`},
	{"a short grace", `{config: {kubelet: {configuration: {shutdownGracePeriod: 10s}}}}`},
	{"a soft eviction without time", `{config: {kubelet: {configuration: {evictionSoft: {memory.available: 1Gi}}}}}`},
	{"DNS by name", `{config: {kubelet: {configuration: {clusterDNS: [dns.example.com]}}}}`},
	{"all the memory", `{vm: {memoryMiB: 8192, cpus: 4}, config: {reservations: {system: {memory: 8Gi}}}}`},
	{"all the CPUs", `{vm: {memoryMiB: 8192, cpus: 4}, config: {reservations: {system: {cpu: "4"}}}}`},
}

var configNetworkRows = []row{
	{"AzureCNI in a vCenter", `{config: {network: {mode: L2Bridge, cni: AzureCNI, exceptionCIDRs: [10.1.0.0/16]}}}`},
	{"IPv6 only", `{cluster: {spec: {clusterNetwork: {pods: {cidrBlocks: ["fd00:1::/56"]},
	    services: {cidrBlocks: ["fd00:2::/112"]}}}}}`},
	{"IPv6 only in a mode", `{config: {network: {mode: L2Bridge, cni: Calico}},
	  cluster: {spec: {clusterNetwork: {pods: {cidrBlocks: ["fd00:1::/56"]}, services: {cidrBlocks: ["fd00:2::/112"]}}}}}`},
	{"both families in a tunnel", `{config: {network: {mode: Overlay, cni: Flannel}}, cluster: {spec: {clusterNetwork: {
	    pods: {cidrBlocks: [10.244.0.0/16, "fd00:1::/56"]}, services: {cidrBlocks: [10.96.0.0/12, "fd00:2::/112"]}}}}}`},
	{"no pods", `{config: {network: {mode: Overlay, cni: Flannel}}, cluster: {spec: {clusterNetwork: {pods: null}}}}`},
	{"no services", `{config: {network: {mode: Overlay, cni: Flannel}}, cluster: {spec: {clusterNetwork: {services: null}}}}`},
	{"pods among services", `{config: {network: {mode: Overlay, cni: Calico}},
	  cluster: {spec: {clusterNetwork: {services: {cidrBlocks: [10.244.8.0/24]}}}}}`},
	{"bits behind the prefix of services", `{config: {network: {mode: Overlay, cni: Calico}},
	  cluster: {spec: {clusterNetwork: {services: {cidrBlocks: [10.96.0.1/12]}}}}}`},
	{"few services", `{config: {network: {mode: Overlay, cni: Flannel}},
	  cluster: {spec: {clusterNetwork: {services: {cidrBlocks: [10.96.0.0/29]}}}}}`},
	{"DNS beside the services", `{config: {network: {mode: Overlay, cni: Flannel, clusterDNS: 10.0.0.10}}}`},
	{"a late start with Calico", `{config: {network: {mode: Overlay, cni: Calico}, kubelet: {start: AutomaticDelayed}}}`},
}

var configSettingsRows = []row{
	{"the file of a cloud in a vCenter", `{config: {node: {cloudConfigFile: Managed}}}`},
	{"no certificate", `{config: {windows: {trustedCertificates: [{name: a, contentFrom: {configMap: {name: files,
	    key: words}}}]}}}`},
	{"a broken certificate", `{config: {windows: {trustedCertificates: [{name: a, contentFrom: {secret: {name: files,
	    key: broken.crt}}}]}}}`},
	{"a broken certificate of a registry", `{config: {containerd: {registries: [{host: a.b, caFrom: {secret: {name: files,
	    key: broken.crt}}}]}}}`},
	{"a key that is cut off", `{config: {windows: {users: [{name: a, sshAuthorizedKeys: [ssh-ed25519 AAAA]}]}}}`},
	{"more than a guest can read", `{config: {custom: {files: [{path: 'C:\a', content: $NOISE}, {path: 'C:\b',
	    content: $NOISE}]}}}`},
	{"no kubeconfig", `{config: {discovery: {kubeconfigFrom: {secret: {name: files, key: words}}}}}`},
}

var configAzureRows = []row{
	{"more pods than addresses", `{config: {network: {mode: L2Bridge, cni: AzureCNI, exceptionCIDRs: [10.1.0.0/16]},
	    kubelet: {maxPods: 256}}}`},
	{"no network of the VMs", `{config: {network: {mode: L2Bridge, cni: AzureCNI}}}`},
	{"Transparent in Azure", `{config: {network: {mode: Transparent, cni: Antrea}}}`},
	{"IPv6 only", `{cluster: {spec: {clusterNetwork: {pods: {cidrBlocks: ["fd00:1::/56"]},
	    services: {cidrBlocks: ["fd00:2::/112"]}}}}}`},
	{"a flag of ours", `{config: {kubelet: {extraArgs: [{name: hostname-override, value: x}]}}}`},
}

var configMachineRows = []row{
	{"a control plane", `{owner: {metadata: {labels: {cluster.x-k8s.io/control-plane: ""}}}}`},
	{"an old version", `{owner: {spec: {version: v1.29.9}}}`},
	{"another Kubernetes", `{owner: {spec: {version: v2.36.0}}}`},
}

// configDeploymentRows skip a check, by which Cluster API itself would keep the machines of a MachineDeployment back.
var configDeploymentRows = []row{
	{"an old version", `{owner: {` + skipsCheck + `, spec: {template: {spec: {version: v1.29.9}}}}}`},
	{"another Kubernetes", `{owner: {` + skipsCheck + `, spec: {template: {spec: {version: v2.36.0}}}}}`},
}

const skipsCheck = `metadata: {annotations: {machineset.cluster.x-k8s.io/skip-preflight-checks: All}}`
