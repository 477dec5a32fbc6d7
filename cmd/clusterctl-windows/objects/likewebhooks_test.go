package objects

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	theirs "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// clusterAPIsWebhook is a webhook of Cluster API itself, for a kind about which it asks no cluster.
type clusterAPIsWebhook[T any] interface {
	Default(ctx context.Context, object T) error
	ValidateCreate(ctx context.Context, object T) (admission.Warnings, error)
}

// verdict is what webhooks make of an object: the object with its defaults, or the fields that they refuse.
type verdict struct {
	Filled     map[string]any
	Refused    []string
	Unreadable bool
}

// asked asks a webhook of Cluster API about a new object.
func asked[T any](hook clusterAPIsWebhook[*T]) func(t *testing.T, data []byte) verdict {
	return func(t *testing.T, data []byte) (v verdict) {
		t.Helper()
		object := new(T)
		expect.OK(t, json.Unmarshal(data, object))
		created := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}}
		ctx := admission.NewContextWithRequest(t.Context(), created)
		if hook.Default(ctx, object) != nil {
			return verdict{Unreadable: true}
		}
		v.Filled = expect.Got(contentOf(object))(t)
		if _, err := hook.ValidateCreate(ctx, object); err != nil {
			status, is := errors.AsType[*apierrors.StatusError](err)
			expect.Same(t, "a refusal: "+err.Error(), true, is)
			for _, cause := range status.ErrStatus.Details.Causes {
				v.Refused = append(v.Refused, cause.Field)
			}
		}
		return v.sorted()
	}
}

// sorted has each field once: where Cluster API has two sentences about one, there is one here.
func (v verdict) sorted() verdict {
	slices.Sort(v.Refused)
	v.Refused = slices.Compact(v.Refused)
	return v
}

var clusterAPIsWebhooks = map[string]func(*testing.T, []byte) verdict{
	"Cluster":            asked[clusterv1.Cluster](&theirs.Cluster{}),
	"Machine":            asked[clusterv1.Machine](&theirs.Machine{}),
	"MachineSet":         asked[clusterv1.MachineSet](&theirs.MachineSet{}),
	"MachineDeployment":  asked[clusterv1.MachineDeployment](&theirs.MachineDeployment{}),
	"MachinePool":        asked[clusterv1.MachinePool](&theirs.MachinePool{}),
	"MachineHealthCheck": asked[clusterv1.MachineHealthCheck](&theirs.MachineHealthCheck{}),
}

func askedHere(t *testing.T, kind string, data []byte) (v verdict) {
	t.Helper()
	const version = "v1beta2"
	var err error
	if v.Filled, err = webhooksByKind[kind].fill(version, data); err != nil {
		return verdict{Unreadable: true}
	}
	_, refused, err := webhooksByKind[kind].admit(version, expect.Got(json.Marshal(v.Filled))(t))
	expect.OK(t, err)
	for _, why := range refused {
		v.Refused = append(v.Refused, why.Field)
	}
	return v.sorted()
}

const (
	aConfig = "bootstrap: {dataSecretName: a}"
	// leastOfMany is the least that Cluster API takes of what makes machines, and leastOfOne of a machine.
	leastOfMany = "clusterName: a, template: {spec: {clusterName: a, " + aConfig + "}}"
	leastOfOne  = "clusterName: a, " + aConfig
	aReference  = "infrastructureRef: {apiGroup: b, kind: C, name: d}"
	aSelector   = "clusterName: a, selector: {matchLabels: {a: b}}"

	unread     = "cannot be filled in"
	autoscaler = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
	skipped    = "machineset.cluster.x-k8s.io/skip-preflight-checks"
)

// inTemplate adds to the spec of the machines of a template, and labelled to its labels and to the selector.
func inTemplate(more string) string {
	return strings.Replace(leastOfMany, aConfig, aConfig+", "+more, 1)
}

func labelled(labels, selector string) string {
	return strings.Replace(leastOfMany, "template: {", "template: {metadata: {labels: {"+labels+"}}, ", 1) +
		", selector: {" + selector + "}"
}

// TestLikeClusterAPIsWebhooks asks the webhooks of Cluster API and ours about the same objects. Both set the same, and refuse the
// same fields.
func TestLikeClusterAPIsWebhooks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	machines := []string{"MachineSet", "MachineDeployment"} // which they select
	many := append([]string{"MachinePool"}, machines...)
	deployment, machine, check, cluster := machines[1:], []string{"Machine"}, []string{"MachineHealthCheck"}, []string{"Cluster"}
	named := func(template string) string { return leastOfMany + ", machineNaming: {template: '" + template + "'}" }
	rolled := func(how string) string { return leastOfMany + ", rollout: {strategy: {" + how + "}}" }
	networks := func(pods, services string) string {
		return aReference + ", clusterNetwork: {pods: {cidrBlocks: [" + pods + "]}, services: {cidrBlocks: [" + services + "]}}"
	}
	sized := func(least, most string) string {
		return ", annotations: {" + autoscaler + "min-size: '" + least + "', " + autoscaler + "max-size: '" + most + "'}"
	}
	const inOne, inMany = "spec.bootstrap", "spec.template.spec.bootstrap"
	const noOperator = "matchExpressions: [{key: a, operator: Is}]"
	const taints = "taints: [{key: a, effect: NoSchedule, propagation: Always}]"
	const roll, share = "spec.rollout.strategy.rollingUpdate", "spec.remediation.maxInFlight"
	const naming, skips = "spec.machineNaming.template", "metadata.annotations." + skipped
	for _, c := range []struct {
		why     string
		kinds   []string
		meta    string // after the name
		spec    string
		refused string
	}{
		{"the least", many, "", leastOfMany, ""},
		{"the least", machine, "", leastOfOne, ""},
		{"labels of the user", machine, ", labels: {a: b, cluster.x-k8s.io/cluster-name: z}", leastOfOne, ""},
		{"a config", machine, "", "clusterName: a, bootstrap: {configRef: {apiGroup: b, kind: C, name: d}}", ""},
		{"no config", many, "", strings.Replace(leastOfMany, aConfig, "", 1), inMany},
		{"no config", machine, "", "clusterName: a", inOne},
		{
			"no config of its own", machine, ", ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, name: p, " +
				"uid: u}], labels: {cluster.x-k8s.io/pool-name: p}", "clusterName: a", "",
		},
		{"two Clusters", many, "", strings.Replace(leastOfMany, "clusterName: a", "clusterName: b", 1), "spec.clusterName"},

		{"a version without v", many, "", inTemplate("version: 1.36.3"), ""},
		{"a version without v", machine, "", leastOfOne + ", version: 1.36.3", ""},
		{"a version", machine, "", leastOfOne + ", version: v1.36.3-rc.1+b", ""},
		{"half a version", many, "", inTemplate("version: v1.36"), "spec.template.spec.version"},
		{"half a version", machine, "", leastOfOne + ", version: v1.36", "spec.version"},
		{"no version", machine, "", leastOfOne + ", version: v", "spec.version"},
		{"a version with an empty end", machine, "", leastOfOne + ", version: v1.36.3-", "spec.version"},
		{"a version with an odd end", machine, "", leastOfOne + ", version: 'v1.36.3-01'", "spec.version"},
		{"a version of another alphabet", machine, "", leastOfOne + ", version: v1.36.3-ä", "spec.version"},
		{"a version with a blank", machine, "", leastOfOne + ", version: 'v1.36.3 '", "spec.version"},
		{"a version with a blank in it", machine, "", leastOfOne + ", version: 'v1.36.3-a b'", "spec.version"},
		{"a version with a line", machine, "", leastOfOne + `, version: "v1.36.3\n"`, "spec.version"},
		{"a build with a blank", machine, "", leastOfOne + ", version: 'v1.36.3+b c'", "spec.version"},
		{"an empty build", machine, "", leastOfOne + ", version: v1.36.3+", "spec.version"},
		{"a zero before a number", machine, "", leastOfOne + ", version: v1.036.3", "spec.version"},
		{"four numbers", machine, "", leastOfOne + ", version: v1.36.3.4", "spec.version"},
		{"two v", machine, "", leastOfOne + ", version: vv1.36.3", "spec.version"},
		{"a huge number", machine, "", leastOfOne + ", version: v1.36.99999999999999999999", "spec.version"},
		{"taints", machines, "", inTemplate(taints), "spec.template.spec.taints"},
		{"taints", machine, "", leastOfOne + ", " + taints, "spec.taints"},
		{"a time to delete the Node", machine, "", leastOfOne + ", deletion: {nodeDeletionTimeoutSeconds: 0}", ""},
		{"a time to delete the Node", many, "", inTemplate("deletion: {nodeDeletionTimeoutSeconds: 0}"), ""},
		{"a label that is none", many, "", labelled("a: 'b c'", ""), "spec.template.metadata.labels"},

		{"replicas", many, sized("2", "3"), leastOfMany + ", replicas: 5", ""},
		{"an autoscaler", many, sized("2", "3"), leastOfMany, ""},
		{"half an autoscaler", many, ", annotations: {" + autoscaler + "min-size: '2'}", leastOfMany, ""},
		{"the other half", many, ", annotations: {" + autoscaler + "max-size: '2'}", leastOfMany, ""},
		{"an autoscaler without a number", many, sized("few", "3"), leastOfMany, unread},
		{"an autoscaler without an end", many, sized("2", "many"), leastOfMany, unread},
		{"an autoscaler of too many", many, sized("2147483648", "2147483648"), leastOfMany, unread},

		{"labels that are selected", machines, "", labelled("a: b", "matchLabels: {a: b}"), ""},
		{"labels by an expression", machines, "", labelled("a: b", "matchExpressions: [{key: a, operator: Exists}]"), ""},
		{"other labels", machines, "", labelled("a: c", "matchLabels: {a: b}"), "spec.template.metadata.labels"},
		{"no selector that exists", machines, "", labelled("", noOperator), "spec.selector"},
		{"a skipped check", machines, ", annotations: {" + skipped + ": 'KubeadmVersionSkew, ControlPlaneIsStable'}", leastOfMany, ""},
		{"all checks skipped", machines, ", annotations: {" + skipped + ": All}", leastOfMany, ""},
		{"none skipped", machines, ", annotations: {" + skipped + ": ''}", leastOfMany, ""},
		{"a check that is none", machines, ", annotations: {" + skipped + ": 'All,Some'}", leastOfMany, skips},

		{"names of machines", machines, "", named("{{ .cluster.name }}-{{ .machineSet.name }}-{{ .random }}"), ""},
		{"the same name for all", machines, "", named("{{ .cluster.name }}"), naming},
		{"names in capitals", machines, "", named("A-{{ .random }}"), naming},
		{"names with dots", machines, "", named("a.b-{{ .random }}"), ""},
		{"names that end in a dash", machines, "", named("{{ .random }}-"), naming},
		{"a template that does more", machines, "", named("{{ .cluster.name | print }}-{{ .random }}"), ""},
		{"a field without blanks", machines, "", named("a-{{.random}}"), naming},
		{"a template that does not end", machines, "", named("{{ .random }}{{ .cluster.name"), naming},

		{"a name that is no label", deployment, long, leastOfMany, "metadata.name spec.selector spec.template.metadata.labels"},
		{"surge and unavailable", deployment, "", rolled("rollingUpdate: {maxSurge: 20%, maxUnavailable: 2}"), ""},
		{"no surge", deployment, "", rolled("rollingUpdate: {maxSurge: 0, maxUnavailable: 1}"), ""},
		{"neither", deployment, "", rolled("rollingUpdate: {maxSurge: 0, maxUnavailable: 0}"), roll},
		{"neither, as shares", deployment, "", rolled("rollingUpdate: {maxSurge: 0%, maxUnavailable: 0%}"), ""},
		{"one as a share", deployment, "", rolled("rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}"), ""},
		{"no surge, and the default", deployment, "", rolled("rollingUpdate: {maxSurge: 0}"), roll},
		{
			"words", deployment, "", rolled("rollingUpdate: {maxSurge: few, maxUnavailable: some}"),
			roll + ".maxSurge " + roll + ".maxUnavailable",
		},
		{"on deletion", deployment, "", rolled("type: OnDelete"), ""},
		{"a share in repair", deployment, "", leastOfMany + ", remediation: {maxInFlight: 20%}", ""},
		{"words in repair", deployment, "", leastOfMany + ", remediation: {maxInFlight: few}", share},

		{"the least", check, "", aSelector, ""},
		{"no selector", check, "", "clusterName: a", "spec.selector"},
		{"no selector that exists", check, "", "clusterName: a, selector: {" + noOperator + "}", "spec.selector"},
		{"machines of its Cluster", check, "", "clusterName: a, selector: {matchLabels: {cluster.x-k8s.io/cluster-name: a}}", ""},
		{"of another", check, "", "clusterName: a, selector: {matchLabels: {cluster.x-k8s.io/cluster-name: b}}", "spec.selector"},
		{"time to start", check, "", aSelector + ", checks: {nodeStartupTimeoutSeconds: 30}", ""},
		{"too little", check, "", aSelector + ", checks: {nodeStartupTimeoutSeconds: 29}", "spec.checks.nodeStartupTimeoutSeconds"},
		{"no limit", check, "", aSelector + ", checks: {nodeStartupTimeoutSeconds: 0}", ""},
		{"a share", check, "", aSelector + ", remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 40%}}", ""},
		{
			"no share", check, "", aSelector + ", remediation: {triggerIf: {unhealthyLessThanOrEqualTo: few}}",
			"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
		},

		{"of an infrastructure", cluster, "", aReference, ""},
		{"of a control plane", cluster, "", "controlPlaneRef: {apiGroup: b, kind: C, name: d}", ""},
		{"of nothing", cluster, "", "paused: true", "spec"},
		{"a name that is no label", cluster, long, aReference, "metadata.name"},
		{"networks", cluster, "", networks("10.0.0.0/16", "'fd00::/64'"), ""},
		{
			"no networks", cluster, "", networks("10.0.0.0/16, 10.0.0.0", "fd00"),
			"spec.clusterNetwork.pods.cidrBlocks[1] spec.clusterNetwork.services.cidrBlocks[0]",
		},
	} {
		for _, kind := range c.kinds {
			text := "{apiVersion: cluster.x-k8s.io/v1beta2, kind: " + kind + ", metadata: {name: a" + c.meta + "}, spec: {" +
				c.spec + "}}"
			data := expect.Got(yaml.YAMLToJSON([]byte(text)))(t)
			expected, got := clusterAPIsWebhooks[kind](t, data), askedHere(t, kind, data)
			expect.Same(t, kind+" with "+c.why+": Cluster API", c.refused, expected.words())
			expect.Same(t, kind+" with "+c.why, expected, got)
		}
	}
}

func (v verdict) words() string {
	if v.Unreadable {
		return unread
	}
	return strings.Join(v.Refused, " ")
}
