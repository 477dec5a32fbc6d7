package release

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// awkward are texts that YAML takes for something else if they are not quoted, or in quotes of one kind.
var awkward = []string{
	"100", "1e3", "0x1F", "1_000", "010", "12:30:45", "n", "no", "true", "null", "~", "a: b", "a #b", "# a", "- a", "? a",
	"!a", "&a", "*a",
	"[a]", "{a: b}", "%a", "@a", "`a`", "| a", "> a", `a"b`, `"a"`, "it's", "'a'", `C:\a\b\n`, " a ", "a\tb", "a,b", "$a$$b",
	"2026-11-23",
	"---", "=", "<<", "größe 日本語 🙂", `{{ a }}`,
}

// numbers are the variables that are numbers, and others are parts of names.
var (
	numbers = []string{
		"CONTROL_PLANE_ENDPOINT_PORT", "VSPHERE_PORT", "WINDOWS_CPUS", "WINDOWS_MEMORY_MIB", "WINDOWS_MAX_PODS",
		"WINDOWS_MACHINE_COUNT", "LINUX_WORKER_MACHINE_COUNT", "VSPHERE_LINUX_DISK_GIB", "VSPHERE_LINUX_CPUS",
		"VSPHERE_LINUX_MEMORY_MIB", "AZURE_LINUX_DISK_GIB",
	}
	names = append([]string{"WINDOWS_CLOUD", "WINDOWS_POOL", "IMAGE_REGISTRY"}, unset...)
)

// Every variable that is a text reaches every place in the cluster unchanged, whatever it is.
func TestAwkwardValues(t *testing.T) {
	t.Parallel()
	u := offline(t)
	for _, flavor := range flavors(t, filepath.Dir(u.config)) {
		body := string(expect.Got(os.ReadFile("../../../templates/cluster-template-" + flavor + ".yaml"))(t))
		texts := map[string]bool{}
		for _, used := range variable.FindAllStringSubmatch(body, -1) {
			if !slices.Contains(slices.Concat(numbers, names, fromFlags), used[1]) {
				texts[used[1]] = true
			}
		}
		if len(texts) < 5 {
			t.Fatalf("flavor %s has the texts %v, and there are more", flavor, texts)
		}
		all, step := places(t, body), 7 // the others have the same places
		if flavor == "windows" || flavor == "windows-vsphere" {
			step = 1
		}
		for first := 0; first < len(awkward); first += step {
			values := map[string]string{}
			for i, name := range slices.Sorted(maps.Keys(texts)) {
				values[name] = awkward[(first+i)%len(awkward)]
			}
			u.variables = values
			wantValues(t, places(t, u.generate("cluster-name", "--flavor", flavor)), all, values)
		}
	}
}

// fromFlags are variables that clusterctl checks and sets from its flags.
var fromFlags = []string{"CLUSTER_NAME", "NAMESPACE", "KUBERNETES_VERSION", "CONTROL_PLANE_MACHINE_COUNT", "WORKER_MACHINE_COUNT"}

// generate calls clusterctl as the head of the flavor does, without a management cluster.
func (u user) generate(name string, more ...string) string {
	u.t.Helper()
	return string(u.clusterctl(append([]string{
		"generate", "cluster", name, "--infrastructure", "windows:" + version, "--target-namespace", "default",
		"--kubernetes-version", "v1.36.3",
	}, more...)...))
}

// wantValues compares each place of a variable in the flavor with the same place in the cluster. Of each there must be one.
func wantValues(t *testing.T, got, want map[string]any, values map[string]string) {
	t.Helper()
	compared := map[string]bool{}
	for place, text := range want {
		name, ok := variableIn(text)
		value, free := values[name]
		if !ok || !free {
			continue
		}
		compared[name] = true
		if got[place] != any(value) {
			t.Errorf("%s=%q becomes %#v at %s", name, value, got[place], place)
		}
	}
	for name := range values {
		if !compared[name] && name != "AZURE_NODE_IDENTITY" { // which has something before it
			t.Errorf("%s is nowhere a whole text", name)
		}
	}
}

var wholeVariable = regexp.MustCompile(`^\$\{([A-Z0-9_]+)(:=.*)?\}$`)

func variableIn(text any) (string, bool) {
	whole, _ := text.(string)
	found := wholeVariable.FindStringSubmatch(whole)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// places returns all leaves of the objects in a text, by kind, end of the name and path. A leaf of several lines may be such a
// text itself.
func places(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, object := range objectsIn(t, text) {
		name := strings.NewReplacer("${CLUSTER_NAME}", "", "cluster-name", "", "${WINDOWS_POOL:=windows}", "windows").
			Replace(object["metadata"].(tree)["name"].(string))
		walk(all, object["kind"].(string)+name, object)
	}
	return all
}

func walk(all map[string]any, path string, node any) {
	switch node := node.(type) {
	case tree:
		for key, below := range node {
			walk(all, path+"."+key, below)
		}
	case []any:
		for i, below := range node {
			walk(all, fmt.Sprintf("%s[%d]", path, i), below)
		}
	case string:
		var within tree
		if strings.Contains(node, "\n") && yaml.Unmarshal([]byte(node), &within) == nil {
			walk(all, path+"|", within)
			return
		}
		all[path] = node
	default:
		all[path] = node
	}
}

func objectsIn(t *testing.T, text string) (objects []tree) {
	t.Helper()
	for _, document := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
		var object tree
		if !strings.Contains(document, "kind: ") { // what a flavor refuses is none
			continue
		}
		expect.OK(t, yaml.Unmarshal([]byte(document), &object))
		if object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// The default flavor is windows.
func TestDefaultFlavor(t *testing.T) {
	t.Parallel()
	u := offline(t)
	if u.generate("100") != u.generate("100", "--flavor", "windows") {
		t.Error("flavor windows is another one than the default")
	}
	if name := places(t, u.generate("100"))["Cluster100.metadata.name"]; name != "100" {
		t.Errorf("the cluster's name is %#v", name)
	}
}

// offline is a user with a release, which all tests share, and without a management cluster.
func offline(t *testing.T) user {
	t.Helper()
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	config := filepath.Join(shared.dir, "repository", "clusterctl.yaml")
	shared.release.Do(func() { writeReleaseTo(t, filepath.Dir(config)) })
	return user{t: t, binaries: binaries, config: config, home: t.TempDir()}
}

// clusterctl says 0 machines when nobody says a number. So that is 1, unless another variable says another number.
func TestMachineCounts(t *testing.T) {
	t.Parallel()
	u := offline(t)
	for flavor, place := range map[string]string{
		"windows":              "Cluster.spec.topology.workers.machineDeployments[1].replicas",
		"windows-vsphere":      "MachineDeployment-windows.spec.replicas",
		"windows-pool-vsphere": "MachineDeployment-windows.spec.replicas",
		"windows-azure":        "MachineDeployment-windows.spec.replicas",
		"windows-pool-azure":   "MachineDeployment-windows.spec.replicas",
	} {
		for _, c := range []struct {
			flag, variable string
			want           float64
		}{
			{"", "", 1},
			{"0", "", 1},
			{"", "0", 0},
			{"0", "0", 0},
			{"", "3", 3},
			{"1", "", 1},
			{"10", "", 10},
			{"100", "0", 100},
			{"3", "5", 3},
		} {
			u.variables = map[string]string{"WINDOWS_MACHINE_COUNT": c.variable}
			flags := []string{"--flavor", flavor}
			if c.flag != "" {
				flags = append(flags, "--worker-machine-count", c.flag)
			}
			got := places(t, u.generate("cluster-name", flags...))[place]
			expect.Same(t, fmt.Sprintf("replicas of %s with flag %q and variable %q", flavor, c.flag, c.variable), any(c.want), got)
		}
	}
}

// The command in the README works as it is written, once the variables are set.
func TestCommandOfTheReadme(t *testing.T) {
	t.Parallel()
	u := offline(t)
	readme := string(expect.Got(os.ReadFile("../../../README.md"))(t))
	_, command, found := strings.Cut(readme, "clusterctl --config out/repository/clusterctl.yaml generate ")
	if !found {
		t.Fatal("README.md does not generate a cluster")
	}
	command, _, _ = strings.Cut(command, "|")
	got := u.clusterctl(append([]string{"generate"}, strings.Fields(strings.ReplaceAll(command, "\\\n", " "))...)...)
	if !strings.Contains(string(got), "kind: WindowsMachineTemplate") || !strings.Contains(string(got), "name: prod\n") {
		t.Errorf("got\n%s", got)
	}
}
