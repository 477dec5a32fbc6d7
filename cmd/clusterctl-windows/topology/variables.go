package topology

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// holder is a list of variables: the Cluster's, or those of one part of its topology, which stand in front of them there.
type holder struct {
	path []string
	part
	// name is the part, in sentences.
	name      string
	variables func(*clusterv1.Cluster) []clusterv1.ClusterVariable
}

// holders are all of the topology, the Cluster's last.
func (t *topology) holders() []holder {
	var holders []holder
	for i, pool := range t.cluster.Spec.Topology.Workers.MachineDeployments {
		holders = append(holders, holder{
			[]string{"spec", "topology", "workers", "machineDeployments", pool.Name, "variables", "overrides"},
			part{ofPool, pool.Name},
			" of the pool " + pool.Name,
			func(c *clusterv1.Cluster) []clusterv1.ClusterVariable {
				return c.Spec.Topology.Workers.MachineDeployments[i].Variables.Overrides
			},
		})
	}
	plane := func(c *clusterv1.Cluster) []clusterv1.ClusterVariable {
		return c.Spec.Topology.ControlPlane.Variables.Overrides
	}
	clusterVariables := func(c *clusterv1.Cluster) []clusterv1.ClusterVariable { return c.Spec.Topology.Variables }
	return append(holders, holder{
		[]string{"spec", "topology", "controlPlane", "variables", "overrides"},
		part{role: ofControlPlane},
		" of the control plane", plane,
	}, holder{[]string{"spec", "topology", "variables"}, part{}, "", clusterVariables})
}

// fillVariables has Cluster API's webhook set the variables' defaults and refuse those that do not fit the class.
func (t *topology) fillVariables() error {
	if version := t.cluster.Spec.Topology.Version; !strings.HasPrefix(version, "v") {
		t.cluster.Spec.Topology.Version = "v" + version // as the webhook does
	}
	asked := &admission.Cluster{Client: reader{t.files, t.class}}
	wrong := asked.DefaultAndValidateVariables(silent, t.cluster, nil, t.class)
	var refused []error
	for _, holder := range t.holders() {
		for _, variable := range holder.variables(t.cluster) {
			prefix := strings.Join(append(slices.Clone(holder.path), variable.Name), ".")
			ofIt := func(refusal *field.Error) bool {
				path := strings.Join(partsOf(refusal.Field), ".")
				return path == prefix || strings.HasPrefix(path, prefix+".")
			}
			if i := slices.IndexFunc(wrong, ofIt); i >= 0 {
				refused = append(refused, t.refuseVariable(holder, variable, wrong[i])...)
				wrong = slices.DeleteFunc(wrong, ofIt)
			}
		}
	}
	for _, refusal := range wrong { // such as a variable that must be there
		if !t.isMisspelt(refusal.Detail) {
			refused = append(refused, t.wrap(errors.New(refusal.Detail), partsOf(refusal.Field)...))
		}
	}
	return errors.Join(refused...)
}

var requiredVariable = regexp.MustCompile(`^required variable "([^"]+)" must be set$`)

// isMisspelt reports whether the files have a required variable under a name that is almost its own.
func (t *topology) isMisspelt(detail string) bool {
	name := requiredVariable.FindStringSubmatch(detail)
	return len(name) > 0 && slices.ContainsFunc(t.cluster.Spec.Topology.Variables, func(v clusterv1.ClusterVariable) bool {
		return objects.Nearest(v.Name, t.names()) == name[1]
	})
}

// names are those of the variables of the class.
func (t *topology) names() (names []string) {
	for _, variable := range t.class.Spec.Variables {
		names = append(names, variable.Name)
	}
	return names
}

// refuseVariable explains why a variable is refused, each reason with its line.
func (t *topology) refuseVariable(h holder, variable clusterv1.ClusterVariable, refusal *field.Error) []error {
	i := slices.IndexFunc(t.class.Spec.Variables, func(v clusterv1.ClusterClassVariable) bool { return v.Name == variable.Name })
	if i < 0 {
		return []error{fmt.Errorf("%s, variable %s%s (%s): ClusterClass %s has no variable of this name; %s",
			t.object, variable.Name, h.name, t.lines().Place(append(slices.Clone(h.path), variable.Name)...), t.classKey(),
			meant(variable.Name, t.names()))}
	}
	var refused []error
	for _, found := range valueErrors(t.class.Spec.Variables[i], variable) {
		refused = append(refused, t.ofVariable(h, found.Path, textOf(found)))
	}
	if len(refused) == 0 {
		refused = []error{t.ofVariable(h, variable.Name, refusal.Detail)}
	}
	return refused
}

// textOf is the message about a field, without the path at its beginning.
func textOf(e *objects.FieldError) string {
	return ofSchemas.Replace(strings.TrimPrefix(e.Text, e.Path+": "))
}

// ofSchemas rewrites messages of schema validators for values.
var ofSchemas = strings.NewReplacer("should be at least 1 chars long", "must not be empty",
	"should be greater than or equal to", "must be at least", "should be less than or equal to", "must be at most")

// valueErrors are what the schema of the class refuses of a value.
func valueErrors(definition clusterv1.ClusterClassVariable, variable clusterv1.ClusterVariable) []*objects.FieldError {
	text, err := json.Marshal(definition.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil
	}
	var schema apiextensionsv1.JSONSchemaProps
	if json.Unmarshal(text, &schema) != nil {
		return nil
	}
	found, err := objects.RefuseValue(&schema, variable.Name, variable.Value.Raw)
	if err != nil {
		return nil // Cluster API's own words do
	}
	return found
}

// ofVariable describes what is wrong with a variable, or with a field of it, and where that is in the files.
func (t *topology) ofVariable(h holder, path, text string) error {
	place := t.lines().Place(lineOf(h, path)...)
	for !plainPath.MatchString(path) { // as in the text, where a name that may be a secret is left out
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return fmt.Errorf("%s, variable %s%s (%s): %s", t.object, path, h.name, place, text)
}

// plainPath has names as they are in an API.
var plainPath = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9]{0,39}(?:\[\d+\])*(?:\.|$))*$`)

// lineOf is the path of a variable, or of a field of it, in the Cluster.
func lineOf(h holder, path string) []string {
	parts := partsOf(path)
	return slices.Concat(h.path, parts[:1], []string{"value"}, parts[1:])
}

// refuseCluster asks Cluster API's own webhook.
func (t *topology) refuseCluster() error {
	asked := &admission.Cluster{Client: reader{t.files, t.class}}
	_, err := asked.ValidateCreate(silent, t.cluster)
	var refused []error
	for _, c := range objects.Causes(err) {
		refused = append(refused, t.wrap(errors.New(c.String()), partsOf(c.Path)...))
	}
	return errors.Join(refused...)
}
