package topology

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// classOf is a copy of the Cluster's class, with the status that Cluster API's controller of ClusterClasses writes: the variables
// of the spec, and the condition that they are there.
func classOf(o *objects.Set, cluster *clusterv1.Cluster) (*clusterv1.ClusterClass, error) {
	key := cluster.GetClassKey()
	class, err := objects.Load[clusterv1.ClusterClass](o, "ClusterClass", key)
	if err != nil {
		return nil, err
	}
	for _, variable := range class.Spec.Variables {
		class.Status.Variables = append(class.Status.Variables, clusterv1.ClusterClassStatusVariable{
			Name: variable.Name, DefinitionsConflict: new(false),
			Definitions: []clusterv1.ClusterClassStatusVariableDefinition{{
				From: clusterv1.VariableDefinitionFromInline, Required: variable.Required,
				Schema: variable.Schema,
			}},
		})
	}
	class.Status.ObservedGeneration = class.Generation
	class.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterClassVariablesReadyCondition, Status: metav1.ConditionTrue}}
	return class, nil
}

// refuseOthers refuses a topology without Windows machines of this provider, and lists what its pools have.
func (t *topology) refuseOthers() error {
	var windowsClasses, classes []string
	for _, pool := range t.class.Spec.Workers.MachineDeployments {
		if pool.Infrastructure.TemplateRef.GroupVersionKind().GroupKind() == windowsTemplates {
			windowsClasses = append(windowsClasses, pool.Class)
		}
		classes = append(classes, fmt.Sprintf("%s (%s)", pool.Class, pool.Infrastructure.TemplateRef.Kind))
	}
	if len(windowsClasses) == 0 {
		return fmt.Errorf("%s: ClusterClass %s has no Windows machines of this provider, which are those of a pool with a %s; "+
			"its pools are %s", t.name(), t.classKey(), windowsTemplates.Kind, orNone(classes))
	}
	pools := t.cluster.Spec.Topology.Workers.MachineDeployments
	if err := t.refusePools(pools); err != nil {
		return err
	}
	isWindows := func(p clusterv1.MachineDeploymentTopology) bool { return slices.Contains(windowsClasses, p.Class) }
	if slices.ContainsFunc(pools, isWindows) {
		return nil
	}
	classes = nil
	for _, pool := range pools {
		classes = append(classes, fmt.Sprintf("%s (class %s)", pool.Name, pool.Class))
	}
	return t.wrap(fmt.Errorf("no pool has Windows machines; ClusterClass %s has them as the class %s; the pools here are %s",
		t.classKey(), strings.Join(windowsClasses, " and "), orNone(classes)), "spec", "topology", "workers", "machineDeployments")
}

// refusePools refuses pools of classes that the ClusterClass does not have.
func (t *topology) refusePools(pools []clusterv1.MachineDeploymentTopology) error {
	var names []string
	for _, pool := range t.class.Spec.Workers.MachineDeployments {
		names = append(names, pool.Class)
	}
	var refused []error
	for _, pool := range pools {
		if !slices.Contains(names, pool.Class) {
			refused = append(refused, t.wrap(fmt.Errorf("the pool %s is of the class %s, which ClusterClass %s does not have; %s",
				pool.Name, pool.Class, t.classKey(), meant(pool.Class, names)),
				"spec", "topology", "workers", "machineDeployments", pool.Name, "class"))
		}
	}
	return errors.Join(refused...)
}

// meant asks whether another name was meant, or lists all.
func meant(name string, names []string) string {
	if similar := objects.Nearest(name, names); similar != "" {
		return "did you mean " + similar + "?"
	}
	return "it has " + orNone(names)
}

// windowsTemplates are those of our machines.
var windowsTemplates = infrav1.GroupVersion.WithKind("WindowsMachineTemplate").GroupKind()

func orNone(words []string) string { return cmp.Or(strings.Join(words, ", "), "none") }

// refuseExternal refuses a class for which Cluster API asks an extension in the cluster.
func (t *topology) refuseExternal() error {
	asks := ""
	for _, patch := range t.class.Spec.Patches {
		if patch.External != nil {
			asks = "the patch " + patch.Name
		}
	}
	if t.class.Spec.Upgrade.External.GenerateUpgradePlanExtension != "" {
		asks = "the plan of upgrades"
	}
	if asks == "" {
		return nil
	}
	return fmt.Errorf("%s: the result of its topology cannot be computed from files, because %s of ClusterClass %s is an "+
		"external extension, which only the cluster can call; give the output of: kubectl get "+
		"cluster,machinedeployment,windowsmachinetemplate,"+
		"windowsbootstrapconfigtemplate -n %s -o yaml", t.name(), asks, t.classKey(), t.cluster.Namespace)
}

// refuseClass asks Cluster API's own webhook.
func (t *topology) refuseClass() error {
	_, err := (&admission.ClusterClass{Client: reader{t.files, t.class}}).ValidateCreate(silent, t.class)
	found, missing := t.files.Find(clusterv1.GroupVersion.WithKind("ClusterClass").GroupKind(), t.classKey())
	if err == nil || missing != nil {
		return missing
	}
	lines := found.Lines()
	var refused []error
	for _, c := range objects.Causes(err) {
		refused = append(refused, fmt.Errorf("%s (%s): %s", found, lines.Place(partsOf(c.Path)...), c))
	}
	return errors.Join(refused...)
}

func (t *topology) classKey() types.NamespacedName {
	return t.cluster.GetClassKey()
}

func (t *topology) name() string { return t.object.String() }

// wrap adds the Cluster and a place in it to an error.
func (t *topology) wrap(err error, path ...string) error {
	return fmt.Errorf("%s (%s): %w", t.object, t.lines().Place(path...), err)
}

var partOfPath = regexp.MustCompile(`[^.\[\]]+`)

// partsOf takes the path of a field apart: names of fields, and names or numbers of items.
func partsOf(path string) []string { return partOfPath.FindAllString(path, -1) }
