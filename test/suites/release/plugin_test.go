package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/topology"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// The plugin reads what the flavor windows prints as it reads the plain flavor of the same cloud: the guests get the same plan.
// Nothing but a cloud is missing for a check.
func TestPluginReadsTopologies(t *testing.T) {
	t.Parallel()
	u, plugin := offline(t), program(t, "clusterctl-windows")
	for cloud, lacks := range map[string]string{
		"vsphere": "the files do not have the Secret default/demo with the login for vCenter",
		"azure":   "AzureCluster default/demo has no spec.resourceGroup yet",
	} {
		u.variables = map[string]string{"WINDOWS_CLOUD": cloud}
		class, plain := u.generate("demo", "--flavor", "windows"), u.generate("demo", "--flavor", "windows-"+cloud)
		for _, args := range [][]string{
			{"plan", "--machine", "demo-windows-1"},
			{"plan", "--machine", "default/demo-windows-x7k2p-q9d4t-4mzqr"},
			{"addons"},
			{"render", "--machine", "demo-windows-1", "-o", t.TempDir()},
		} {
			got, notes := asks(t, plugin, class, args...)
			want, _ := asks(t, plugin, plain, args...)
			expect.Same(t, strings.Join(args, " ")+" in "+cloud, want, got)
			if strings.Contains(notes, "kubectl get machine") || args[0] == "plan" && !strings.Contains(notes, "stands for the pool in ") {
				t.Errorf("%v in %s: the notes are\n%s", args, cloud, notes)
			}
		}
		check := exec.CommandContext(t.Context(), plugin, "check", cloud, "-f", "-")
		check.Stdin = strings.NewReader(class)
		said, _ := check.CombinedOutput()
		wantIn(t, strings.Join(strings.Fields(string(said)), " "), lacks)
	}
}

// The plugin refuses what a pool cannot have, from what a flavor prints.
func TestPluginRefusesPools(t *testing.T) {
	t.Parallel()
	u, plugin := offline(t), program(t, "clusterctl-windows")
	for _, c := range []struct{ variable, value, command, want string }{
		{"POD_CIDR", "10.96.0.0/16", "plan", "10.96.0.0/12 overlaps the pods' 10.96.0.0/16; use CIDRs that do not overlap"},
		{"POD_CIDR", "fd00::/48", "plan", "fd00::/48 is IPv6 only, which pods on Windows do not support; add an IPv4 CIDR"},
		{"SERVICE_CIDR", "any", "plan", `services.cidrBlocks[0]: is "any", but must be a CIDR, such as 10.0.0.0/16`},
		{"", "v1.38.0", "addons", "the image of kube-proxy v1.38.0 with Calico does not start"},
	} {
		for _, flavor := range []string{"windows-vsphere", "windows-azure", "windows"} {
			if flavor == "windows" && c.command == "addons" {
				continue // the class itself refuses the version
			}
			u.variables = map[string]string{c.variable: c.value}
			args := []string{"--flavor", flavor}
			if c.variable == "" {
				u.variables, args = nil, append(args, "--kubernetes-version", c.value)
			}
			command := exec.CommandContext(t.Context(), plugin, c.command, "-f", "-")
			if c.command == "plan" {
				command.Args = append(command.Args, "--machine", "demo-windows-1")
			}
			command.Stdin = strings.NewReader(u.generate("demo", args...))
			wantFailure(t, command, c.want)
		}
	}
}

// asks returns what the plugin prints about files, and its notes.
func asks(t *testing.T, plugin, files string, args ...string) (printed, notes string) {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), plugin, append(args, "-f", "-")...)
	command.Stdin, command.Stderr = strings.NewReader(files), &stderr
	out, err := command.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, stderr.String())
	}
	return string(out), stderr.String()
}

// field is a field of a variable, as the flavor prints it: its name, and the value, which may stand in the next line.
var field = regexp.MustCompile(`(?m)^ {8}(\w+): (?:\|2-\n.*|.*)$`)

// Each field of each variable is refused at its line if it has another type or is misspelt.
func TestPluginRefusesVariables(t *testing.T) {
	t.Parallel()
	u := offline(t)
	for _, cloud := range []string{"vsphere", "azure"} {
		u.variables = map[string]string{"WINDOWS_CLOUD": cloud}
		text := u.generate("demo", "--flavor", "windows")
		begin := strings.Index(text, "    variables:\n    - name: vsphere\n")
		length := strings.Index(text[begin:], "\n    version: ")
		count := 0
		for _, match := range field.FindAllStringSubmatchIndex(text[begin:begin+length], -1) {
			before, name, after := text[:begin+match[0]], text[begin+match[2]:begin+match[3]], text[begin+match[1]:]
			variable := before[strings.LastIndex(before, "- name: ")+len("- name: "):]
			variable, _, _ = strings.Cut(variable, "\n")
			variable += "."
			line := 1 + strings.Count(before, "\n")
			wantVariable(t, before+"        "+name+": {wrong: value}"+after, variable+name, line, "must be ")
			value := text[begin+match[3] : begin+match[1]]
			misspelt := name[:len(name)-1] + "x"
			wantVariable(t, before+"        "+misspelt+value+after, variable+misspelt, line, `did you mean "`+variable+name+`"?`)
			count++
		}
		if count < 30 {
			t.Errorf("the flavor in %s has %d fields", cloud, count)
		}
	}
}

func wantVariable(t *testing.T, text, variable string, line int, want string) {
	t.Helper()
	err := topology.Admit(setOf(t, text))
	place := regexp.MustCompile(fmt.Sprintf(`^Cluster default/demo, variable %s \(standard input: document \d+, line %d\): `,
		regexp.QuoteMeta(variable), line))
	if err == nil || !place.MatchString(err.Error()) || !strings.Contains(err.Error(), want) {
		t.Errorf("want %s at line %d with %q, got %v", variable, line, want, err)
	}
}

func setOf(t *testing.T, text string) *objects.Set {
	t.Helper()
	return expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t)
}

// wantPluginsTopology compares what the plugin makes of a topology with what the controller made of it.
func (u user) wantPluginsTopology(management *servers.Management, name, text string) {
	u.t.Helper()
	files := setOf(u.t, text)
	expect.OK(u.t, topology.Admit(files))
	got := tree{}
	for _, one := range files.Items {
		if one.MadeBy != "" {
			object := tree{}
			expect.OK(u.t, json.Unmarshal(one.Data, &object))
			got[one.Kind+" "+poolOf(object)] = withoutNames(object["spec"])
		}
	}
	made := u.kubectl(management, nil, "get", madeKinds[u.variables["WINDOWS_CLOUD"]], "-o", "json",
		"-l", "cluster.x-k8s.io/cluster-name="+name)
	var list struct{ Items []tree }
	expect.OK(u.t, json.Unmarshal(made, &list))
	want := tree{}
	for _, object := range list.Items {
		kind, spec := object["kind"].(string), withoutNames(object["spec"])
		role := kind + " " + poolOf(object)
		if !strings.HasPrefix(kind, "Windows") && !strings.HasPrefix(kind, "Machine") {
			spec = written(spec, got[role]) // the defaults are of a CRD, or of a webhook, that the plugin does not have
		}
		want[role] = spec
	}
	if len(want) < 10 {
		u.t.Errorf("compared only %d objects", len(want))
	}
	expect.Same(u.t, "what the plugin makes of the topology", want, got)
}

// written is the part of a value that another one has as well, whatever it has there.
func written(value, other any) any {
	switch value := value.(type) {
	case tree:
		other, _ := other.(tree)
		part := tree{}
		for name, one := range value {
			if there, ok := other[name]; ok {
				part[name] = written(one, there)
			}
		}
		return part
	case []any:
		if other, _ := other.([]any); len(other) == len(value) {
			for i := range value {
				value[i] = written(value[i], other[i])
			}
		}
	}
	return value
}

// poolOf is the name in the topology, empty for what is no pool's.
func poolOf(object tree) string {
	labels, _ := object["metadata"].(tree)["labels"].(tree)
	pool, _ := labels["topology.cluster.x-k8s.io/deployment-name"].(string)
	return pool
}

// withoutNames is a value in which references have no names, because those end with random characters.
func withoutNames(value any) any {
	switch value := value.(type) {
	case tree:
		if kind, _ := value["kind"].(string); strings.HasSuffix(kind, "Template") {
			delete(value, "name")
		}
		for name, one := range value {
			value[name] = withoutNames(one)
		}
	case []any:
		for i, one := range value {
			value[i] = withoutNames(one)
		}
	}
	return value
}
