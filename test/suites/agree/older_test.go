package agree

import "slices"

// olderFiles have a kind of Cluster API in v1beta1, in which most clusters in git are written.
func olderFiles() []file {
	cluster := []row{{"a Cluster in v1beta1", `{cluster: {apiVersion: cluster.x-k8s.io/v1beta1, spec: {
	  infrastructureRef: {apiGroup: null, apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1},
	  controlPlaneRef: {apiGroup: null, apiVersion: controlplane.cluster.x-k8s.io/v1alpha1}}}}`}}
	return slices.Concat(
		eachOwner(good, onVSphere, cluster...),
		inOlder(good, deployment, row{"a MachineDeployment in v1beta1", ``}, row{"time to drain", `nodeDrainTimeout: 10m`}),
		inOlder(good, machine, row{"a Machine in v1beta1", ``}, row{"time to drain", `nodeDrainTimeout: 10m`}),
		inOlder(byWebhook, deployment, row{"no patch", `version: v1.36`}),
		inOlder(byWebhook, machine, row{"no patch", `version: v1.36`}),
		inOlder(bySchema, deployment, row{"time to drain in seconds", `nodeDrainTimeoutSeconds: 600`}),
		inOlder(bySchema, machine, row{"time to drain in seconds", `nodeDrainTimeoutSeconds: 600`}),
		inOlder(byConfig, deployment, row{"an old version", `version: v1.29.9`}),
		inOlder(byConfig, machine, row{"an old version", `version: v1.29.9`}),
	)
}

// inOlder are files whose owner is in v1beta1, with what is different in the spec of the Machine.
func inOlder(class class, owner string, rows ...row) []file {
	all := make([]file, 0, len(rows))
	for _, r := range rows {
		spec := `bootstrap: {configRef: {apiGroup: null, apiVersion: bootstrap.cluster.x-k8s.io/v1beta1}},
		  infrastructureRef: {apiGroup: null, apiVersion: infrastructure.cluster.x-k8s.io/v1beta1}`
		if r.different != "" {
			spec += ", " + r.different
		}
		f := file{row: row{r.name + " in v1beta1", `{owner: {apiVersion: cluster.x-k8s.io/v1beta1, spec: {` + spec + `}}}`}}
		f.class, f.cloud, f.owner, f.always = class, onVSphere, owner, true
		if owner == deployment {
			f.different = `{owner: {apiVersion: cluster.x-k8s.io/v1beta1, ` + skipsCheck +
				`, spec: {selector: {matchLabels: {}}, template: {spec: {` + spec + `}}}}}`
		}
		all = append(all, f)
	}
	return all
}
