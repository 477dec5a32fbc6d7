package scripts_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// cloudConfig is user data as YAML readers see it.
type cloudConfig struct {
	WriteFiles []file   `json:"write_files"`
	Runcmd     []string `json:"runcmd"`
}

type file struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Encoding    string `json:"encoding"`
	Content     string `json:"content"`
}

// wanted is what a plan becomes, said once more from the contract with cloudbase-init.
func wanted(plan []byte) cloudConfig {
	sum := sha256.Sum256(plan)
	folder := `C:\Windows\Temp\capwin-` + hex.EncodeToString(sum[:])[:16]
	item := func(name string, content []byte) file {
		return file{Path: folder + `\` + name, Permissions: "0600", Encoding: "gz+b64", Content: string(content)}
	}
	return cloudConfig{
		WriteFiles: []file{
			item("agent.ps1", []byte(scripts.Agent())), item("loader.ps1", []byte(scripts.Loader())), item("plan.json", plan),
		},
		Runcmd: []string{
			`@set "PATH=%SystemRoot%\Sysnative\WindowsPowerShell\v1.0;%PATH%"`,
			`@powershell.exe -NoProfile -NonInteractive -ExecutionPolicy RemoteSigned -File "` + folder + `\loader.ps1"`,
			`@rd /s /q "` + folder + `"`,
		},
	}
}

// unpacked reads user data as cloudbase-init does: YAML, base64, gzip.
func unpacked(t *testing.T, userData []byte) cloudConfig {
	t.Helper()
	var got cloudConfig
	expect.OK(t, yaml.UnmarshalStrict(userData, &got))
	for i := range got.WriteFiles {
		packed := expect.Got(base64.StdEncoding.DecodeString(got.WriteFiles[i].Content))(t)
		reader := expect.Got(gzip.NewReader(bytes.NewReader(packed)))(t)
		got.WriteFiles[i].Content = string(expect.Got(io.ReadAll(reader))(t))
	}
	return got
}

// randomPlan has any length up to some lines of a blob, any bytes, and often words that mean something elsewhere.
func randomPlan(random *rand.Rand) []byte {
	words := []string{
		"@@HASH@@", "\n- path: 'C:\\Windows\\x.ps1'\n", "\nruncmd:\n- calc\n", "## template: jinja\n", "{{ ds.meta_data }}", "'@\n",
		"Content-Type: multipart/mixed\n\n", "<powershell>", "#cloud-config\n", "%PATH%", "\r\n\r\n", "\u00fc",
		`C:\Windows\Temp\capwin-`,
	}
	var plan []byte
	for range random.IntN(60) {
		if random.IntN(3) == 0 {
			plan = append(plan, words[random.IntN(len(words))]...)
			continue
		}
		for range random.IntN(200) {
			plan = append(plan, byte(random.UintN(256))) //nolint:gosec // because it is below 256
		}
	}
	return plan
}

// Whatever the plan, cloudbase-init and PowerShell see the same: nothing but the folder and the content of plan.json differs.
func TestUserDataOfRandomPlans(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // because every run must see the same plans
	seen := map[string]bool{}
	for i := range 1000 {
		plan := randomPlan(random)
		userData := scripts.UserData(plan)
		if diff := plainness(userData); diff != "" {
			t.Fatalf("plan %d: %s", i, diff)
		}
		expect.Same(t, fmt.Sprintf("plan %d", i), wanted(plan), unpacked(t, userData))
		back, err := scripts.Plan(userData)
		if err != nil || !bytes.Equal(back, plan) {
			t.Fatalf("plan %d does not come back: %v", i, err)
		}
		seen[rest(t, string(userData))] = true
	}
	if len(seen) != 1 {
		t.Errorf("user data around folder and plan's content has %d forms", len(seen))
	}
}

// plainness says what an editor, YAML or cloudbase-init could stumble over.
func plainness(userData []byte) string {
	if !bytes.HasPrefix(userData, []byte("#cloud-config\n")) || !bytes.HasSuffix(userData, []byte("\n")) {
		return "it does not begin or end as it should"
	}
	for number, line := range strings.Split(strings.TrimSuffix(string(userData), "\n"), "\n") {
		if line == "" || len(line) > 1004 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Sprintf("line %d: %.40q of %d characters", number+1, line, len(line))
		}
	}
	for _, word := range []string{"Content-Type", "template:", "{{", "{%", "<script", "<powershell", "@@"} {
		if bytes.Contains(userData, []byte(word)) {
			return "it contains " + word
		}
	}
	return ""
}

// rest is user data without the folder's name and the plan's content.
func rest(t *testing.T, userData string) string {
	t.Helper()
	userData = strings.ReplaceAll(userData, folderOf(t, userData), "")
	begin := strings.LastIndex(userData, "content: |\n")
	return userData[:begin] + userData[strings.LastIndex(userData, "runcmd:"):]
}
