package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// The first pool is this many commands away: lines of shell with all that is piped, but not the values of the reader's own, which
// are exported. And it leaves this many files to be kept.
func TestCommandsOfTheQuickStart(t *testing.T) {
	for section, most := range map[string]int{
		"A new cluster on vSphere":        12,
		"A new cluster in Azure":          12,
		"A pool for a cluster on vSphere": 5,
		"A pool for a cluster in Azure":   5,
	} {
		commands, files := commandsOf(t, section)
		if len(commands) > most || len(commands) < 4 {
			t.Errorf("%s: %d commands, want at most %d:\n%s", section, len(commands), most, strings.Join(commands, "\n"))
		}
		if len(files) != 1 {
			t.Errorf("%s: the files %v, want one", section, files)
		}
		if last := commands[len(commands)-1]; !strings.HasPrefix(last, "kubectl wait --for=condition=Available ") {
			t.Errorf("%s ends with %q, and should with the first pool", section, last)
		}
	}
	pod, _ := commandsOf(t, "A pod")
	if all, _ := commandsOf(t, "A new cluster on vSphere"); len(all)+len(pod)-1 > 12 { // a new cluster has the add-ons
		t.Errorf("%d commands to the first pod", len(all)+len(pod)-1)
	}
	for n, want := range []string{
		"kubectl --kubeconfig workload.kubeconfig wait --for=jsonpath='{.status.phase}'=Running", "clusterctl windows smoke",
	} {
		if got := pod[len(pod)-2+n]; !strings.HasPrefix(got, want) {
			t.Errorf("command %d of a pod is %q, want %s", len(pod)-1+n, got, want)
		}
	}
}

// The commands that make Secrets are those in the head of the flavor, which test/release runs.
func TestSecretsOfTheQuickStart(t *testing.T) {
	flavor := string(expect.Got(os.ReadFile(filepath.Join(root, "templates", "cluster-template-windows.yaml")))(t))
	head, _, _ := strings.Cut(flavor, "apiVersion:")
	head = oneLine(strings.ReplaceAll(strings.ReplaceAll(head, "\n#", "\n"), "\\\n", " "))
	asInTheHead := strings.NewReplacer(`"$CLUSTER"`, "NAME", `"$CLUSTER-vsphere-cloud-secret"`, "NAME-vsphere-cloud-secret",
		`"${VSPHERE_SERVER%%:*}"`, "VCENTER", `\`, " ", "|", "| ")
	commands, _ := commandsOf(t, "A new cluster on vSphere")
	found := 0
	for _, command := range commands {
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
	init := regexp.MustCompile(`clusterctl .*\binit .*`)
	found := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "templates/*.yaml"} {
		for _, file := range expect.Got(filepath.Glob(filepath.Join(root, pattern)))(t) {
			text := string(expect.Got(os.ReadFile(file))(t))
			for _, command := range init.FindAllString(strings.ReplaceAll(text, "\\\n", " "), -1) {
				if !strings.Contains(command, "kubeadm") {
					continue
				}
				found++
				if !strings.Contains(command, "--wait-providers") {
					t.Errorf("%s does not wait for the providers: %s", file, command)
				}
			}
		}
	}
	if found < 7 {
		t.Errorf("%d commands install other providers, and there are more", found)
	}
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

// The README has a pool of each cloud. test/release applies that on vSphere; this is the spec of the one in Azure.
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

var (
	hereDocument = regexp.MustCompile(`(?s)<<END\n.*?\nEND\n`)
	written      = regexp.MustCompile(`(?:>|\| tee) *"?([^ "|]+\.yaml)`)
)

// commandsOf are the commands of a section in docs/quick-start.md, and the files that they write.
func commandsOf(t *testing.T, section string) (commands, files []string) {
	t.Helper()
	page := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "quick-start.md")))(t))
	_, rest, found := strings.Cut(page, "\n## "+section+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatalf("docs/quick-start.md has no section %s", section)
	}
	for _, block := range strings.Split(text, "```sh\n")[1:] {
		block, _, _ = strings.Cut(block, "```\n")
		block = hereDocument.ReplaceAllString(block, "")
		block = regexp.MustCompile(`(\\|\|)\n *`).ReplaceAllString(block, "$1")
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "export ") && !strings.HasPrefix(line, "#") {
				commands = append(commands, line)
			}
		}
		for _, file := range written.FindAllStringSubmatch(block, -1) {
			files = append(files, file[1])
		}
	}
	return commands, files
}
