package objects

import (
	"maps"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Each field of Cluster API's v1beta1 that v1beta2 does not have is in the table, and the field that the table names is there.
func TestOldNamesAreWhole(t *testing.T) {
	used := map[oldField]bool{}
	for name := range expect.Got(capiSchemas())(t) {
		kind, group, _ := strings.Cut(name, ".")
		of := schema.GroupVersionKind{Group: group, Kind: kind, Version: "v1beta1"}
		before := expect.Got(rulesOf(of))(t)
		of.Version = "v1beta2"
		now := expect.Got(rulesOf(of))(t)
		for _, path := range gone(schemaAt(before.structural, "spec"), schemaAt(now.structural, "spec"), "spec") {
			found, within := findOld(kind, path)
			used[found] = true
			if found == (oldField{}) {
				t.Errorf("%s: nothing says what became of %s", kind, path)
				continue
			}
			if found.newPath != "" && schemaAt(now.structural, strings.ReplaceAll(within+found.newPath, "[]", "[0]")) == nil {
				t.Errorf("%s: %s is said to be %s%s, and there is no such field", kind, path, within, found.newPath)
			}
		}
	}
	for name, one := range oldNames {
		if !used[one] && !belowOthers[name] {
			t.Errorf("no kind has lost the field %s", name)
		}
	}
}

// belowOthers are old names in the place of the new ones: who renames the field around them may leave them.
var belowOthers = map[string]bool{
	"healthCheck.enable": true, "unhealthyNodeConditions.timeout": true, "unhealthyMachineConditions.timeout": true,
	"rollingUpdate.deletePolicy": true, "MachineDeployment rollout.strategy.remediation": true, "remediation.retryPeriod": true,
	"remediation.minHealthyPeriod": true,
}

// gone are the fields of one schema that another has not, without those within them.
func gone(before, now *structuralschema.Structural, path string) (all []string) {
	if now == nil {
		return []string{path}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		all = append(all, gone(schemaAt(before, name), schemaAt(now, name), path+"."+name)...)
	}
	if before.Items != nil && now.Items != nil {
		all = append(all, gone(before.Items, now.Items, path+"[0]")...)
	}
	return all
}

func TestOldNamesInWords(t *testing.T) {
	const machines = "cluster.x-k8s.io/v1beta2"
	for _, c := range []struct {
		version, kind, path string
		value               any
		want                string
	}{
		{
			machines, "MachineDeployment", "spec.template.spec.nodeDrainTimeout", "10m",
			"it is the name in v1beta1 for spec.template.spec.deletion.nodeDrainTimeoutSeconds; write nodeDrainTimeoutSeconds: 600",
		},
		{
			machines, "Machine", "spec.infrastructureRef.apiVersion", "infrastructure.cluster.x-k8s.io/v1beta1",
			"it is the name in v1beta1 for spec.infrastructureRef.apiGroup; write apiGroup: infrastructure.cluster.x-k8s.io",
		},
		{
			machines, "Cluster", "spec.topology.class", "windows",
			"it is the name in v1beta1 for spec.topology.classRef.name; write classRef: {name: NAME}",
		},
		{
			machines, "Cluster", "spec.topology.workers.machineDeployments[1].nodeDeletionTimeout", nil,
			"it is the name in v1beta1 for spec.topology.workers.machineDeployments[1].deletion.nodeDeletionTimeoutSeconds; " +
				"it counts seconds",
		},
		{
			machines, "MachineDeployment", "spec.progressDeadlineSeconds", int64(600),
			"it is a field of v1beta1, and v1beta2 has none for it: it never had an effect; remove it",
		},
		{machines, "MachineDeployment", "spec.selectr", nil, ""},
		{
			"cluster.x-k8s.io/v1beta1", "MachineDeployment", "spec.template.spec.infrastructureRef.apiGroup", nil,
			"it is a field of v1beta2; write apiVersion: cluster.x-k8s.io/v1beta2, or infrastructureRef.apiVersion here",
		},
		{
			"cluster.x-k8s.io/v1beta1", "MachineHealthCheck", "spec.checks", nil,
			"it is a field of v1beta2; write apiVersion: cluster.x-k8s.io/v1beta2",
		},
	} {
		one := Object{Kind: c.kind, Version: expect.Got(schema.ParseGroupVersion(c.version))(t)}
		expect.Same(t, c.kind+" "+c.path, c.want, otherVersion(one, c.path, c.value))
	}
}
