package scripts_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	return expect.Got(os.ReadFile(path))(t)
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
		{"nothing", "", "not rendered by this release"},
		{"another script", "#ps1_sysnative\nexit 0\n", "not rendered by this release"},
		{"a byte of the agent", strings.Replace(good, "H4sI", "H4sJ", 1), "not rendered by this release"},
		{"a line more", good + "calc.exe\n", "not rendered by this release"},
		{"a blob that is no base64", good[:begin] + "****" + good[begin:], "unpack plan"},
		{"a blob that is no gzip", good[:begin] + "AAAA" + good[begin:], "unpack plan"},
		{"half a blob", good[:begin+16] + good[begin+32:], "unpack plan"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := scripts.Plan([]byte(test.userData))
			expect.Says(t, test.name, err, test.want)
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
