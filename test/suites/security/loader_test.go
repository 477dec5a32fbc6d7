package security

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// TestLoader is about what stands where a user of the node can read or write, from cloudbase-init to the agent.
func TestLoader(t *testing.T) {
	t.Parallel()
	attempt(t, attack{
		by: "node user", tries: "looks for parts and secrets of golden plans in the event log of PowerShell",
		try: inGoldenPlans,
	}, attack{
		by: "node user", tries: "looks for parts of 1,000 plans in the event log of PowerShell",
		try: inRandomPlans,
	}, attack{
		by: "node user", tries: "makes the folder of the next machine's user data first, to own what SYSTEM runs",
		try: guessesFolder,
	}, attack{
		by: "node user", tries: "makes the agent's folder first, with a plan and an agent of their own",
		try: squatsRoot,
	})
	attempt(t, forgeries()...)
	attempt(t, markers()...)
}

// compiled is what may be logged: all texts that PowerShell and cmd.exe get.
func compiled(t *testing.T, userData []byte) string {
	t.Helper()
	config := readCloudConfig(t, userData)
	var all strings.Builder
	for _, file := range config.WriteFiles {
		if strings.HasSuffix(file.Path, ".ps1") {
			all.WriteString(unpackFile(t, file.Content))
		}
	}
	return all.String() + strings.Join(config.Runcmd, "\r\n")
}

// stagedConfig is user data as cloudbase-init reads it.
type stagedConfig struct {
	//nolint:tagliatelle // because cloud-config calls it so
	WriteFiles []struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	} `json:"write_files"`
	Runcmd []string `json:"runcmd"`
}

func readCloudConfig(t *testing.T, userData []byte) stagedConfig {
	t.Helper()
	var config stagedConfig
	expect.OK(t, yaml.Unmarshal(userData, &config))
	if len(config.WriteFiles) != 3 || len(config.Runcmd) != 3 {
		t.Fatalf("%d files and %d commands", len(config.WriteFiles), len(config.Runcmd))
	}
	return config
}

func unpackFile(t *testing.T, content string) string {
	t.Helper()
	packed := expect.Got(base64.StdEncoding.DecodeString(content))(t)
	return string(expect.Got(io.ReadAll(expect.Got(gzip.NewReader(bytes.NewReader(packed)))(t)))(t))
}

// pieceLength is so short that even 15 bytes of a packed plan would be found.
const pieceLength = 20

// piecesOf are all places of a text where a piece could begin.
func piecesOf(text string) map[string]bool {
	all := make(map[string]bool, len(text))
	for i := range len(text) - pieceLength + 1 {
		all[text[i:i+pieceLength]] = true
	}
	return all
}

// inCompiled looks for pieces of the plan's blob in what is compiled.
func inCompiled(t *testing.T, userData []byte, known map[string]bool) {
	t.Helper()
	blob := strings.ReplaceAll(readCloudConfig(t, userData).WriteFiles[2].Content, "\n", "")
	for i := range len(blob) - pieceLength + 1 {
		if known[blob[i:i+pieceLength]] {
			t.Fatalf("a piece of the plan is compiled: %s", blob[i:i+pieceLength])
		}
	}
}

func inGoldenPlans(t *testing.T) string {
	files := expect.Got(filepath.Glob("../../../bootstrap/testdata/golden/*.json"))(t)
	secrets := 0
	for _, file := range files {
		var text bytes.Buffer
		expect.OK(t, json.Compact(&text, expect.Got(os.ReadFile(file))(t)))
		userData := scripts.UserData(text.Bytes())
		said := compiled(t, userData)
		inCompiled(t, userData, piecesOf(said))
		for _, secret := range expect.Got(plan.Decode(text.Bytes()))(t).Redact {
			secrets++
			if strings.Contains(said, secret) {
				t.Errorf("%s: a secret of %d letters is compiled", file, len(secret))
			}
		}
	}
	if len(files) < 40 || secrets < len(files) {
		t.Errorf("%d plans with %d secrets", len(files), secrets)
	}
	return "nothing: what is compiled is the same for all"
}

func inRandomPlans(t *testing.T) string {
	random := rand.New(rand.NewPCG(3, 4))
	var first string
	var known map[string]bool
	for range 1000 {
		text := make([]byte, 100+random.IntN(5000))
		for i := range text {
			text[i] = byte(random.UintN(256)) //nolint:gosec // because it is below 256
		}
		userData := scripts.UserData(text)
		said := stagingFolder.ReplaceAllString(compiled(t, userData), "FOLDER")
		if first == "" {
			first, known = said, piecesOf(said)
		}
		if said != first {
			t.Fatal("what is compiled is not the same for two plans")
		}
		inCompiled(t, userData, known)
	}
	return "nothing: what is compiled is the same but for a hash"
}

var stagingFolder = regexp.MustCompile(`C:\\Windows\\Temp\\capwin-[0-9a-f]{16}`)

// renderWindows makes the user data of a machine that differs from others in what change does.
func renderWindows(t *testing.T, change func(*bootstrap.Input)) ([]byte, error) {
	t.Helper()
	in := bootstrap.Input{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "blue"},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.10", Port: 6443}},
		},
		Machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "win-1", UID: "uid-1"},
			Spec:       clusterv1.MachineSpec{Version: "v1.36.3"},
		},
		WindowsMachine: &infrav1.WindowsMachine{
			Spec: infrav1.WindowsMachineSpec{
				ProviderID: "vsphere://420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11", VSphere: &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 8192},
			},
			Status: infrav1.WindowsMachineStatus{ComputerName: "win-1"},
		},
		Config: &bootstrapv1.WindowsBootstrapConfig{}, Token: "abcdef.0123456789abcdef",
		ClusterCA: expect.Got(os.ReadFile("../../../bootstrap/testdata/ca.crt"))(t),
	}
	change(&in)
	data, err := bootstrap.Render(in)
	return data.Bytes(), err
}

// Two machines that a user can tell apart by nothing but their tokens, which the user does not know.
func guessesFolder(t *testing.T) string {
	one := expect.Got(renderWindows(t, func(*bootstrap.Input) {}))(t)
	other := expect.Got(renderWindows(t, func(in *bootstrap.Input) { in.Token = "abcdef.0123456789abcdeg" }))(t)
	if a, b := stagingFolder.Find(one), stagingFolder.Find(other); len(a) == 0 || bytes.Equal(a, b) {
		t.Errorf("the folders %s and %s do not depend on the token", a, b)
	}
	return "cannot know the name: 64 bits of a hash over the token"
}

// The user knows the UID of the Machine, which is no secret, and waits for the loader to take the user's files for kept ones.
func squatsRoot(t *testing.T) string {
	const root, theirs = `C:\ProgramData\capwin`, "throw 'their agent'"
	userData := expect.Got(renderWindows(t, func(*bootstrap.Input) {}))(t)
	vm := guest.NewMemoryVM("uid-1", "win-1", userData)
	simulated := &guest.Simulated{Dir: t.TempDir(), Files: map[string]string{
		root + `\plan.json`: `{"version":1,"machine":{"uid":"uid-1"}}`, root + `\agent.ps1`: theirs,
	}}
	ctx, off := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- simulated.Boot(ctx, vm) }()
	agent := filepath.Join(simulated.Dir, "C", "ProgramData", "capwin", "agent.ps1")
	wait.Until(t, "the agent's script", func() (any, bool) {
		text, err := os.ReadFile(agent)
		return err, err == nil && string(text) == scripts.Agent()
	})
	off()
	expect.OK(t, <-over)
	if access := expect.Got(expect.Got(windows.New(simulated.Dir))(t).Access(root))(t); !strings.HasPrefix(access, "O:BAD:P") {
		t.Errorf("the folder has the access %q", access)
	}
	return "their folder is removed, because Administrators do not own it"
}

// forgeries change what Plan must hold a stored Secret to: the plugin shows its plan as what the guest got.
func forgeries() []attack {
	good := string(scripts.UserData([]byte(`{"version":1}`)))
	hash := stagingFolder.FindString(good)
	var all []attack
	for _, c := range []struct{ what, old, with string }{
		{"the header", "#cloud-config", "#cloud-confiG"},
		{"the path of the plan", `\plan.json`, `\plan.jsoN`},
		{"the path of the loader", `\loader.ps1'`, `\loadeR.ps1'`},
		{"the folder of one file", hash, `C:\Windows\Temp\capwin-0000000000000000`},
		{"the agent", "H4sI", "H4sJ"},
		{"the command that starts PowerShell", "RemoteSigned", "UnrestrictEd"},
		{"the command that removes the folder", "@rd ", "@md "},
		{"the commands", "runcmd:\n", "runcmd:\n- 'calc.exe'\n"},
		{"the files", "write_files:\n", "write_files:\n- {path: 'C:\\x', content: x}\n"},
	} {
		all = append(all, attack{
			by: "tenant", tries: "stores a bootstrap Secret for another's machine, with a change of " + c.what,
			try: func(t *testing.T) string {
				forged := strings.Replace(good, c.old, c.with, 1)
				_, err := scripts.Plan([]byte(forged))
				if forged == good || err == nil {
					t.Error("it passes for ours")
				}
				return fmt.Sprintf("refused: %v", err)
			},
		})
	}
	loader := strings.Index(good, `\loader.ps1'`)
	return append(all, attack{
		by: "tenant", tries: "stores a bootstrap Secret for another's machine, with a change of one byte of the loader",
		try: func(t *testing.T) string {
			end := loader + strings.Index(good[loader:], "\n- path")
			for at := loader; at < end; at++ {
				if _, err := scripts.Plan([]byte(good[:at] + string(good[at]^1) + good[at+1:])); err == nil {
					t.Fatalf("byte %d may be changed", at)
				}
			}
			return fmt.Sprintf("refused: each of %d changes", end-loader)
		},
	}, attack{
		by: "tenant", tries: "stores a bootstrap Secret that names a folder of their own everywhere",
		try: func(t *testing.T) string {
			_, err := scripts.Plan([]byte(strings.ReplaceAll(good, hash, `C:\Windows\Temp\capwin-0000000000000000`)))
			expect.Says(t, "another folder", err, "not what this release renders")
			return fmt.Sprintf("refused: %v", err)
		},
	})
}

// markers are texts that would be something to cloudbase-init or PowerShell, stood they anywhere but in the packed plan.
func markers() []attack {
	var all []attack
	for _, c := range []struct{ what, text string }{
		{"a cloud-config", "#cloud-config\nruncmd: [calc.exe]\n"},
		{"more items of YAML", "\n- path: 'C:\\Windows\\x.ps1'\n  content: x\nruncmd:\n- calc.exe\n"},
		{"a document of YAML", "\n...\n---\nruncmd: [calc.exe]\n"},
		{"a jinja template", "## template: jinja\n{{ ds.meta_data }}{% raw %}"},
		{"a placeholder of our own", "@@HASH@@ @@PLAN@@ @@AGENT@@"},
		{"a MIME message", "Content-Type: multipart/mixed; boundary=b\n\n--b\n"},
		{"tags of EC2Config", "<powershell>calc.exe</powershell><script>calc.exe</script>"},
		{"the end of a here-string", "'@\ncalc.exe\n\"@\n"},
		{"variables of cmd.exe", "%PATH% & calc.exe | calc.exe"},
		{"letters that are not ASCII", "\u00fc\u2028\ufeff"},
	} {
		all = append(all, attack{by: "tenant", tries: "breaks out of the plan in user data with " + c.what, try: leavesPlan(c.text)})
	}
	return all
}

func leavesPlan(text string) func(t *testing.T) string {
	return func(t *testing.T) string {
		plain := expect.Got(renderWindows(t, func(*bootstrap.Input) {}))(t)
		got := expect.Got(renderWindows(t, func(in *bootstrap.Input) {
			in.Config.Spec.Custom.Files = []bootstrapv1.CustomFile{{Path: `C:\app\a.txt`, Content: text}}
			in.Config.Spec.Custom.PreJoin = []bootstrapv1.CustomScript{{Name: "one", Content: text}}
		}))(t)
		expect.Same(t, "user data around the plan", aroundPlan(t, plain), aroundPlan(t, got))
		if slices.ContainsFunc(got, func(b byte) bool { return b != '\n' && (b < ' ' || b > '~') }) {
			t.Error("user data is not plain ASCII")
		}
		inside := string(expect.Got(scripts.Plan(got))(t))
		expect.Same(t, "the plan in the file", inside, unpackFile(t, readCloudConfig(t, got).WriteFiles[2].Content))
		expect.OK(t, expect.Got(plan.Decode([]byte(inside)))(t).Validate())
		return "it stays data: nothing but the plan and its folder's name differs"
	}
}

// aroundPlan is user data without the plan's content and the folder's name.
func aroundPlan(t *testing.T, userData []byte) string {
	t.Helper()
	text := stagingFolder.ReplaceAllString(string(userData), "FOLDER")
	begin := strings.LastIndex(text, "content: |\n")
	return text[:begin] + text[strings.LastIndex(text, "runcmd:"):]
}
