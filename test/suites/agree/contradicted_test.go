package agree

import "slices"

// contradictedFiles contradict themselves, or have names that give something away. The cluster takes the first ones, and what
// comes
// of them is a hold or a word of the cloud: the plugin notes them, and must not refuse. The others are refused by schemas.
func contradictedFiles() []file {
	return slices.Concat(
		files(good, onVSphere, "", contradictedVSphereRows...), files(good, inAzure, "", contradictedAzureRows...),
		files(bySchema, onVSphere, deployment, oldDeploymentRows...), files(bySchema, onVSphere, machine, oldMachineRows...),
		files(bySchema, onVSphere, "", typedSecretRows...),
	)
}

var contradictedVSphereRows = []row{
	{"a Cluster in Azure", `{cluster: {spec: {infrastructureRef: {kind: AzureCluster}}}}`},
	{"a control plane of RKE2", `{cluster: {spec: {controlPlaneRef: {kind: RKE2ControlPlane}}}}`},
	{"a control plane of Talos", `{cluster: {spec: {controlPlaneRef: {kind: TalosControlPlane}}}}`},
	{"a control plane of AKS", `{cluster: {spec: {controlPlaneRef: {kind: AzureManagedControlPlane}}}}`},
	{"a template as the control plane", `{cluster: {spec: {controlPlaneRef: {kind: KubeadmControlPlaneTemplate}}}}`},
	{"a template of another version", `{vm: {image: {template: windows-2022-kube-v1.34.1}}}`},
	{"a template of Linux", `{vm: {image: {template: ubuntu-2204-kube-v1.36.3}}}`},
	{"a folder with backslashes", `{vm: {folder: 'dc0\vm\windows'}}`},
	{"a datastore with a path of files", `{vm: {datastore: "[ssd1] windows"}}`},
	{"a pool of another datacenter", `{vm: {resourcePool: /dc9/host/c1/Resources}}`},
}

var contradictedAzureRows = []row{
	{"a Cluster on vSphere", `{cluster: {spec: {infrastructureRef: {kind: VSphereCluster}}}}`},
	{"a size with Arm processors", `{vm: {vmSize: Standard_D2ps_v5}}`},
	{"a confidential size", `{vm: {vmSize: Standard_DC4as_v5}}`},
	{"the newest version of an image", `{vm: {image: {id: null, computeGallery: {gallery: capwin, name: windows-2022,
	    resourceGroup: $NETWORK, subscriptionID: $SUBSCRIPTION}}}}`},
}

// oldDeploymentRows and oldMachineRows have names of v1beta1 in v1beta2.
var oldDeploymentRows = []row{
	{"the old time to drain", `{owner: {spec: {template: {spec: {nodeDrainTimeout: 10m}}}}}`},
	{"the old time to detach", `{owner: {spec: {template: {spec: {nodeVolumeDetachTimeout: 10m}}}}}`},
	{"the old strategy", `{owner: {spec: {strategy: {type: RollingUpdate}}}}`},
	{"the old place of minReadySeconds", `{owner: {spec: {minReadySeconds: 10}}}`},
	{"the old deadline", `{owner: {spec: {progressDeadlineSeconds: 600}}}`},
	{"the old limit of revisions", `{owner: {spec: {revisionHistoryLimit: 1}}}`},
	{"the old names of machines", `{owner: {spec: {machineNamingStrategy: {template: "win-{{ .random }}"}}}}`},
	{"the old time of a rollout", `{owner: {spec: {rolloutAfter: "2026-01-01T00:00:00Z"}}}`},
	{"the old reference", `{owner: {spec: {template: {spec: {infrastructureRef: {
	    apiVersion: infrastructure.cluster.x-k8s.io/v1beta1}}}}}}`},
	{"a group with a version", `{owner: {spec: {template: {spec: {infrastructureRef: {
	    apiGroup: infrastructure.cluster.x-k8s.io/v1beta1}}}}}}`},
}

var oldMachineRows = []row{
	{"the old time to delete", `{owner: {spec: {nodeDeletionTimeout: 10s}}}`},
	{"the old reference", `{owner: {spec: {bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1}}}}}`},
	{"the old namespace of a reference", `{owner: {spec: {infrastructureRef: {namespace: default}}}}`},
	{"the old class", `{cluster: {spec: {topology: {class: windows, version: v1.36.3}}}}`},
}

// typedSecretRows have a Secret of a type without the keys of that type.
var typedSecretRows = []row{
	{"a Secret of a certificate", `{more: [{apiVersion: v1, kind: Secret, metadata: {name: login}, type: kubernetes.io/tls,
	    stringData: {username: a}}]}`},
	{"a Secret of a key", `{more: [{apiVersion: v1, kind: Secret, metadata: {name: login}, type: kubernetes.io/ssh-auth,
	    stringData: {username: a}}]}`},
	{"a Secret of a user", `{more: [{apiVersion: v1, kind: Secret, metadata: {name: login}, type: kubernetes.io/basic-auth,
	    stringData: {user: a}}]}`},
	{"a Secret of a registry", `{more: [{apiVersion: v1, kind: Secret, metadata: {name: login},
	    type: kubernetes.io/dockerconfigjson, stringData: {username: a}}]}`},
}
