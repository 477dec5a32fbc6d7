package objects

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capi "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	aConfig = "bootstrap: {dataSecretName: a}"
	// leastOfMany is the least that Cluster API takes of what makes machines, and leastOfOne of a machine.
	leastOfMany = "clusterName: a, template: {spec: {clusterName: a, " + aConfig + "}}"
	leastOfOne  = "clusterName: a, " + aConfig
	aReference  = "infrastructureRef: {apiGroup: b, kind: C, name: d}"
	aSelector   = "clusterName: a, selector: {matchLabels: {a: b}}"

	autoscaler = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
	skipped    = "machineset.cluster.x-k8s.io/skip-preflight-checks"
)

// refusedHere are the sentences about an object with such metadata and spec, or why it cannot be read.
func refusedHere(t *testing.T, kind, meta, spec string) string {
	t.Helper()
	const version = "v1beta2"
	text := "{apiVersion: cluster.x-k8s.io/v1beta2, kind: " + kind + ", metadata: {name: a" + meta + "}, spec: {" + spec + "}}"
	data := expect.Got(yaml.YAMLToJSON([]byte(text)))(t)
	filled, err := webhooksByKind[kind].fill(version, data)
	if err != nil {
		return err.Error()
	}
	_, refused, err := webhooksByKind[kind].admit(version, expect.Got(json.Marshal(filled))(t))
	expect.OK(t, err)
	var sentences []string
	for _, refusal := range refused {
		sentences = append(sentences, refusal.Field+": "+refusal.Detail)
	}
	return strings.Join(sentences, "; ")
}

// TestOurWordsForWebhooks: what the webhooks of Cluster API refuse is reported in our words, and each mistake once.
func TestOurWordsForWebhooks(t *testing.T) {
	t.Parallel()
	machines := []string{"MachineSet", "MachineDeployment"} // which they select
	many := append([]string{"MachinePool"}, machines...)
	deployment, machine, check := machines[1:], []string{"Machine"}, []string{"MachineHealthCheck"}
	inTemplate := func(more string) string { return strings.Replace(leastOfMany, aConfig, aConfig+", "+more, 1) }
	named := func(template string) string { return leastOfMany + ", machineNaming: {template: '" + template + "'}" }
	rolled := func(how string) string { return leastOfMany + ", rollout: {strategy: {rollingUpdate: {" + how + "}}}" }
	sized := func(least, most string) string {
		return ", annotations: {" + autoscaler + "min-size: '" + least + "', " + autoscaler + "max-size: '" + most + "'}"
	}
	const noOperator = "selector: {matchExpressions: [{key: a, operator: Is}]}"
	const noNumber, noShare = " must be a whole number", ": must be a whole number, or a percentage such as 20%"
	const taints = "taints: [{key: node.cluster.x-k8s.io/uninitialized, effect: NoSchedule, propagation: Always}]"
	const taintsAreOff = "spec.taints: Cluster API's feature gate MachineTaintPropagation is off; a WindowsBootstrapConfig has " +
		"spec.node.taints"
	const version, selector = "spec.version: must be a full version, such as v1.36.3", "spec.selector: must be a selector of labels"
	const roll, names = "spec.rollout.strategy.rollingUpdate", "spec.machineNaming.template: must "
	const goodName = names + "give names of lower case letters, digits, - and ."
	inside := func(sentence string) string { return strings.Replace(sentence, "spec.", "spec.template.spec.", 1) }
	for _, c := range []struct {
		kinds      []string
		meta, spec string
		sentences  string
	}{
		{many, "", leastOfMany, ""},
		{machine, "", leastOfOne, ""},
		{many, "", strings.Replace(leastOfMany, aConfig, "", 1), "spec.template.spec.bootstrap: "},
		{machine, "", "clusterName: a", "spec.bootstrap: "},
		{
			many, "", strings.Replace(leastOfMany, "clusterName: a", "clusterName: b", 1),
			"spec.clusterName: spec.clusterName and spec.template.spec.clusterName must be the same",
		},
		{machine, "", leastOfOne + ", version: v1.36", version},
		{many, "", inTemplate("version: vv1.36.3"), inside(version)},
		{machine, "", leastOfOne + ", " + taints, taintsAreOff},
		{machines, "", inTemplate(taints), inside(taintsAreOff)},
		{machines[:1], "", leastOfMany + ", " + noOperator, selector},
		{machines, ", annotations: {" + skipped + ": 'KubeadmVersionSkew, ControlPlaneIsStable'}", leastOfMany, ""},
		{
			machines, ", annotations: {" + skipped + ": 'All,Some'}", leastOfMany, "metadata.annotations." + skipped + ": must be one " +
				"of All, KubeadmVersionSkew, KubernetesVersionSkew, ControlPlaneIsStable, ControlPlaneVersionSkew",
		},
		{many, sized("2", "3"), leastOfMany, ""},
		{many, sized("few", "3"), leastOfMany, "the annotation " + autoscaler + "min-size" + noNumber},
		{many, sized("2", "many"), leastOfMany, "the annotation " + autoscaler + "max-size" + noNumber},
		{many, sized("2147483648", "2147483648"), leastOfMany, "the annotation " + autoscaler + "min-size" + noNumber},
		{machines, "", named("{{ .cluster.name | print }}-{{ .machineSet.name }}-{{ .random }}"), ""},
		{machines, "", named("{{ range 9999999999999 }}{{ end }}{{ .random }}"), ""}, // it is not carried out
		{machines, "", named("{{ .cluster.name }}"), names + "have {{ .random }}, or all names are the same"},
		{machines, "", named("A-{{ .random }}"), goodName},
		{machines, "", named("{{ .random }}-"), goodName},
		{machines, "", named("{{ .random }}{{ .cluster.name"), names + "be a template: a {{ has no }}"},
		{machines, "", named("win-{{ .random }}-{{"), names + "be a template: a {{ has no }}"},
		{deployment, "", rolled("maxSurge: 0, maxUnavailable: 0"), roll + ": maxSurge and maxUnavailable must not both be 0"},
		{
			deployment, "", rolled("maxSurge: few, maxUnavailable: some"),
			roll + ".maxUnavailable" + noShare + "; " + roll + ".maxSurge" + noShare,
		},
		{deployment, "", leastOfMany + ", remediation: {maxInFlight: few}", "spec.remediation.maxInFlight" + noShare},

		{check, "", aSelector, ""},
		{check, "", "clusterName: a", "spec.selector: "},
		{check, "", "clusterName: a, " + noOperator, selector},
		{
			check, "", "clusterName: a, selector: {matchLabels: {cluster.x-k8s.io/cluster-name: b}}", "spec.selector: must select " +
				"machines of spec.clusterName, not of another Cluster",
		},
		{
			check, "", aSelector + ", checks: {nodeStartupTimeoutSeconds: 29}", "spec.checks.nodeStartupTimeoutSeconds: must be at " +
				"least 30, or 0 for no limit",
		},
		{
			check, "", aSelector + ", remediation: {triggerIf: {unhealthyLessThanOrEqualTo: few}}",
			"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo" + noShare,
		},
	} {
		for _, kind := range c.kinds {
			expect.Same(t, kind+" with "+c.meta+c.spec, c.sentences, refusedHere(t, kind, c.meta, c.spec))
		}
	}
}

// TestLikeTheWebhookOfClusters: of a Cluster without a topology, Cluster API refuses the same fields.
func TestLikeTheWebhookOfClusters(t *testing.T) {
	t.Parallel()
	networks := func(pods, services string) string {
		return aReference + ", clusterNetwork: {pods: {cidrBlocks: [" + pods + "]}, services: {cidrBlocks: [" + services + "]}}"
	}
	long := strings.Repeat("a", 64)
	for name, specs := range map[string][]string{
		"a": {
			aReference, "controlPlaneRef: {apiGroup: b, kind: C, name: d}", "paused: true", networks("10.0.0.0/16", "'fd00::/64'"),
			networks("10.0.0.0/16, 10.0.0.0", "fd00"),
		},
		long: {aReference},
	} {
		for _, spec := range specs {
			cluster := &clusterv1.Cluster{}
			cluster.Name = name
			expect.OK(t, yaml.Unmarshal([]byte("{"+spec+"}"), &cluster.Spec))
			_, err := (&capi.Cluster{}).ValidateCreate(context.Background(), cluster)
			var wanted, got []string
			for _, cause := range Causes(err) {
				wanted = append(wanted, cause.Path)
			}
			for _, refusal := range refuseCluster(cluster) {
				got = append(got, refusal.Field)
			}
			slices.Sort(wanted)
			expect.Same(t, name+" with "+spec, wanted, got)
		}
	}
}
