package release

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/merge"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
)

// different is what differs from the topology that the flavor windows prints: YAML that is merged into its variables, and into
// spec.topology. null takes a field away.
type different struct{ name, cloud, variables, topology string }

var topologies = []different{
	{"as it is printed", "vsphere", ``, ``},
	{"as it is printed", "azure", ``, ``},
	{"a version without its v", "vsphere", ``, `{version: 1.36.3}`},
	{"an own value of the pool", "vsphere", ``, `{workers: {machineDeployments: [{class: windows, name: windows, replicas: 1,
	  variables: {overrides: [{name: windows, value: {maxPods: 30}}]}}]}}`},
	{"fewer fields", "azure", `{windows: {maxPods: null}}`, ``},

	{"no pods", "vsphere", `{windows: {maxPods: 0}}`, ``},
	{"a number as a text", "vsphere", `{windows: {maxPods: "110"}}`, ``},
	{"too many pods", "azure", `{windows: {maxPods: 100000}}`, ``},
	{"no quantity", "vsphere", `{windows: {systemReservedMemory: 2GB}}`, ``},
	{"a misspelt field", "vsphere", `{vsphere: {datastor: LocalDS_0}}`, ``},
	{"nothing where something must be", "vsphere", `{vsphere: {datacenter: ""}}`, ``},
	{"a field less", "azure", `{azure: {location: null}}`, ``},
	{"a name for an address", "vsphere", `{vsphere: {controlPlaneEndpointIP: api.example.com}}`, ``},
	{"a SHA-1 thumbprint", "vsphere", `{vsphere: {thumbprint: "AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01"}}`, ``},
	{"half a processor", "vsphere", `{vsphere: {windowsCPUs: 2.5}}`, ``},
	{"no processors", "vsphere", `{vsphere: {windowsCPUs: 0}}`, ``},
	{"an odd size of memory", "vsphere", `{vsphere: {windowsMemoryMiB: 16385}}`, ``},
	{"a template of no name", "vsphere", `{vsphere: {windowsTemplate: "a//b"}}`, ``},
	{"a size that is none", "azure", `{azure: {windowsSize: "Standard D4s v5"}}`, ``},
	{"latest", "azure", `{azure: {windowsImageVersion: latest}}`, ``},
	{"an image that is no ID", "azure", `{azure: {windowsImageID: capi-win-2022}}`, ``},
	{"a variable that there is not", "vsphere", `{network: {cni: Calico}}`, ``},
	{
		"a class of a pool that there is not", "vsphere", ``,
		`{workers: {machineDeployments: [{class: win, name: windows, replicas: 1}]}}`,
	},
	{
		"two pools of one name", "azure", ``,
		`{workers: {machineDeployments: [{class: windows, name: a}, {class: windows, name: a}]}}`,
	},
	{"a name that is none", "azure", ``, `{workers: {machineDeployments: [{class: windows, name: "Windows Pool"}]}}`},
	{"a version in words", "vsphere", ``, `{version: newest}`},
	{"a version of two numbers", "azure", ``, `{version: v1.36}`},
	{"a version that is too new", "azure", ``, `{version: v1.37.0}`},
	{"a version that is too new", "vsphere", ``, `{version: v1.38.0}`},
	{"an own value that is wrong", "vsphere", ``, `{workers: {machineDeployments: [{class: windows, name: windows, replicas: 1,
	  variables: {overrides: [{name: windows, value: {maxPods: many}}]}}]}}`},
	{"an unknown field of the topology", "vsphere", ``, `{class: windows-vsphere}`},
	{"negative replicas", "vsphere", ``, `{workers: {machineDeployments: [{class: windows, name: windows, replicas: -1}]}}`},
	{"a label that is none", "azure", ``, `{workers: {machineDeployments: [{class: windows, name: windows,
	  metadata: {labels: {team: "a b"}}}]}}`},
}

// wantAgreed compares what the plugin says of topologies with what Cluster API's webhooks and its topology controller say.
func (u user) wantAgreed(management *servers.Management) {
	u.t.Helper()
	differences := map[string]int{}
	alone, step := offline(u.t), 1
	if !stories.Runs(u.t.Name()) {
		step = 6 // each takes seconds
	}
	for i := 0; i < len(topologies); i += step {
		row := topologies[i]
		name := fmt.Sprintf("agree-%d", i)
		alone.variables = map[string]string{"WINDOWS_CLOUD": row.cloud}
		class, cluster, _ := strings.Cut(alone.generate(name, "--flavor", "windows"), clusterBegins)
		u.kubectl(management, []byte(class), "apply", "-f", "-")
		u.kubectl(management, nil, "wait", "--for=condition=VariablesReady", "clusterclass", "--all", "--timeout=60s")
		cluster, rest, _ := strings.Cut(clusterBegins+cluster, "\n---\n")
		cluster = row.applied(u.t, cluster)
		server, plugin := u.serverSays(management, name, cluster), pluginSays(class+cluster+"\n---\n"+rest, name+"-windows-1")
		u.t.Logf("%s, %s\ncluster: %s\nplugin:  %s", row.name, row.cloud, cmp.Or(server, "takes it"), cmp.Or(plugin, "takes it"))
		if how := differ(server, plugin); how != "" {
			differences[how]++
			u.t.Errorf("%s, %s: %s", row.name, row.cloud, how)
		}
	}
	u.t.Logf("%d topologies, and every %d was compared", len(topologies), step)
	for _, how := range []string{takes, refuses, elsewhere} {
		u.t.Logf("%s: %d", how, differences[how])
	}
}

// How the two sides differ, in the words of test/suites/agree.
const (
	takes     = "the plugin takes what is refused later"
	refuses   = "the plugin refuses what is taken"
	elsewhere = "refused at different fields"
)

func differ(server, plugin string) string {
	switch {
	case server != "" && plugin == "":
		return takes
	case server == "" && plugin != "":
		return refuses
	case server == "":
		return ""
	}
	if place := placeIn(server); place == "" || !strings.Contains(plugin, place) {
		return elsewhere
	}
	return ""
}

// placesIn find in a refusal of Cluster API what the plugin has to name as well: a field of a variable or of a template, an
// unknown field, what a class itself says of a failed patch, another field of the topology.
var placesIn = []*regexp.Regexp{
	regexp.MustCompile(`(?:variables|overrides)\[(\w+)\]\.value(\.\w+)`), regexp.MustCompile(`(?:variables|overrides)\[(\w+)\]()`),
	regexp.MustCompile(`(spec\.template\.spec)((?:\.\w+)+)`), regexp.MustCompile(`(unknown field ".*")()`),
	regexp.MustCompile(`error calling fail: (.*)()`), regexp.MustCompile(`machineDeployments\[\w*\]\.(\w+)()`),
	regexp.MustCompile(`(spec\.\w+)((?:\.\w+)*)`),
}

func placeIn(refusal string) string {
	for _, one := range placesIn {
		if found := one.FindStringSubmatch(refusal); found != nil {
			return found[1] + found[2]
		}
	}
	return ""
}

// applied is a Cluster with what is different.
func (d different) applied(t *testing.T, cluster string) string {
	t.Helper()
	var made, variables, topology tree
	expect.OK(t, errors.Join(yaml.Unmarshal([]byte(cluster), &made), yaml.Unmarshal([]byte(d.variables), &variables),
		yaml.Unmarshal([]byte(d.topology), &topology)))
	there, _, err := unstructured.NestedMap(made, "spec", "topology")
	expect.OK(t, err)
	list, _ := there["variables"].([]any)
	all := tree{}
	for _, one := range list {
		one, _ := one.(tree)
		name, _ := one["name"].(string)
		all[name] = one["value"]
	}
	merge.Into(all, variables)
	list = nil
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, tree{"name": name, "value": all[name]})
	}
	there["variables"] = list
	merge.Into(there, topology)
	expect.OK(t, unstructured.SetNestedMap(made, there, "spec", "topology"))
	return string(expect.Got(yaml.Marshal(made))(t))
}

// serverSays is why Cluster API's webhooks or its topology controller refuse a Cluster; empty if they do not.
func (u user) serverSays(management *servers.Management, name, cluster string) string {
	u.t.Helper()
	apply := func(more ...string) (string, error) {
		flags := []string{"--kubeconfig", management.KubeconfigFile, "--cache-dir", filepath.Join(u.home, "kube"), "apply", "-f", "-"}
		command := exec.CommandContext(u.t.Context(), u.binaries.Path("kubectl"), append(flags, more...)...)
		command.Stdin = strings.NewReader(cluster)
		said, err := command.CombinedOutput()
		return string(said), err
	}
	if said, err := apply("--dry-run=server"); err != nil {
		return said
	}
	// The controller says only once that an object was refused: then it waits for the control plane, and says that.
	ctx, stop := context.WithTimeout(u.t.Context(), time.Minute)
	defer stop()
	watch := exec.CommandContext(ctx, u.binaries.Path("kubectl"), "--kubeconfig", management.KubeconfigFile,
		"get", "clusters", "--watch", "--field-selector=metadata.name="+name, "-o", "json")
	seen := json.NewDecoder(expect.Got(watch.StdoutPipe())(u.t))
	expect.OK(u.t, watch.Start())
	defer func() { _ = watch.Wait() }() // it was stopped
	defer stop()
	expect.Got(apply())(u.t)
	defer u.kubectl(management, nil, "delete", "cluster", name, "--wait=false")
	for {
		made := &clusterv1.Cluster{}
		expect.OK(u.t, seen.Decode(made))
		switch done := conditions.Get(made, clusterv1.ClusterTopologyReconciledCondition); {
		case done == nil:
		case done.Reason == clusterv1.ClusterTopologyReconciledFailedReason:
			return done.Message
		case done.Status == metav1.ConditionTrue && done.ObservedGeneration == made.Generation:
			return ""
		}
	}
}

func pluginSays(text, machine string) string {
	read, err := objects.Read([]string{"-"}, "default", strings.NewReader(text))
	if err == nil {
		_, err = preview.Gather(read, machine)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}
