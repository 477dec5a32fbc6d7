package release

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

// awkward are texts that YAML takes for something else if they are not quoted, or in quotes of one kind.
var awkward = []string{
	"100", "1e3", "0x1F", "1_000", "010", "12:30:45", "n", "no", "true", "null", "~", "a: b", "a #b", "# a", "- a", "? a",
	"!a", "&a", "*a",
	"[a]", "{a: b}", "%a", "@a", "`a`", "| a", "> a", `a"b`, `"a"`, "it's", "'a'", `C:\a\b\n`, " a ", "a\tb", "a,b", "$a$$b",
	"2026-11-23",
	"---", "=", "<<", "größe 日本語 🙂", `{{ a }}`,
}

// numbers are the variables that are numbers.
var numbers = map[string]bool{
	"CONTROL_PLANE_ENDPOINT_PORT": true, "WINDOWS_CPUS": true, "WINDOWS_MEMORY_MIB": true,
}

// Every variable that is a text reaches every place in the cluster unchanged, whatever it is.
func TestAwkwardValues(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	repository := writeRelease(t)
	u := user{t: t, binaries: binaries, config: filepath.Join(repository, "clusterctl.yaml"), home: t.TempDir()}
	body := string(expect.Got(os.ReadFile(template))(t))
	free := map[string]bool{}
	for _, used := range regexp.MustCompile(`\$\{([A-Z0-9_]+)`).FindAllStringSubmatch(body, -1) {
		free[used[1]] = !numbers[used[1]] && !slices.Contains(fromFlags, used[1])
	}
	maps.DeleteFunc(free, func(_ string, text bool) bool { return !text })
	names := slices.Sorted(maps.Keys(free))
	if len(names) < 15 {
		t.Fatalf("the flavor has the texts %v, and there are more", names)
	}
	for first := range awkward {
		values := map[string]string{}
		for i, name := range names {
			values[name] = awkward[(first+i)%len(awkward)]
		}
		u.variables = values
		wantValues(t, u.generate("cluster-name", "--flavor", "windows"), body, values)
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

// wantValues compares each place of a variable in the flavor with the same place in the cluster.
func wantValues(t *testing.T, cluster, flavor string, values map[string]string) {
	t.Helper()
	want := places(t, flavor)
	got := places(t, cluster)
	for place, text := range want {
		name, ok := variableIn(text)
		if value, free := values[name]; ok && free && got[place] != any(value) {
			t.Errorf("%s=%q becomes %#v at %s", name, value, got[place], place)
		}
	}
}

var wholeVariable = regexp.MustCompile(`^\$\{([A-Z0-9_]+)[^}]*\}$`)

func variableIn(text any) (string, bool) {
	whole, _ := text.(string)
	found := wholeVariable.FindStringSubmatch(whole)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// places returns all leaves of the objects in a text, by kind, end of the name and path.
func places(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	var walk func(path string, node any)
	walk = func(path string, node any) {
		switch node := node.(type) {
		case map[string]any:
			for key, below := range node {
				walk(path+"."+key, below)
			}
		case []any:
			for i, below := range node {
				walk(path+"["+string(rune('0'+i))+"]", below)
			}
		default:
			all[path] = node
		}
	}
	for _, document := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
		var object map[string]any
		expect.OK(t, yaml.Unmarshal([]byte(document), &object))
		if object == nil {
			continue
		}
		name, _ := object["metadata"].(map[string]any)["name"].(string)
		name = strings.TrimPrefix(strings.TrimPrefix(name, "${CLUSTER_NAME}"), "cluster-name")
		walk(object["kind"].(string)+name, object)
	}
	return all
}

// The default flavor, windows and windows-vsphere are one file. Without a count there is one worker.
func TestFlavorsAreOne(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	repository := writeRelease(t)
	u := user{t: t, binaries: binaries, config: filepath.Join(repository, "clusterctl.yaml"), home: t.TempDir()}
	want := u.generate("100")
	for _, flavor := range []string{"windows", "windows-vsphere"} {
		if got := u.generate("100", "--flavor", flavor); got != want {
			t.Errorf("flavor %s is another one than the default", flavor)
		}
	}
	const replicas = "MachineDeployment100-windows.spec.replicas"
	expect.Same(t, "workers by default", any(1.0), places(t, want)[replicas])
	for _, count := range []string{"1", "3", "10", "100"} {
		got := u.generate("100", "--worker-machine-count", count)
		if !strings.Contains(got, "replicas: "+count+"\n") {
			t.Errorf("--worker-machine-count %s: %v", count, places(t, got)[replicas])
		}
	}
	if name := places(t, want)["Cluster100.metadata.name"]; name != "100" {
		t.Errorf("the cluster's name is %#v", name)
	}
}

// The command in the README works as it is written, once the variables are set.
func TestCommandOfTheReadme(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	repository := writeRelease(t)
	u := user{t: t, binaries: binaries, config: filepath.Join(repository, "clusterctl.yaml"), home: t.TempDir()}
	readme := string(expect.Got(os.ReadFile("../../README.md"))(t))
	_, command, found := strings.Cut(readme, "clusterctl --config out/repository/clusterctl.yaml generate ")
	if !found {
		t.Fatal("README.md does not generate a cluster")
	}
	command, _, _ = strings.Cut(command, "```")
	got := u.clusterctl(append([]string{"generate"}, strings.Fields(strings.ReplaceAll(command, "\\\n", " "))...)...)
	if !strings.Contains(string(got), "kind: WindowsMachineTemplate") || !strings.Contains(string(got), "name: prod-windows\n") {
		t.Errorf("got\n%s", got)
	}
}
