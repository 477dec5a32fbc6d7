package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// refuseCluster refuses what Cluster API's webhook refuses of a new Cluster (cluster-api v1.14.2, core/webhooks/admission), but
// for the topology, which depends on the ClusterClass: cmd/clusterctl-windows/topology refuses that.
func refuseCluster(c *clusterv1.Cluster) (refused field.ErrorList) {
	for _, reason := range validation.IsValidLabelValue(c.Name) { // which the name becomes
		refused = append(refused, field.Invalid(field.NewPath("metadata", "name"), nil, "must be a valid label value: "+reason))
	}
	refused = append(refused, refuseLongName(c)...)
	spec := field.NewPath("spec")
	made := c.Spec.ControlPlaneRef.IsDefined() || c.Spec.InfrastructureRef.IsDefined() || c.Spec.Topology.IsDefined()
	if !made {
		refused = append(refused, field.Forbidden(spec, "set infrastructureRef, controlPlaneRef or topology"))
	}
	network := spec.Child("clusterNetwork")
	refused = append(refused, refuseCIDRs(network.Child("pods", "cidrBlocks"), c.Spec.ClusterNetwork.Pods.CIDRBlocks)...)
	return append(refused, refuseCIDRs(network.Child("services", "cidrBlocks"), c.Spec.ClusterNetwork.Services.CIDRBlocks)...)
}

// refuseLongName refuses what our own policy refuses of the Clusters of the flavors: config/infrastructure/windows_clusters.yaml.
// The bootstrap checks their CIDRs in the same way.
func refuseLongName(c *clusterv1.Cluster) field.ErrorList {
	cloud, ofFlavor := c.Labels[infrav1.CloudLabel]
	longest := map[bool]int{true: 44, false: 51}[cloud == infrav1.CloudAzure]
	if !ofFlavor || len(c.Name) <= longest || ptr.Deref(c.Spec.Paused, false) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), nil, fmt.Sprintf("has %d characters; add-ons and the "+
		"infrastructure of a Cluster with the label capwin.io/cloud carry its name, so use at most %d", len(c.Name), longest))}
}

func refuseCIDRs(path *field.Path, cidrs []string) (refused field.ErrorList) {
	for i, cidr := range cidrs {
		if _, _, err := net.ParseCIDR(cidr); err != nil {
			refused = append(refused, field.Invalid(path.Index(i), nil, "must be a CIDR, such as 10.0.0.0/16"))
		}
	}
	return refused
}

// random is what makes a name unlike others.
const random = "{{ .random }}"

// refuseNaming fills in what a template of names may refer to, and takes it away from the object: Cluster API's webhook would
// carry it out, and one of a file that is not trusted may never end. A template can do more; then only a cluster knows the name.
func refuseNaming(naming *clusterv1.MachineNamingSpec) (refused field.ErrorList) {
	template := naming.Template
	naming.Template = ""
	if template == "" {
		return nil
	}
	path := field.NewPath("spec", "machineNaming", "template")
	if !strings.Contains(template, random) {
		refused = append(refused, field.Invalid(path, nil, "must have "+random+", or all names are the same"))
	}
	names := strings.NewReplacer(random, "abcde", "{{ .cluster.name }}", "cluster", "{{ .machineSet.name }}", "machineset")
	name := names.Replace(template)
	switch {
	case strings.Count(name, "{{") != strings.Count(name, "}}"):
		refused = append(refused, field.Invalid(path, nil, "must be a template: a {{ has no }}"))
	case !strings.Contains(name, "{{") && len(validation.IsDNS1123Subdomain(name)) > 0:
		refused = append(refused, field.Invalid(path, nil, "must give names of lower case letters, digits, - and ."))
	}
	return refused
}

type wording struct{ part, words string }

// ourWords are those for what Cluster API's webhooks refuse, by a part of their own sentence. What is not here is reported in
// their words.
var ourWords = []wording{
	{"expected either", ""}, // a field that is missing
	{"selector must not be empty", ""},
	{"must be a valid semantic version", "must be a full version, such as v1.36.3"},
	{"must be set to the same value", "spec.clusterName and spec.template.spec.clusterName must be the same"},
	{"specified by ClusterName", "must select machines of spec.clusterName, not of another Cluster"},
	{"must be at least 30s", "must be at least 30, or 0 for no limit"},
	{"either an int or a percentage", "must be a whole number, or a percentage such as 20%"},
	{"cannot both be 0", "maxSurge and maxUnavailable must not both be 0"},
	{
		"preflight check(s)", "must be one of All, KubeadmVersionSkew, KubernetesVersionSkew, ControlPlaneIsStable, " +
			"ControlPlaneVersionSkew",
	},
}

// refusalOf is what a webhook refuses. All of the taints of a Machine are refused by their gate.
func refusalOf(c Cause) field.Error {
	refusal := field.Error{Type: c.Type, Field: c.Path, Detail: c.Text}
	spec, _, ofTaints := strings.Cut(c.Path, ".taints")
	i := slices.IndexFunc(ourWords, func(w wording) bool { return strings.Contains(c.Text, w.part) })
	switch {
	case ofTaints:
		refusal = field.Error{Type: field.ErrorTypeForbidden, Field: spec + ".taints", Detail: "Cluster API's feature gate " +
			"MachineTaintPropagation is off; a WindowsBootstrapConfig has spec.node.taints"}
	case i >= 0:
		refusal.Detail = ourWords[i].words
	case c.Path == "spec.selector":
		refusal.Detail = "must be a selector of labels"
	case strings.HasPrefix(c.Text, "must match spec.selector"):
		refusal.Detail += ": write the labels of spec.selector.matchLabels there, too, or leave spec.selector out, which Cluster API " +
			"then fills in"
	}
	return refusal
}

// refusals are what a webhook refuses, each once.
func refusals(err error) (refused field.ErrorList) {
	for _, cause := range Causes(err) {
		refusal := refusalOf(cause)
		if !slices.ContainsFunc(refused, func(e *field.Error) bool { return *e == refusal }) {
			refused = append(refused, &refusal)
		}
	}
	return refused
}

// Cause is what a webhook of Cluster API refuses.
type Cause struct {
	Type       field.ErrorType
	Path, Text string
}

// String is the sentence about the field.
func (c Cause) String() string { return join(c.Path, c.Text) }

// Causes are those of an answer of a webhook, without the values, which may be secrets.
func Causes(err error) (causes []Cause) {
	if err == nil {
		return nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil {
		return []Cause{{Type: field.ErrorTypeInvalid, Text: err.Error()}}
	}
	for _, c := range status.ErrStatus.Details.Causes {
		causes = append(causes, Cause{field.ErrorType(c.Type), c.Field, detailOf(c.Message)})
	}
	return causes
}

var invalidValue = regexp.MustCompile(`^(Invalid value|Unsupported value|Duplicate value): `)

// detailOf is a message of a field without its kind and the value, which is written as in JSON.
func detailOf(message string) string {
	rest := message[len(invalidValue.FindString(message)):]
	if rest == message {
		return strings.TrimPrefix(strings.TrimPrefix(message, "Forbidden: "), "Required value: ")
	}
	decoder := json.NewDecoder(strings.NewReader(rest))
	var value any
	if decoder.Decode(&value) != nil {
		_, detail, _ := strings.Cut(rest, ": ")
		return detail
	}
	return strings.TrimPrefix(rest[decoder.InputOffset():], ": ")
}
