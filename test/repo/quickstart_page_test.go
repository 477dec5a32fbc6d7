package repo

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The commands that make Secrets are those in the head of the flavor, which test/suites/release runs.
func TestSecretsOfTheQuickStart(t *testing.T) {
	flavor := string(expect.Got(os.ReadFile(filepath.Join(root, "templates", "cluster-template-windows.yaml")))(t))
	head, _, _ := strings.Cut(flavor, "apiVersion:")
	head = oneLine(strings.ReplaceAll(strings.ReplaceAll(head, "\n#", "\n"), "\\\n", " "))
	asInTheHead := strings.NewReplacer(`"$CLUSTER"`, "NAME", `"$CLUSTER-vsphere-cloud-secret"`, "NAME-vsphere-cloud-secret",
		`"${VSPHERE_SERVER%%:*}"`, "VCENTER", `\`, " ", "|", "| ")
	found := 0
	for _, command := range commandsOf(t, "A new cluster on vSphere") {
		if !strings.HasPrefix(command, "kubectl create secret") {
			continue
		}
		found++
		if want := oneLine(asInTheHead.Replace(command)); !strings.Contains(head, want) {
			t.Errorf("the head of the flavor has not:\n%s", want)
		}
	}
	expect.Same(t, "commands that make Secrets", 2, found)
}

// The webhooks of other providers must answer before anything is applied, and clusterctl does not wait for them by itself. Ours
// have none.
func TestInitWaits(t *testing.T) {
	found := 0
	for _, one := range initCommands(t) {
		file, command := one[0], one[1]
		if !strings.Contains(command, "kubeadm") {
			continue
		}
		found++
		if !strings.Contains(command, "--wait-providers") {
			t.Errorf("%s does not wait for the providers: %s", file, command)
		}
	}
	if found < 7 {
		t.Errorf("%d commands install other providers, and there are more", found)
	}
}

// clusterctl does not install the vSphere provider without an account (config/base/credentials.yaml of v1.16.1), so the reader
// has been told to set it.
func TestInitHasAccount(t *testing.T) {
	found := 0
	for _, one := range initCommands(t) {
		if !strings.Contains(one[1], "vsphere:") {
			continue
		}
		found++
		text := string(expect.Got(os.ReadFile(one[0]))(t))
		before, _, _ := strings.Cut(text, "vsphere:v")
		head, _, _ := strings.Cut(text, "\napiVersion:")
		for _, name := range []string{"VSPHERE_USERNAME", "VSPHERE_PASSWORD"} {
			exported := regexp.MustCompile(`(?m)^export .*\b` + name + `=`).MatchString(before)
			if !exported && !strings.Contains(head, "\n#   "+name+" ") {
				t.Errorf("%s does not say to set %s before: %s", one[0], name, one[1])
			}
		}
	}
	if found < 4 {
		t.Errorf("%d commands install the vSphere provider, and there are more", found)
	}
}

// Who copies a command gets the versions of other providers that the tests have, and which docs/install.md lists.
func TestInitPinsVersions(t *testing.T) {
	tested, table := testedProviders(t), string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "install.md")))(t))
	for provider, version := range tested {
		if !strings.Contains(table, version) && !strings.HasPrefix(provider, "ipam ") {
			t.Errorf("docs/install.md does not list %s %s", provider, version)
		}
	}
	flag := regexp.MustCompile(`(--core|--bootstrap|-b|--control-plane|-c|--infrastructure|-i|--addon|--ipam) (\S+)`)
	long := map[string]string{"b": "bootstrap", "c": "control-plane", "i": "infrastructure"}
	used := map[string]bool{}
	for _, one := range initCommands(t) {
		file, command, kinds := one[0], one[1], map[string]bool{}
		for _, found := range flag.FindAllStringSubmatch(command, -1) {
			kind := strings.TrimLeft(found[1], "-")
			kind = cmp.Or(long[kind], kind)
			kinds[kind] = true
			for provider := range strings.SplitSeq(found[2], ",") {
				name, version, _ := strings.Cut(strings.TrimRight(provider, "`):"), ":")
				if used[kind+" "+name] = true; name != "windows" && version != tested[kind+" "+name] {
					t.Errorf("%s: %s is %q, and tests have %q: %s", file, name, version, tested[kind+" "+name], command)
				}
			}
		}
		if kinds["addon"] && len(kinds) != 5 { // a provider that the command does not name is the newest
			t.Errorf("%s has %v, and not all five kinds of providers: %s", file, kinds, command)
		}
	}
	for provider := range tested {
		if !used[provider] {
			t.Errorf("no command installs %s", provider)
		}
	}
}

// clusterctl does not know our provider by itself: a page gives it the configuration, and the head of a flavor says where it is.
func TestClusterctlIsConfigured(t *testing.T) {
	for _, one := range initCommands(t) {
		if strings.HasSuffix(one[0], ".md") && strings.Contains(one[1], "windows") && !strings.Contains(one[1], "--config ") {
			t.Errorf("%s gives clusterctl no configuration: %s", one[0], one[1])
		}
	}
	for _, file := range expect.Got(filepath.Glob(filepath.Join(root, "templates", "cluster-template-*.yaml")))(t) {
		head, _, _ := strings.Cut(string(expect.Got(os.ReadFile(file))(t)), "apiVersion:")
		if !strings.Contains(head, "docs/install.md") || !strings.Contains(head, "--config out/repository/clusterctl.yaml") {
			t.Errorf("%s does not say where clusterctl's configuration is", file)
		}
	}
}

// testedProviders are other providers, by kind and name, and the versions that tests have of them.
func testedProviders(t *testing.T) map[string]string {
	t.Helper()
	core := "v" + moduleVersions(t, ".")["sigs.k8s.io/cluster-api"]
	tested := map[string]string{"core cluster-api": core, "bootstrap kubeadm": core, "control-plane kubeadm": core}
	pin := regexp.MustCompile(`path: "(\S+)", version: "(\S+)"`)
	names := map[string]string{
		"sigs.k8s.io/cluster-api-provider-vsphere":         "infrastructure vsphere",
		"sigs.k8s.io/cluster-api-provider-azure":           "infrastructure azure",
		"sigs.k8s.io/cluster-api-addon-provider-helm":      "addon helm",
		"sigs.k8s.io/cluster-api-ipam-provider-in-cluster": "ipam in-cluster",
	}
	for _, file := range expect.Got(filepath.Glob(filepath.Join(root, "test", "kit", "servers", "*.go")))(t) {
		for _, found := range pin.FindAllStringSubmatch(string(expect.Got(os.ReadFile(file))(t)), -1) {
			if name := names[found[1]]; name != "" {
				tested[name] = found[2]
			}
		}
	}
	if len(tested) != len(names)+3 {
		t.Fatalf("the tests have %v, and there are more", tested)
	}
	return tested
}

// initCommands are those by which readers install providers, each behind the name of its file.
func initCommands(t *testing.T) (all [][2]string) {
	t.Helper()
	init := regexp.MustCompile(`clusterctl .*\binit -.*`)
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/contributing/*.md", "templates/*.yaml"} {
		for _, file := range expect.Got(filepath.Glob(filepath.Join(root, pattern)))(t) {
			text := strings.ReplaceAll(string(expect.Got(os.ReadFile(file))(t)), "\\\n", " ")
			for _, command := range init.FindAllString(text, -1) {
				all = append(all, [2]string{file, command})
			}
		}
	}
	return all
}

// clusterctl moves neither an AzureClusterIdentity nor a Secret without its label.
func TestIdentitiesMove(t *testing.T) {
	identity := regexp.MustCompile(`(?s)kind: AzureClusterIdentity\n.*?spec:\n`)
	secret := regexp.MustCompile(`kubectl (-n \S+ )?create secret generic azure [^\n]*(\n  [^\n]*)*\n([^\n]*)\n`)
	for _, page := range []string{"quick-start.md", "azure-credentials.md"} {
		text := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", page)))(t))
		identities, secrets := identity.FindAllString(text, -1), secret.FindAllStringSubmatch(text, -1)
		if len(identities) == 0 || len(secrets) == 0 {
			t.Errorf("%s has %d identities and %d Secrets", page, len(identities), len(secrets))
		}
		for _, one := range identities {
			if !strings.Contains(one, `labels: {clusterctl.cluster.x-k8s.io/move-hierarchy: "true"}`) {
				t.Errorf("%s: clusterctl does not move\n%s", page, one)
			}
		}
		for _, one := range secrets {
			if want := "label secret azure clusterctl.cluster.x-k8s.io/move=true"; !strings.HasSuffix(one[3], want) {
				t.Errorf("%s: a Secret is followed by %q, want %s", page, one[3], want)
			}
		}
	}
}

// What a reader pastes into zsh has no comments: there # begins a word, and an apostrophe in it a text without an end.
func TestExportsHaveNoComments(t *testing.T) {
	page := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "quick-start.md")))(t))
	exports := regexp.MustCompile(`(?m)^export .*`).FindAllString(page, -1)
	if len(exports) < 10 {
		t.Errorf("%d lines export, and there are more", len(exports))
	}
	for _, line := range exports {
		if strings.Contains(line, " #") {
			t.Errorf("docs/quick-start.md: a comment in %s", line)
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// The README has a pool of each cloud. test/suites/release applies that on vSphere; this is the spec of the one in Azure.
func TestAzurePoolOfTheReadme(t *testing.T) {
	readme := string(expect.Got(os.ReadFile(filepath.Join(root, "README.md")))(t))
	blocks := strings.Split(readme, "```yaml\n")
	if len(blocks) != 3 {
		t.Fatalf("README.md has %d blocks of YAML, want a pool and what is another in Azure", len(blocks)-1)
	}
	text, _, _ := strings.Cut(blocks[2], "```\n")
	var spec infrav1.WindowsMachineSpec
	expect.OK(t, yaml.UnmarshalStrict([]byte(text), &spec))
	if spec.Azure == nil || spec.Azure.VMSize == "" || spec.Azure.Image.CommunityGallery.Version == "" {
		t.Errorf("the pool in Azure is %+v", spec)
	}
}

// commandsOf are the commands of a section in docs/quick-start.md.
func commandsOf(t *testing.T, section string) (commands []string) {
	t.Helper()
	page := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "quick-start.md")))(t))
	_, rest, found := strings.Cut(page, "\n## "+section+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatalf("docs/quick-start.md has no section %s", section)
	}
	for _, block := range strings.Split(text, "```sh\n")[1:] {
		block, _, _ = strings.Cut(block, "```\n")
		block = regexp.MustCompile(`(\\|\|)\n *`).ReplaceAllString(block, "$1")
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "export ") && !strings.HasPrefix(line, "#") {
				commands = append(commands, line)
			}
		}
	}
	return commands
}
