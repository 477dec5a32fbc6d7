package admission

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// definitionFacts are the parts of a CRD that Cluster API, clusterctl and users rely on.
type definitionFacts struct {
	Name, ListKind, ShortName, Scope, Contract, Provider string
	Categories, Versions                                 []string
	Status                                               bool
}

// The CRDs fulfill the contract of Cluster API v1beta2.
func TestDefinitions(t *testing.T) {
	shortNames := map[string]string{
		"WindowsMachine": "winm", "WindowsMachineTemplate": "winmt",
		"WindowsBootstrapConfig": "winbc", "WindowsBootstrapConfigTemplate": "winbct",
	}
	if len(definitions) != len(shortNames) {
		t.Errorf("want %d kinds, got %d", len(shortNames), len(definitions))
	}
	for kind, shortName := range shortNames {
		component := "infrastructure"
		if strings.Contains(kind, "Bootstrap") {
			component = "bootstrap"
		}
		want := definitionFacts{
			Name:       contract.CalculateCRDName(component+".cluster.x-k8s.io", kind),
			ListKind:   kind + "List",
			ShortName:  shortName,
			Scope:      "Namespaced",
			Contract:   "v1beta1",
			Provider:   component + "-windows",
			Categories: []string{"cluster-api"},
			Versions:   []string{"v1beta1"},
			Status:     kind != "WindowsBootstrapConfigTemplate",
		}
		expect.Same(t, "definition of "+kind, want, factsOf(definitions[kind]))
	}
}

func factsOf(definition *apiextensionsv1.CustomResourceDefinition) definitionFacts {
	facts := definitionFacts{
		Name:       definition.Name,
		ListKind:   definition.Spec.Names.ListKind,
		ShortName:  strings.Join(definition.Spec.Names.ShortNames, ","),
		Scope:      string(definition.Spec.Scope),
		Contract:   definition.Labels["cluster.x-k8s.io/v1beta2"],
		Provider:   definition.Labels[clusterv1.ProviderNameLabel],
		Categories: definition.Spec.Names.Categories,
	}
	for _, version := range definition.Spec.Versions {
		facts.Versions = append(facts.Versions, version.Name)
		facts.Status = version.Subresources != nil && version.Subresources.Status != nil
	}
	return facts
}

// The real kubectl shows the expected columns.
func TestColumns(t *testing.T) {
	cases := map[string]string{
		"windowsmachines": "NAME CLUSTER READY REASON NODE BUILD AGE MESSAGE",
		"windowsmachines -owide": "NAME CLUSTER READY REASON NODE BUILD AGE PROVIDER-ID COMPUTER-NAME IP IMAGE ZONE PHASE PAUSED " +
			"MESSAGE",
		"windowsmachinetemplates":         "NAME CLUSTERCLASS CLUSTER IMAGE SIZE AGE",
		"windowsbootstrapconfigs":         "NAME CLUSTER READY REASON AGE MESSAGE",
		"windowsbootstrapconfigs -owide":  "NAME CLUSTER READY REASON AGE DATA-SECRET-CREATED PAUSED MESSAGE",
		"windowsbootstrapconfigtemplates": "NAME CLUSTERCLASS CLUSTER AGE",
	}
	for kind := range definitions {
		expect.OK(t, api.Create(t.Context(), newObject(kind)))
	}
	for resource, want := range cases {
		first, _, _ := strings.Cut(runKubectl(t, append([]string{"get"}, strings.Fields(resource)...)...), "\n")
		if got := strings.Join(strings.Fields(first), " "); got != want {
			t.Errorf("kubectl get %s\nwant %s\n got %s", resource, want, got)
		}
	}
}

// Every column of a complete object has a value: a column with a wrong path stays empty, without an error.
func TestColumnsShowTheStatus(t *testing.T) {
	machine := newObject("WindowsMachine")
	machine.SetGenerateName("")
	machine.SetName("row")
	machine.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "prod"})
	status := machine.Object["status"]
	expect.OK(t, api.Create(t.Context(), machine))
	machine.Object["status"] = status
	const then = "2026-01-01T00:00:00Z"
	set(machine.Object, "status.conditions", []any{
		map[string]any{"type": "Ready", "status": "True", "reason": "Running", "message": "all is well", "lastTransitionTime": then},
		map[string]any{"type": "Paused", "status": "False", "reason": "NotPaused", "message": "", "lastTransitionTime": then},
	})
	set(machine.Object, "status.addresses", []any{map[string]any{"type": "InternalIP", "address": "10.0.0.5"}})
	expect.OK(t, api.Status().Update(t.Context(), machine))
	for args, want := range map[string]string{
		"":       "row prod True Running win-1 20348.1 AGE all is well",
		"-owide": "row prod True Running win-1 20348.1 AGE " + vmOne + " win-1 10.0.0.5 win2022 az1 Running False all is well",
	} {
		wantRow(t, "winm row "+args, 6, want)
	}
}

// The image and the size of a template are shown in either cloud.
func TestColumnsOfTemplates(t *testing.T) {
	for name, want := range map[string]string{
		"row-vsphere": "row-vsphere win2022 8192 AGE",
		"row-azure":   "row-azure " + azureImage + " Standard_D4s_v5 AGE",
	} {
		template := newObject("WindowsMachineTemplate")
		template.SetGenerateName("")
		template.SetName(name)
		if name == "row-azure" {
			set(template.Object, "spec.template.spec", parse(azureSpec))
		}
		expect.OK(t, api.Create(t.Context(), template))
		wantRow(t, "winmt "+name, 3, want)
	}
}

// wantRow compares what kubectl get shows of an object, except its age.
func wantRow(t *testing.T, args string, age int, want string) {
	t.Helper()
	all := append([]string{"get", "--no-headers"}, strings.Fields(args)...)
	got := strings.Fields(runKubectl(t, all...))
	if len(got) > age {
		got[age] = "AGE"
	}
	expect.Same(t, "row of "+args, want, strings.Join(got, " "))
}

// GitOps tools must not consider an object finished before the controller has seen it, and no health check may act on a config
// because our manager is down.
func TestNewObjectsAreNotYetObserved(t *testing.T) {
	statuses := map[string]map[string]any{
		"WindowsMachine": {"observedGeneration": int64(-1)},
		"WindowsBootstrapConfig": {"observedGeneration": int64(-1), "conditions": []any{map[string]any{
			"type": "Ready", "status": "Unknown", "reason": "NotYetReported", "lastTransitionTime": "1970-01-01T00:00:00Z",
			"message": "the bootstrap manager has not seen the config yet",
		}}},
	}
	for kind, want := range statuses {
		made := newObject(kind)
		expect.OK(t, api.Create(t.Context(), made))
		expect.Same(t, "status of a new "+kind, want, made.Object["status"])
	}
}

// The objects that were installed before the tests are up to date. They are rendered again because Go caches a test result
// until a file changes that the test itself has read.
func TestRenderedAgain(t *testing.T) {
	var again []*unstructured.Unstructured
	for _, component := range components {
		rendered := expect.Got(render(component))(t)
		again = append(again, rendered...)
	}
	expect.Same(t, "objects differ", objects, again)
}

// clusterctl recognizes the objects of a component by label and name.
func TestComponents(t *testing.T) {
	count := map[string]int{}
	for _, made := range objects {
		provider := made.GetLabels()[clusterv1.ProviderNameLabel]
		count[provider+" "+made.GetKind()]++
		if namespaced, err := api.IsObjectNamespaced(made); err != nil {
			t.Error(err)
		} else if namespaced != (made.GetNamespace() != "") {
			t.Errorf("%s %s: namespace is %q", made.GetKind(), made.GetName(), made.GetNamespace())
		}
		namespace := "capwin-" + strings.TrimSuffix(provider, "-windows") + "-system"
		ours := made.GetNamespace() == namespace || strings.HasPrefix(made.GetName(), namespace)
		if !ours && made.GetKind() != "CustomResourceDefinition" {
			t.Errorf("%s %s is not in %s and not named after it", made.GetKind(), made.GetName(), namespace)
		}
	}
	want := map[string]int{}
	for _, provider := range []string{"infrastructure-windows", "bootstrap-windows"} {
		for kind, number := range map[string]int{
			"Namespace": 1, "CustomResourceDefinition": 2, "ServiceAccount": 1, "Role": 1, "RoleBinding": 1, "ClusterRole": 1,
			"ClusterRoleBinding": 1, "Deployment": 1, "NetworkPolicy": 2,
		} {
			want[provider+" "+kind] = number
		}
		// One is for templates, and one for the sizes of specs. The others bound what our account may write; in the bootstrap provider
		// one is for configs that became user data, and in the infrastructure provider one for the Clusters of the flavors.
		policies := map[string]int{"infrastructure-windows": 7, "bootstrap-windows": 6}[provider]
		want[provider+" ValidatingAdmissionPolicy"], want[provider+" ValidatingAdmissionPolicyBinding"] = policies, policies
	}
	expect.Same(t, "objects", want, count)
}

// Roles have no wildcards, and do not allow Secrets to be listed, watched or deleted.
func TestRoles(t *testing.T) {
	for _, made := range objects {
		if made.GetKind() != "ClusterRole" && made.GetKind() != "Role" {
			continue
		}
		granted, _, err := unstructured.NestedSlice(made.Object, "rules")
		expect.OK(t, err)
		for _, granted := range granted {
			checkGrant(t, made.GetName(), granted.(map[string]any))
		}
	}
}

func checkGrant(t *testing.T, role string, granted map[string]any) {
	t.Helper()
	list := func(field string) []string {
		values, _, _ := unstructured.NestedStringSlice(granted, field)
		return values
	}
	for _, field := range []string{"apiGroups", "resources", "verbs"} {
		if slices.Contains(list(field), "*") {
			t.Errorf("%s has a wildcard in %s: %v", role, field, granted)
		}
	}
	if !slices.Contains(list("resources"), "secrets") {
		return
	}
	allowed := []string{"get", "patch"} // to hold credentials, and to restore the owner of user data after a restore from a backup
	if strings.Contains(role, "bootstrap") {
		allowed = append(allowed, "create") // to write the user data
	}
	for _, verb := range list("verbs") {
		if !slices.Contains(allowed, verb) {
			t.Errorf("%s may %s secrets", role, verb)
		}
	}
}

// The API server accepts the Pods in their namespace, which enforces the restricted profile.
func TestDeploymentsPassTheRestrictedProfile(t *testing.T) {
	for _, made := range objects {
		if made.GetKind() != "Deployment" {
			continue
		}
		pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
		template, _, err := unstructured.NestedMap(made.Object, "spec", "template", "spec")
		expect.OK(t, err)
		pod.Object["spec"] = template
		pod.SetName("restricted")
		pod.SetNamespace(made.GetNamespace())
		if err := api.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("pod of %s: %v", made.GetName(), err)
		}
	}
}

func runKubectl(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), kubectl,
		append([]string{"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()}, args...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}
