package diff

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var update = flag.Bool("update", false, "write the golden files")

// vsphereFile is a pool of the package preview; its lines below are replaced.
const (
	vsphereFile    = "../preview/testdata/vsphere.yaml"
	configLine     = "{template: {spec: {bootstrapDeadlineSeconds: 1500}}}"
	deploymentName = "kind: MachineDeployment\nmetadata: {name: windows}"
	configName     = "kind: WindowsBootstrapConfigTemplate\nmetadata: {name: windows}"
	configRef      = "kind: WindowsBootstrapConfigTemplate, name: windows}"
)

func edited(t *testing.T, text string, oldnew ...string) string {
	t.Helper()
	for pair := range slices.Chunk(oldnew, 2) {
		if !strings.Contains(text, pair[0]) {
			t.Fatalf("the files have no %q", pair[0])
		}
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

func pool(t *testing.T, oldnew ...string) string {
	t.Helper()
	return edited(t, string(expect.Got(os.ReadFile(vsphereFile))(t)), oldnew...)
}

func compare(t *testing.T, before, after, machine string) string {
	t.Helper()
	side := func(named, text string) Side {
		return Side{Named: named, Files: expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t)}
	}
	return expect.Got(Text(side("old.yaml", before), side("new.yaml", after), machine))(t)
}

// renamed is a new template for the config, with this spec.
func renamed(t *testing.T, spec string) string {
	t.Helper()
	return pool(t, configLine, "{template: {spec: "+spec+"}}",
		configName, strings.Replace(configName, "windows}", "windows-2}", 1), configRef,
		strings.Replace(configRef, "windows}", "windows-2}", 1))
}

const wide = `{bootstrapDeadlineSeconds: 1500, kubelet: {maxPods: 60}, node: {labels: {example.com/a: "1"}},
  custom: {files: [{path: 'C:\app.txt', content: "one\ntwo\nthree\n"}]}}`

// TestText has what a reviewer reads of usual changes.
func TestText(t *testing.T) {
	same := pool(t)
	for golden, c := range map[string]struct{ before, after string }{
		"same.txt":        {same, same},
		"version.txt":     {same, pool(t, "version: v1.36.3", "version: v1.36.4")},
		"template.txt":    {same, renamed(t, wide)},
		"file.txt":        {renamed(t, wide), renamed(t, strings.Replace(wide, `two\n`, `2\n`, 1))},
		"same-name.txt":   {same, pool(t, configLine, "{template: {spec: {bootstrapDeadlineSeconds: 1800}}}")},
		"vm.txt":          {same, pool(t, "        datacenter: dc\n", "        datacenter: dc\n        cpus: 8\n")},
		"replicas.txt":    {same, pool(t, "\n  clusterName: blue\n  template", "\n  replicas: 5\n  clusterName: blue\n  template")},
		"another-one.txt": {same, pool(t, deploymentName, strings.Replace(deploymentName, "windows", "other", 1))},
	} {
		t.Run(golden, func(t *testing.T) {
			got, path := compare(t, c.before, c.after, ""), "testdata/"+golden
			if *update {
				expect.OK(t, os.WriteFile(path, []byte(got), 0o600))
			}
			expect.Same(t, "go test ./cmd/clusterctl-windows/diff -update writes it", string(expect.Got(os.ReadFile(path))(t)), got)
			expect.Same(t, "a second call", got, compare(t, c.before, c.after, ""))
		})
	}
}

// TestEveryChangeIsShown: whatever of a plan differs is in the text, and what changes back has the opposite marks.
func TestEveryChangeIsShown(t *testing.T) {
	same := pool(t)
	for _, spec := range []string{
		"{bootstrapDeadlineSeconds: 1200}", "{kubelet: {maxPods: 60}}", "{kubelet: {log: {verbosity: 4}}}",
		"{node: {taints: []}}", "{node: {labels: {example.com/a: b}}}", "{network: {mode: Overlay, cni: Calico}}",
		"{windows: {timeZone: UTC}}", "{windows: {ntpServers: [time.example.com]}}",
		"{containerd: {pauseImage: registry.example.com/pause:3}}", "{reservations: {system: {memory: 3Gi}}}",
		`{custom: {preJoin: [{name: a, content: "Write-Output a"}]}}`,
	} {
		forth, back := compare(t, same, renamed(t, spec), ""), compare(t, renamed(t, spec), same, "")
		if !strings.Contains(forth, "the pool rolls, which replaces its machines: ") || !strings.Contains(forth, " A new node is") {
			t.Errorf("%s: %s", spec, forth)
		}
		added, removed := marks(forth)
		addedBack, removedBack := marks(back)
		if added+removed == 0 || added != removedBack || removed != addedBack {
			t.Errorf("%s: +%d -%d, and back +%d -%d", spec, added, removed, addedBack, removedBack)
		}
	}
}

func marks(text string) (added, removed int) {
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return added, removed
}

// TestSecretsAreMasked: a change of a Secret is told, and neither value.
func TestSecretsAreMasked(t *testing.T) {
	const canary, other = "canary-of-a-license", "another-canary-of-it"
	files := renamed(t, `{custom: {files: [{path: 'C:\app.txt', contentFrom: {secret: {name: app, key: license}}}]}}`) +
		"\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: app}\nstringData: {license: " + canary + "}\n"
	got := compare(t, files, strings.ReplaceAll(files, canary, other), "")
	if !strings.Contains(got, "@@ secrets @@\n A value that is masked differs.\n") || strings.Contains(got, "canary") {
		t.Error(got)
	}
	got = compare(t, pool(t), files, "")
	if strings.Contains(got, "canary") || !strings.Contains(got, `+writes C:\app.txt, with secrets`) {
		t.Error(got)
	}
}

// TestMachineOfAName: of several pools, the name means one; a name that neither version has is an error.
func TestMachineOfAName(t *testing.T) {
	two := pool(t) + "\n---\n" + deploymentOf(t, "second")
	if got := compare(t, pool(t), two, "second-1"); got != "MachineDeployment default/second is new; plan without --diff "+
		"shows what "+
		"its node gets.\n" {
		t.Errorf("got %q", got)
	}
	renamed := pool(t, deploymentName, strings.Replace(deploymentName, "windows", "second", 1))
	if got := compare(t, pool(t), renamed, "windows-1"); strings.Count(got, " is new") != 1 || strings.Count(got, " is gone") != 1 {
		t.Errorf("got %q", got)
	}
	if got := compare(t, two, pool(t), ""); !strings.HasSuffix(got, "\nMachineDeployment default/second is gone: deleting the "+
		"MachineDeployment in the cluster deletes its machines and their VMs.\n") {
		t.Errorf("got %q", got)
	}
	side := func(text string) Side {
		return Side{Named: "x", Files: expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t)}
	}
	_, err := Text(side(two), side(two), "nobody-1")
	if err == nil || !strings.HasPrefix(err.Error(), "cannot find Machine nobody-1") {
		t.Errorf("got %v", err)
	}
	_, err = Text(side(pool(t, configLine, "{template: {spec: {kubelet: {maxPods: -1}}}}")), side(two), "")
	if err == nil || !strings.HasPrefix(err.Error(), "x: WindowsBootstrapConfigTemplate") {
		t.Errorf("got %v", err)
	}
}

// deploymentOf is the MachineDeployment of the pool by another name.
func deploymentOf(t *testing.T, name string) string {
	t.Helper()
	for document := range strings.SplitSeq(pool(t), "---\n") {
		if strings.Contains(document, "kind: MachineDeployment\n") {
			return edited(t, document, deploymentName, strings.Replace(deploymentName, "windows", name, 1))
		}
	}
	t.Fatal("the files have no MachineDeployment")
	return ""
}

// TestTopology: Cluster API itself replaces the templates of a topology, under names that are not in the files.
func TestTopology(t *testing.T) {
	owned := strings.Replace(deploymentName, "}", `, labels: {topology.cluster.x-k8s.io/owned: ""}}`, 1)
	before := pool(t, deploymentName, owned)
	got := compare(t, before, edited(t, before, "template: windows-2022", "template: windows-2025"), "")
	const want = "MachineDeployment default/windows: the pool rolls, which replaces its machines: the topology replaces " +
		"WindowsMachineTemplate windows. A new node is different:\n"
	if !strings.HasPrefix(got, want) {
		t.Error(got)
	}
}

// TestNotesHaveNoPlaces: a comment above an object changes no node.
func TestNotesHaveNoPlaces(t *testing.T) {
	files := &objects.Set{Items: []objects.Object{{Place: "a.yaml: document 1, line 3"}, {Place: "a.yaml: document 1, line 30"}, {}}}
	got := withoutPlaces([]string{"the pool in a.yaml: document 1, line 30, of a class", "another"}, files)
	expect.Same(t, "notes", []string{"the pool in the files, of a class", "another"}, got)
}

// TestEdits: whatever two lists are, the edits make one of the other.
func TestEdits(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "", ""},
		{"a b c", "a b c", "  a  b  c"},
		{"", "a", " +a"},
		{"a", "", " -a"},
		{"a b c d", "a x c d", "  a -b +x  c  d"},
		{"a b c", "c a b", " +c  a  b -c"},
		{"a b a b", "a b a", "  a  b  a -b"},
	} {
		got := ""
		for _, one := range edits(strings.Fields(c.before), strings.Fields(c.after)) {
			got += fmt.Sprintf(" %c%s", one.mark, one.line)
		}
		expect.Same(t, c.before+" and "+c.after, c.want, got)
	}
	large := slices.Repeat([]string{"x"}, 3000)
	if got := edits(slices.Concat(large, []string{"a"}), slices.Concat([]string{"b"}, large)); len(got) == 0 {
		t.Error("large files have no edits")
	}
}
