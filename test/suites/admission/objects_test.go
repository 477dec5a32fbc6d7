package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Specs with every field, each with a valid value.
const (
	vsphereSpec = `{providerID: "vsphere://11111111-2222-3333-4444-555555555555",
	  identityRef: {kind: Secret, name: vcenter}, vsphere: {datacenter: dc, image: {template: win2022, setup: CloudbaseInit}, 
	  folder: nodes, resourcePool: pool, datastore: store,
	  networkInterfaces: [{name: node, network: VM Network, addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io,
	  kind: InClusterIPPool, name: nodes}], nameservers: [10.0.0.2], routes: [{to: 10.9.0.0/16, via: 10.0.0.9}], mtu: 1450}],
	  cpus: 4, coresPerSocket: 1, memoryMiB: 8192,
	  nestedVirtualization: Enabled}}`
	azureGroup = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/group"
	azureImage = azureGroup + "/providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/1.0.0"
	configSpec = `{bootstrapDeadlineSeconds: 7200, discovery: {kubeconfigFrom: {secret: {name: a, key: a}}}, 
	  kubelet: {maxPods: 50, cloudProvider: External, extraArgs: [{name: logging-format, value: json}],
	  featureGates: [{name: WindowsCPUAndMemoryAffinity, state: Enabled}], priorityClass: AboveNormal, start: Automatic,
	  serverCertificates: SelfSigned, systemLogQuery: Enabled,
	  log: {verbosity: 2, directory: 'C:\logs', maxSizeMiB: 50, maxAgeHours: 168},
	  configuration: {containerLogMaxSize: 20Mi}}, reservations: {system: {cpu: "1", memory: 2Gi, ephemeralStorage: 1Gi},
	  kube: {cpu: 500m, memory: 1Gi, ephemeralStorage: 1Gi}, eviction: {memoryAvailable: 500Mi, nodefsAvailable: 10%,
	  imagefsAvailable: 15%}, lowMemoryPolicy: Allow},
	  node: {labels: {example.com/pool: win}, cloudConfigFile: Managed,
	  taints: [{key: os, value: windows, effect: NoSchedule}]}, network: {mode: Overlay, cni: Flannel, interface: Ethernet0,
	  hnsNetworkName: flannel.4096, vni: 4096, exceptionCIDRs: [192.168.0.0/16], clusterDNS: 10.96.0.10,
	  nodePorts: {first: 30000, last: 32767}, dynamicPorts: {first: 34000, last: 65535},
	  firewall: [{name: metrics, protocol: TCP, ports: {first: 9100, last: 9200}}],
	  kubeProxy: {run: Service, dsr: Enabled}, flannel: {run: Service}}, ` + settingsSpec + `}`
)

// azureStatus has a placement in Azure, which a real machine on vSphere does not have.
const azureStatus = `{cloud: AzurePublicCloud, tenantID: ` + guid + `, subscriptionID: ` + guid + `, resourceGroup: nodes,
	  location: westeurope, subnetIDs: [` + subnet + `], securityGroupID: ` + securityGroup + `, routeTableID: ` + routeTable + `,
	  loadBalancerName: blue, outboundPoolID: ` + outboundPool + `, failureDomains: ["1"], tags: {pool: blue},
	  identity: {namespace: default, name: blue}, imageVersion: 1.36.2, vmID: ` + guid + `,
	  disks: [{name: d, uniqueID: u}], networkInterfaces: [{name: nic, uniqueID: u}],
	  publicIPAddresses: [{name: ip, uniqueID: u}]}`

// What a placement refers to.
const (
	azureNetwork  = "/subscriptions/" + guid + "/resourceGroups/net/providers/Microsoft.Network/"
	subnet        = azureNetwork + "virtualNetworks/vnet/subnets/nodes"
	securityGroup = azureNetwork + "networkSecurityGroups/nodes-nsg"
	routeTable    = azureNetwork + "routeTables/nodes-routes"
	outboundPool  = azureNetwork + "loadBalancers/blue/backendAddressPools/out"
)

// Statuses with every field that has limits.
const (
	machineStatus = `{observedGeneration: 1, phase: Running, computerName: win-1, nodeName: win-1, windowsBuild: "20348.1",
	  windowsUpdated: "2026-09-18",
	  failureDomain: az1, initialization: {provisioned: true}, bootstrap: {state: Running, phase: 1/5 files, step: a, reason: R,
	  message: m, elapsedSeconds: 1, lastLines: [line], warnings: [warning], durations: [{phase: prepare, seconds: 3}]},
	  lastBoot: {state: Succeeded, reason: R, message: m}, networkInterfaces: [{name: node,
	  macAddress: "00:50:56:00:00:05", addresses: [{address: 10.0.0.5/24, gateway: 10.0.0.1}]}],
	  vsphere: {reference: vm-1, folder: group-v3}, azure: ` + azureStatus + `}`
	templateStatus = `{capacity: {cpu: "4"}, nodeInfo: {architecture: amd64, operatingSystem: windows}}`
	configStatus   = `{observedGeneration: 1, dataSecretName: secret, initialization: {dataSecretCreated: true}}`
)

// kinds are the objects for the cases. Templates have the same spec, nested more deeply.
var kinds = map[string]func() *unstructured.Unstructured{
	"WindowsMachine": func() *unstructured.Unstructured {
		return object("infrastructure", "WindowsMachine", "{spec: "+vsphereSpec+", status: "+machineStatus+"}")
	},
	"WindowsMachineTemplate": func() *unstructured.Unstructured {
		made := object("infrastructure", "WindowsMachineTemplate",
			"{spec: {template: {metadata: {labels: {a: b}}, spec: "+vsphereSpec+"}}, status: "+templateStatus+"}")
		set(made.Object, "spec.template.spec.providerID", absent)
		return made
	},
	"WindowsBootstrapConfig": func() *unstructured.Unstructured {
		return object("bootstrap", "WindowsBootstrapConfig", "{spec: "+configSpec+", status: "+configStatus+"}")
	},
	"WindowsBootstrapConfigTemplate": func() *unstructured.Unstructured {
		return object("bootstrap", "WindowsBootstrapConfigTemplate",
			"{spec: {template: {metadata: {labels: {a: b}}, spec: "+configSpec+"}}}")
	},
}

// newObject returns a valid object of the kind, with all fields of vSphere.
func newObject(kind string) *unstructured.Unstructured { return kinds[kind]() }

// newObjectFor returns a valid object of the kind that has the field. It is in Azure if the field is one of Azure.
func newObjectFor(kind, field string) *unstructured.Unstructured {
	made := newObject(kind)
	if strings.HasPrefix(field, "spec.azure") {
		set(made.Object, in(kind, "spec"), parse(azureSpec))
	}
	setAll(made, below("spec.azure", variantOf(field).edits))
	if parent, _, ok := strings.Cut(field, ".contentFrom"); ok {
		setAll(made, map[string]any{parent + ".content": absent, parent + ".contentFrom": source(field)})
	}
	if strings.HasPrefix(field, "spec.containerd.registries[].caFrom.configMap") {
		setAll(made, map[string]any{"spec.containerd.registries[].caFrom": source(field)})
	}
	return made
}

// in returns the path of a spec's field in an object of the kind: templates have the spec under spec.template.
func in(kind, field string) string {
	rest, ok := strings.CutPrefix(field, "spec")
	if !ok || !strings.HasSuffix(kind, "Template") || strings.HasPrefix(field, "spec.template") {
		return field
	}
	return "spec.template.spec" + rest
}

func parse(content string) map[string]any {
	fields := map[string]any{}
	// A case that does not parse is an error in the test.
	if err := yaml.Unmarshal([]byte(content), &fields); err != nil {
		panic(fmt.Sprintf("%v in %s", err, content))
	}
	return fields
}

// absent stands for a field without a value.
var absent = struct{ absent string }{"absent"}

// set writes a value to a field such as spec.node.labels[].name; [] is the first item of a list.
func set(fields map[string]any, field string, value any) {
	name, rest, more := strings.Cut(field, ".")
	list, isItem := strings.CutSuffix(name, "[]")
	switch {
	case !more && isItem:
		fields[list] = []any{value}
	case !more && value == any(absent):
		delete(fields, name)
	case !more:
		fields[name] = value
	case isItem:
		items, _ := fields[list].([]any)
		item, _ := items[0].(map[string]any)
		set(item, rest, value)
	default:
		child, _ := fields[name].(map[string]any)
		if child == nil {
			child = map[string]any{}
			fields[name] = child
		}
		set(child, rest, value)
	}
}

// setAll makes several edits, in the order of the fields' names.
func setAll(made *unstructured.Unstructured, edits map[string]any) *unstructured.Unstructured {
	for _, field := range slices.Sorted(maps.Keys(edits)) {
		set(made.Object, in(made.GetKind(), field), edits[field])
	}
	return made
}
