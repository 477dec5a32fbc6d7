package agree

import "slices"

// webhookFiles are refused by Cluster API's own webhooks.
func webhookFiles() []file {
	return slices.Concat(
		files(byWebhook, onVSphere, deployment, webhookDeploymentRows...),
		files(byWebhook, inAzure, deployment, webhookDeploymentRows[:4]...),
		files(byWebhook, onVSphere, machine, webhookMachineRows...), files(byWebhook, inAzure, machine, webhookMachineRows[:2]...),
		files(byWebhook, onVSphere, "", webhookClusterRows...),
	)
}

// webhookDeploymentRows are of a MachineDeployment. What is of another type is refused by the webhook that sets the defaults.
var webhookDeploymentRows = []row{
	{"another cluster", `{owner: {spec: {clusterName: other}}}`},
	{"a name of 70 characters", `{owner: {metadata: {name: $SEVENTY}}}`},
	{"no patch", `{owner: {spec: {template: {spec: {version: v1.36}}}}}`},
	{"a selector of others", `{owner: {spec: {selector: {matchLabels: {team: blue}}}}}`},
	{"a selector that is none", `{owner: {spec: {selector: {matchExpressions: [{key: a, operator: Sometimes, values: [b]}]}}}}`},
	{"a version in words", `{owner: {spec: {template: {spec: {version: newest}}}}}`},
	{"four numbers", `{owner: {spec: {template: {spec: {version: v1.36.3.4}}}}}`},
	{"unavailable in words", `{owner: {spec: {rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: none}}}}}}`},
	{"surge in words", `{owner: {spec: {rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: two}}}}}}`},
	{"a percentage without its sign", `{owner: {spec: {rollout: {strategy: {type: RollingUpdate,
	    rollingUpdate: {maxSurge: "50"}}}}}}`},
	{"no step", `{owner: {spec: {rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}}}}}`},
	{"in flight in words", `{owner: {spec: {remediation: {maxInFlight: some}}}}`},
	{"names that are all the same", `{owner: {spec: {machineNaming: {template: win-machine}}}}`},
	{"names without an end", `{owner: {spec: {machineNaming: {template: "win-{{ .random }}-{{"}}}}`},
	{"names in capitals", `{owner: {spec: {machineNaming: {template: "Win-{{ .random }}"}}}}`},
	{"a label with a blank", `{owner: {spec: {template: {metadata: {labels: {team: "a b"}}}}}}`},
	{"a label whose key has a blank", `{owner: {spec: {template: {metadata: {labels: {"the team": a}}}}}}`},
	{"a label that is too long", `{owner: {spec: {template: {metadata: {labels: {team: $LONG}}}}}}`},
	{"an annotation whose key has a blank", `{owner: {spec: {template: {metadata: {annotations: {"the team": a}}}}}}`},
	{"replicas as a text", `{owner: {spec: {replicas: "3"}}}`},
	{"a check that there is not", `{owner: {metadata: {annotations: {
	    machineset.cluster.x-k8s.io/skip-preflight-checks: Nonsense}}}}`},
}

var webhookMachineRows = []row{
	{"no patch", `{owner: {spec: {version: v1.36}}}`},
	{"a version in words", `{owner: {spec: {version: newest}}}`},
	{"four numbers", `{owner: {spec: {version: v1.36.3.4}}}`},
	{"a version with a leading zero", `{owner: {spec: {version: v1.036.3}}}`},
}

var webhookClusterRows = []row{
	{"a port of the cluster as a text", `{cluster: {spec: {controlPlaneEndpoint: {port: "6443"}}}}`},
	{"pods without a prefix", `{cluster: {spec: {clusterNetwork: {pods: {cidrBlocks: [10.244.0.0]}}}}}`},
	{"services in words", `{cluster: {spec: {clusterNetwork: {services: {cidrBlocks: [services]}}}}}`},
	{"a long prefix", `{cluster: {spec: {clusterNetwork: {pods: {cidrBlocks: [10.244.0.0/33]}}}}}`},
	{"neither infrastructure nor control plane", `{cluster: {spec: {infrastructureRef: null, controlPlaneRef: null}}}`},
}
