package release

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// clusterctl says what is missing before there is anything to apply.
func TestMissingVariables(t *testing.T) {
	t.Parallel()
	u := offline(t)
	for _, c := range []struct{ flavor, variable, value, want string }{
		{"windows", "WINDOWS_CLOUD", "", "value for variables [WINDOWS_CLOUD] is not set"},
		{"windows", "WINDOWS_CLOUD", "gcp", `failed to get the cluster class template for "default/windows-gcp"`},
		{"windows-gcp", "", "", `failed to read "cluster-template-windows-gcp.yaml" from provider's repository`},
		{"windows-vsphere", "VSPHERE_TEMPLATE", "", "value for variables [VSPHERE_TEMPLATE] is not set"},
		{"windows-vsphere", "VSPHERE_PASSWORD", "", "value for variables [VSPHERE_PASSWORD] is not set"},
		{"windows", "VSPHERE_TEMPLATE", "", `this is vsphere:\nVSPHERE_TEMPLATE is not set\n`},
		{"windows-pool-vsphere", "VSPHERE_FOLDER", "", "value for variables [VSPHERE_FOLDER] is not set"},
		{"windows-azure", "AZURE_NODE_IDENTITY", "", "value for variables [AZURE_NODE_IDENTITY] is not set"},
		{"windows-azure", "AZURE_SSH_PUBLIC_KEY_B64", "", "value for variables [AZURE_SSH_PUBLIC_KEY_B64] is not set"},
	} {
		command := u.command("generate", "cluster", "demo",
			"--infrastructure", "windows:"+version, "--target-namespace", "default",
			"--kubernetes-version", "v1.36.3", "--flavor", c.flavor)
		command.Env = without(command.Env, c.variable)
		if c.value != "" {
			command.Env = append(command.Env, c.variable+"="+c.value)
		}
		wantFailure(t, command, c.want)
	}
}

// With the cloud alone, or nothing, clusterctl names all that is missing of that cloud, and nothing of the other.
func TestNothingSet(t *testing.T) {
	t.Parallel()
	u := offline(t)
	for _, cloud := range []string{"vsphere", "azure"} {
		body := string(expect.Got(os.ReadFile("../../../templates/cluster-template-windows-" + cloud + ".yaml"))(t))
		var missing []string
		for _, used := range regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`).FindAllStringSubmatch(body, -1) {
			hasDefault := strings.Contains(body, used[1]+":=") // in another place, for what depends on it
			if !hasDefault && !slices.Contains(slices.Concat(fromFlags, ofCommands, unset), used[1]) {
				missing = append(missing, used[1])
			}
		}
		said := u.bare(t, "windows", "WINDOWS_CLOUD="+cloud, "KUBERNETES_VERSION=v1.36.3")
		slices.Sort(missing)
		missing = slices.Compact(missing)
		for _, name := range missing {
			wantIn(t, said, "this is "+cloud+`:\n`+name+" is not set")
		}
		expect.Same(t, "variables that "+cloud+" lacks", len(missing), strings.Count(said, "is not set"))
	}
	for _, flavor := range flavors(t, filepath.Dir(u.config)) {
		wantIn(t, u.bare(t, flavor), "value for variables [", "] is not set")
	}
}

// ofCommands are variables of the plain flavor on vSphere that only commands take for the flavor windows.
var ofCommands = []string{"VSPHERE_USERNAME", "VSPHERE_PASSWORD"}

// bare is what clusterctl says of a flavor where nothing but these variables is set; it must fail.
func (u user) bare(t *testing.T, flavor string, set ...string) string {
	t.Helper()
	command := u.command("generate", "cluster", "demo", "--infrastructure", "windows:"+version,
		"--target-namespace", "default",
		"--flavor", flavor)
	for name := range variables {
		command.Env = without(command.Env, name)
	}
	command.Env = append(command.Env, set...)
	said, err := command.CombinedOutput()
	if err == nil {
		t.Errorf("flavor %s is printed with %v alone", flavor, set)
	}
	return string(said)
}

// Who asks for the variables of a flavor reads each of them, and whether it must be set.
func TestListedVariables(t *testing.T) {
	t.Parallel()
	u := offline(t)
	for _, flavor := range flavors(t, filepath.Dir(u.config)) {
		listed := string(u.clusterctl("generate", "cluster", "demo", "--infrastructure", "windows:"+version, "--target-namespace",
			"default", "--flavor", flavor, "--list-variables"))
		body := string(expect.Got(os.ReadFile("../../../templates/cluster-template-" + flavor + ".yaml"))(t))
		for _, used := range variable.FindAllStringSubmatch(body, -1) {
			if !slices.Contains(unset, used[1]) && !regexp.MustCompile(`(?m)^  - `+used[1]+`\b`).MatchString(listed) {
				t.Errorf("flavor %s: %s is not listed in\n%s", flavor, used[1], listed)
			}
		}
		for _, never := range []string{"REQUIRED_ON_VSPHERE}", "REQUIRED_IN_AZURE}", "- EMPTY_BY_DEFAULT"} {
			if strings.Contains(listed, never) {
				t.Errorf("flavor %s has %s for a default", flavor, never)
			}
		}
	}
	listed := u.clusterctl("generate", "cluster", "demo", "--infrastructure", "windows:"+version,
		"--target-namespace", "default", "--flavor", "windows", "--list-variables")
	wantIn(t, string(listed), `VSPHERE_TEMPLATE                  (defaults to "needed on vSphere; `)
}

func without(environment []string, name string) (rest []string) {
	for _, one := range environment {
		if !strings.HasPrefix(one, name+"=") {
			rest = append(rest, one)
		}
	}
	return rest
}

func wantFailure(t *testing.T, command *exec.Cmd, want string) {
	t.Helper()
	said, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(said), want) {
		t.Errorf("%s: %v: want %q in\n%s", strings.Join(command.Args[1:], " "), err, want, said)
	}
}

// wantRefusals applies Clusters that cannot be, to a management cluster that has both classes.
func (u user) wantRefusals(management *servers.Management) {
	u.t.Helper()
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere", "VSPHERE_TEMPLATE": lacking}
	said := u.refused(management, withoutLacking(u.clusterAlone("lacking")), "apply", "-f", "-")
	wantIn(u.t, said, "linuxTemplate: Invalid value: ", "should be at least 1 chars long")
	// A name that the other provider, or this one, would not find.
	for variable, c := range map[string][2]string{
		"VSPHERE_FOLDER":        {"team-a/nodes", "begins with vm/, such as vm/team-a/nodes"},
		"VSPHERE_RESOURCE_POOL": {"host/cluster1/Resources", "a path begins in the folder host, such as cluster1/Resources"},
	} {
		u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere", variable: c[0]}
		wantIn(u.t, u.refused(management, u.clusterAlone("lacking"), "apply", "-f", "-"), c[1])
	}
	// The cloud provider would get a network that is none, and know no Node.
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere", "CONTROL_PLANE_ENDPOINT_IP": "api.example.com"}
	said = u.refused(management, u.clusterAlone("lacking"), "apply", "-f", "-")
	wantIn(u.t, said, "controlPlaneEndpointIP: Invalid value: ", "must be of type ipv4")
	// What openssl does not print so, the vSphere provider refuses in its log alone.
	for _, thumbprint := range []string{
		strings.Repeat("ab:", 31) + "ab", strings.Repeat("AB", 32), strings.Repeat("AB:", 19) + "AB",
	} {
		u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere", "VSPHERE_TLS_THUMBPRINT_SHA256": thumbprint}
		said = u.refused(management, u.clusterAlone("lacking"), "apply", "-f", "-")
		wantIn(u.t, said, "thumbprint: Invalid value: ", "should match '^([0-9A-F]{2}:){31}[0-9A-F]{2}$'")
	}
	for variable, field := range map[string]string{"AZURE_LOCATION": "location", "AZURE_SSH_PUBLIC_KEY_B64": "sshPublicKey"} {
		u.variables = map[string]string{"WINDOWS_CLOUD": "azure", variable: lacking}
		said = u.refused(management, withoutLacking(u.clusterAlone("lacking")), "apply", "-f", "-")
		wantIn(u.t, said, field+": Invalid value: ", "should be at least 1 chars long")
	}

	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere"}
	u.kubectl(management, []byte(u.clusterAlone("late", "--kubernetes-version", "v1.38.0")), "apply", "-f", "-")
	u.wantTopologyRefused(management, "late", "default",
		"the image of kube-proxy for Calico does not start with Kubernetes 1.38 or later")
	u.variables = map[string]string{"WINDOWS_CLOUD": "azure"}
	u.kubectl(management, []byte(u.clusterAlone("late-azure", "--kubernetes-version", "v1.37.0")), "apply", "-f", "-")
	u.wantTopologyRefused(management, "late-azure", "default",
		"the chart of Azure's cloud provider knows no image for Kubernetes 1.37 or later")
}

// lacking is a value that a person who edits the output takes away: clusterctl prints nothing without one.
const lacking = "lacking-value"

func withoutLacking(text string) string { return strings.ReplaceAll(text, lacking, `""`) }

// clusterAlone is what the flavor windows prints where the class is there.
func (u user) clusterAlone(name string, more ...string) string {
	u.t.Helper()
	_, rest, _ := strings.Cut(u.generate(name, append([]string{"--flavor", "windows"}, more...)...), clusterBegins)
	return clusterBegins + rest
}

func wantIn(t *testing.T, said string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("want %q in\n%s", part, said)
		}
	}
}

// wantOldClass offers a Cluster to a class of another release, which has not all of its variables. clusterctl takes the class
// that is there.
func (u user) wantOldClass(management *servers.Management) {
	u.t.Helper()
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere"}
	u.kubectl(management, nil, "create", "namespace", "old")
	text := u.generate("old", "--flavor", "windows", "--target-namespace", "old")
	class, cluster, _ := strings.Cut(text, clusterBegins)
	for _, object := range objectsIn(u.t, class) {
		if object["kind"] == "ClusterClass" {
			spec := object["spec"].(tree)
			spec["variables"] = slices.DeleteFunc(spec["variables"].([]any), func(v any) bool { return v.(tree)["name"] == "azure" })
		}
		u.kubectl(management, expect.Got(json.Marshal(object))(u.t), "apply", "-f", "-")
	}
	u.kubectl(management, nil, "wait", "--for=condition=VariablesReady", "clusterclass", "--all", "-n", "old", "--timeout=60s")
	wantIn(u.t, u.refused(management, clusterBegins+cluster, "apply", "-f", "-"),
		"spec.topology.variables[azure]: Invalid value", "variable is not defined")
	there := u.kubectl(management, nil, "get", "clusters", "-n", "old", "-o", "name")
	expect.Same(u.t, "Clusters of the old class", "", string(there))
}

// wantRefusedWithClass applies the class in one command with a Cluster that lacks something. If Cluster API has not looked at the
// class yet, its webhook only warns, and the Cluster tells it.
func (u user) wantRefusedWithClass(management *servers.Management) {
	u.t.Helper()
	u.kubectl(management, nil, "create", "namespace", "fresh")
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere", "VSPHERE_TEMPLATE": lacking}
	const lacks = "linuxTemplate in body should be at least 1 chars long"
	said := u.refused(management, withoutLacking(u.generate("lacking", "--flavor", "windows", "--target-namespace", "fresh")),
		"apply", "-f", "-")
	if said == "" {
		u.wantTopologyRefused(management, "lacking", "fresh", lacks)
		return
	}
	wantIn(u.t, said, lacks)
}

// wantTopologyRefused waits until a Cluster says why nothing is made of its topology.
func (u user) wantTopologyRefused(management *servers.Management, name, namespace, want string) {
	u.t.Helper()
	wait.Until(u.t, "the topology to be refused", func() (any, bool) {
		said := string(u.kubectl(management, nil, "get", "cluster", name, "-n", namespace,
			"-o", `jsonpath={.status.conditions[?(@.type=="TopologyReconciled")].message}`))
		return said, strings.Contains(said, want)
	})
}

// wantLongNames tries the longest name of a Cluster, and the longest that does. The API server refuses a Cluster that would get
// no add-ons; the class refuses it where the label is another one, and what CAPZ does not take.
func (u user) wantLongNames(management *servers.Management) {
	u.t.Helper()
	name := strings.Repeat("n", 63)
	for cloud, longest := range map[string]int{"vsphere": 51, "azure": 44} {
		sentence := " characters; add-ons and the infrastructure of a Cluster with the label capwin.io/cloud carry its name, so use " +
			"at most " + strconv.Itoa(longest)
		u.variables = map[string]string{"WINDOWS_CLOUD": cloud}
		said := u.refused(management, u.generate(name, "--flavor", "windows-"+cloud), "apply", "--dry-run=server", "-f", "-")
		wantIn(u.t, said, name+`-windows": must be no more than 63`, "metadata.name has 63"+sentence)
		for _, flavor := range []string{"windows", "windows-" + cloud} {
			said := u.refused(management, u.clusterOf(flavor, name[:longest+1]), "apply", "--dry-run=server", "-f", "-")
			wantIn(u.t, said, fmt.Sprintf("metadata.name has %d%s", longest+1, sentence))
			u.kubectl(management, []byte(u.clusterOf(flavor, name[:longest])), "apply", "--dry-run=server", "-f", "-")
		}
		pool := u.generate("demo", "--flavor", "windows-pool-"+cloud)
		pool = strings.ReplaceAll(pool, "name: demo-windows\n", "name: "+name[:59]+"-pool\n")
		wantIn(u.t, u.refused(management, pool, "apply", "--dry-run=server", "-f", "-"), "must be no more than 63")
	}
	const ofAzure = "the Azure provider takes 2 to 44 of a to z, 0 to 9 and -"
	for _, c := range []struct{ cloud, name, says string }{
		{"vsphere", name, "the Cluster's name has 63 characters; its add-ons carry it in labels, so use at most 51"},
		{"azure", name[:45], "the Cluster's name has 45 characters; " + ofAzure},
		{"azure", "a", "the Cluster's name has 1 characters; " + ofAzure},
		{"azure", "a.b", "the Cluster's name has 3 characters; " + ofAzure},
	} {
		u.variables = map[string]string{"WINDOWS_CLOUD": c.cloud}
		other := strings.Replace(u.clusterAlone(c.name), "    capwin.io/cloud:", "    other:", 1)
		u.kubectl(management, []byte(other), "apply", "-f", "-")
		u.wantTopologyRefused(management, c.name, "default", c.says)
	}
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere"}
	const pool = "        name: windows\n"
	long := strings.Replace(u.clusterAlone(name[:51]), pool, "        name: "+name+"\n", 1)
	u.kubectl(management, []byte(long), "apply", "-f", "-")
	u.reconciled(management, name[:51])
	u.wantNoOperator(management, name[:51])
	u.wantCharts(management, name[:51], chartValues("")["vsphere"], "")
	u.wantNamesOfPools(management, name[:51], name)
}

// wantNamesOfPools: Cluster API shortens the names that it makes of a Cluster's and a pool's.
func (u user) wantNamesOfPools(management *servers.Management, cluster, pool string) {
	u.t.Helper()
	said := u.kubectl(management, nil, "get", "machinedeployments,windowsmachinetemplates,windowsbootstrapconfigtemplates",
		"-l", "cluster.x-k8s.io/cluster-name="+cluster+",topology.cluster.x-k8s.io/deployment-name="+pool, "-o", "name")
	names := strings.Fields(string(said))
	expect.Same(u.t, "objects of the pool", 3, len(names))
	for _, one := range names {
		if _, name, _ := strings.Cut(one, "/"); len(name) > 63 {
			u.t.Errorf("%s has %d characters", one, len(name))
		}
	}
}

// wantCounts: no machine is a wish, but for the control plane; of that two are refused as well.
func (u user) wantCounts(management *servers.Management) {
	u.t.Helper()
	for _, cloud := range []string{"vsphere", "azure"} {
		for _, flavor := range []string{"windows", "windows-" + cloud, "windows-pool-" + cloud} {
			u.variables = map[string]string{"WINDOWS_CLOUD": cloud, "WINDOWS_MACHINE_COUNT": "0", "LINUX_WORKER_MACHINE_COUNT": "0"}
			text := u.generate("zero", "--flavor", flavor)
			if strings.HasPrefix(flavor, "windows-pool-") {
				expect.Same(u.t, flavor, 1, strings.Count(text, "replicas: 0\n"))
			} else {
				expect.Same(u.t, flavor, 2, strings.Count(text, "replicas: 0\n"))
			}
			_, text, _ = strings.Cut("---\n"+text, "---\n")
			expect.Same(u.t, flavor+" without workers", "", u.refused(management, text, "apply", "--dry-run=server", "-f", "-"))
			wantFailure(u.t, u.command("generate", "cluster", "zero", "--infrastructure", "windows:"+version, "--target-namespace",
				"default", "--kubernetes-version", "v1.36.3", "--flavor", flavor, "--control-plane-machine-count", "0"),
				"invalid ControlPlaneMachineCount. Please use a number greater than or equal to 1")
		}
		const even = "cannot be an even number when etcd is stacked"
		two := u.generate("two", "--flavor", "windows-"+cloud, "--control-plane-machine-count", "2")
		wantIn(u.t, u.refused(management, two, "apply", "--dry-run=server", "-f", "-"), even)
		u.variables = map[string]string{"WINDOWS_CLOUD": cloud}
		u.kubectl(management, []byte(u.clusterAlone("two-"+cloud, "--control-plane-machine-count", "2")), "apply", "-f", "-")
		u.wantTopologyRefused(management, "two-"+cloud, "default", even)
		const one, zero = "    controlPlane:\n      replicas: 1\n", "    controlPlane:\n      replicas: 0\n"
		unsized := strings.Replace(u.clusterAlone("none-"+cloud), one, zero, 1)
		u.kubectl(management, []byte(unsized), "apply", "-f", "-")
		u.wantTopologyRefused(management, "none-"+cloud, "default", "spec.replicas: Forbidden: cannot be less than or equal to 0")
	}
}
