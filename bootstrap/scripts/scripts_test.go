package scripts_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// The scripts run as SYSTEM on every node: a change of them is a decision, made here. The vectors in ../plan/vectors and
// a lint for Windows Server 2016 and 2019 must hold for what is pinned.
const (
	agentHash  = "63fa5b12a4220dec4625b85c61224223a6e2d7263e260cb8ea6cf406ca051354"
	loaderHash = "f9c6d63d6d379711fc0c10ae04e449884e7bf71a5e09004f679cd40c074a2de6"
)

// maxBare is the most that user data may take without a plan.
const maxBare = 26_000

func hash(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPinned(t *testing.T) {
	if got := hash([]byte(scripts.Agent())); got != agentHash {
		t.Errorf("the packed agent is %s, pinned is %s", got, agentHash)
	}
	if got := hash(read(t, "loader.ps1")); got != loaderHash {
		t.Errorf("the loader is %s, pinned is %s", got, loaderHash)
	}
}

func TestSize(t *testing.T) {
	bare := len(scripts.UserData(nil))
	if bare > maxBare {
		t.Errorf("%d bytes without a plan, more than %d", bare, maxBare)
	}
	t.Logf("agent %d bytes packed, user data %d without a plan", len(scripts.Agent()), bare)
}

// Windows PowerShell 5.1 reads a script without BOM in the code page of the machine.
func TestPlainText(t *testing.T) {
	paths, err := filepath.Glob("*.ps1")
	if err != nil || len(paths) != 3 {
		t.Fatalf("scripts %v (%v), want three", paths, err)
	}
	for _, path := range paths {
		data := read(t, path)
		for number, line := range strings.Split(string(data), "\n") {
			for _, char := range line {
				if char < ' ' || char > '~' {
					t.Errorf("%s:%d: character %U", path, number+1, char)
				}
			}
			if len(line) > 150 {
				t.Errorf("%s:%d: %d characters in a line", path, number+1, len(line))
			}
		}
	}
}

// The constant text must keep out of the way of cloudbase-init's other formats, and of its own places.
func TestConstantWords(t *testing.T) {
	text := string(scripts.UserData([]byte("{}")))
	for word, reason := range map[string]string{
		"@@":                      "a place that nothing was put in",
		"multipart":               "MIME",
		"<powershell>":            "EC2Config",
		"<script>":                "EC2Config",
		"template: jinja":         "jinja",
		"Invoke-Expression":       "data as code",
		"\r":                      "a checkout with other line ends changes the hash",
		"kubeadm":                 "the scripts know no Kubernetes",
		"vsphere":                 "the scripts know no cloud",
		"l2bridge":                "the scripts know no network mode",
		"os=windows":              "the scripts know no taint",
		"ConvertTo-SecureString ": "no password in a script",
	} {
		if strings.Contains(strings.ToLower(text+scripts.Agent()), strings.ToLower(word)) {
			t.Errorf("the scripts contain %q: %s", word, reason)
		}
	}
	if !strings.HasPrefix(text, "#ps1_sysnative\n") {
		t.Errorf("user data begins with %q", text[:20])
	}
}

// Packing must take nothing but comments, blank lines and blanks around lines.
func TestAgentKeepsAllCode(t *testing.T) {
	var code []string
	for _, name := range []string{"agent.ps1", "steps.ps1"} {
		for line := range strings.Lines(string(read(t, name))) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				code = append(code, line)
			}
		}
	}
	packed := scripts.Agent()
	begin, end := "<#", "#>"
	inComment := false
	for _, line := range code {
		inComment = inComment || strings.HasPrefix(line, begin)
		if !inComment && !strings.Contains(packed, line+"\n") {
			t.Errorf("lost: %s", line)
		}
		inComment = inComment && !strings.HasSuffix(line, end)
	}
	if strings.Contains(packed, begin) || strings.Contains(packed, "\n\n") {
		t.Error("comments or blank lines are left")
	}
	// The only lines that keep their blanks are those of here-strings, where blanks are data.
	if !strings.Contains(packed, "\n    [MarshalAs(UnmanagedType.LPWStr)] string method") {
		t.Error("a here-string has lost its blanks")
	}
}

func TestPlanRoundTrip(t *testing.T) {
	noise := bytes.Repeat([]byte("0123456789abcdef\x00\xff'@\n@@AGENT@@ @@PLAN@@"), 5000)
	for i := range noise {
		noise[i] ^= byte(i * i >> 3 & 0xff) // too uneven to pack well: many lines
	}
	for _, test := range []struct {
		name string
		plan []byte
	}{
		{"empty", nil}, {"small", []byte(`{"version":1}`)}, {"end of a here-string", []byte("'@\nexit\n")}, {"long", noise},
	} {
		t.Run(test.name, func(t *testing.T) {
			userData := scripts.UserData(test.plan)
			got, err := scripts.Plan(userData)
			if err != nil || !bytes.Equal(got, test.plan) {
				t.Fatalf("%d bytes come back as %d (%v)", len(test.plan), len(got), err)
			}
			if !bytes.Equal(userData, scripts.UserData(test.plan)) {
				t.Error("a second packing differs")
			}
			for number, line := range strings.Split(string(userData), "\n") {
				if len(line) > 1000 {
					t.Errorf("line %d has %d characters", number+1, len(line))
				}
			}
		})
	}
}

// What is not ours must not pass for ours.
func TestPlanRefuses(t *testing.T) {
	good := string(scripts.UserData([]byte(`{"version":1}`)))
	begin := strings.LastIndex(good, "H4sI")
	for _, test := range []struct{ name, userData, want string }{
		{"nothing", "", "not that of this release"},
		{"another script", "#ps1_sysnative\nexit 0\n", "not that of this release"},
		{"a byte of the agent", strings.Replace(good, "H4sI", "H4sJ", 1), "not that of this release"},
		{"a line more", good + "calc.exe\n", "not that of this release"},
		{"a blob that is no base64", good[:begin] + "****" + good[begin:], "unpack plan"},
		{"a blob that is no gzip", good[:begin] + "AAAA" + good[begin:], "unpack plan"},
		{"half a blob", good[:begin+16] + good[begin+32:], "unpack plan"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := scripts.Plan([]byte(test.userData)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// The gzip header must carry no time and no name, or the same plan would give other user data each second.
func TestGzipIsDeterministic(t *testing.T) {
	packed := scripts.Gzip([]byte("plan"))
	if want := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff}; !bytes.Equal(packed[:10], want) {
		t.Errorf("header % x, want % x", packed[:10], want)
	}
}
