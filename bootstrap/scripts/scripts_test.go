package scripts_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	return expect.Got(os.ReadFile(path))(t)
}

// Packing must take nothing but comments, blank lines and blanks around lines.
func TestPackingKeepsAllCode(t *testing.T) {
	keepsAllCode(t, scripts.Loader(), "loader.ps1")
	keepsAllCode(t, scripts.Agent(), "agent.ps1", "steps.ps1")
	for _, ofPlans := range []string{"../windows/datadrive.ps1", "../windows/domainjoin.ps1", "../windows/gmsaplugin.ps1"} {
		keepsAllCode(t, scripts.Bare(string(read(t, ofPlans))), ofPlans)
	}
	// The only lines that keep their blanks are those of here-strings, where blanks are data.
	if !strings.Contains(scripts.Agent(), "\n    [MarshalAs(UnmanagedType.LPWStr)] string method") {
		t.Error("a here-string has lost its blanks")
	}
}

func keepsAllCode(t *testing.T, packed string, names ...string) {
	t.Helper()
	var code []string
	for _, name := range names {
		for line := range strings.Lines(string(read(t, name))) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				code = append(code, line)
			}
		}
	}
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
}

// noise packs badly: it makes many lines.
func noise() []byte {
	data := bytes.Repeat([]byte("0123456789abcdef\x00\xff'@\n@@HASH@@ @@PLAN@@"), 5000)
	for i := range data {
		data[i] ^= byte(i * i >> 3 & 0xff)
	}
	return data
}

func TestPlanRoundTrip(t *testing.T) {
	for _, test := range []struct {
		name string
		plan []byte
	}{
		{"empty", nil},
		{"small", []byte(`{"version":1}`)},
		{"words of YAML", []byte("\n- path: 'C:\\x'\nruncmd:\n- calc\n")},
		{"long", noise()},
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
		})
	}
}

// What is not ours must not pass for ours: each place, damaged in its own way.
func TestPlanRefuses(t *testing.T) {
	plan := []byte(`{"version":1}`)
	good := string(scripts.UserData(plan))
	hash := folderOf(t, good)
	plans := strings.LastIndex(good, "H4sI")
	const notOurs, notWhole = "not rendered by this release", "unpack plan"
	replaced := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	for _, test := range []struct{ name, userData, want string }{
		{"nothing", "", notOurs},
		{"a script", "#ps1_sysnative\nexit 0\n", notOurs},
		{"a cloud-config", "#cloud-config\nruncmd:\n- calc.exe\n" + strings.Repeat("#", 9999), notOurs},
		{"the header", replaced("#cloud-config", "#Cloud-config"), notOurs},
		{"a path", replaced(`\plan.json`, `\plan.jsom`), notOurs},
		{"another folder", replaced(`C:\Windows\Temp`, `C:\Windows\Tempt`), notOurs},
		{"permissions", replaced("'0600'", "'0666'"), notOurs},
		{"encoding", replaced("gz+b64", "gzip+b64"), notOurs},
		{"a byte of the agent", replaced("H4sI", "H4sJ"), notOurs},
		{"a byte of the loader", changedByte(good, strings.Index(good, `loader.ps1'`)+200), notOurs},
		{"the program", replaced("powershell.exe", "powershell.com"), notOurs},
		{"its options", replaced("-NoProfile ", ""), notOurs},
		{"the set line", replaced("Sysnative", "Syswow64"), notOurs},
		{"the last line", replaced("@rd", "@md"), notOurs},
		{"a line more", good + "- 'calc.exe'\n", notOurs},
		{"CRLF", strings.ReplaceAll(good, "\n", "\r\n"), notOurs},
		{"one folder of five is another", replaced(hash, strings.Repeat("0", 16)), notOurs},
		{"a folder that is not the plan's", strings.ReplaceAll(good, hash, strings.Repeat("0", 16)), notWhole},
		{"a blob that is no base64", good[:plans] + "****" + good[plans:], notWhole},
		{"a blob that is no gzip", good[:plans] + "AAAA" + good[plans:], notWhole},
		{"half a blob", good[:plans+16] + good[plans+32:], notWhole},
		{"a blob with a line end", good[:plans+16] + "\n    " + good[plans+16:], notWhole},
		{"another plan's blob", swapped(good, []byte(`{"version":2}`)), notWhole},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.userData == good {
				t.Fatal("nothing is changed")
			}
			_, err := scripts.Plan([]byte(test.userData))
			expect.Says(t, test.name, err, test.want)
		})
	}
}

// Any byte that is changed is seen.
func TestPlanSeesEveryByte(t *testing.T) {
	good := scripts.UserData([]byte(`{"version":1}`))
	for i := range good {
		changed := bytes.Clone(good)
		changed[i] ^= 1
		if _, err := scripts.Plan(changed); err == nil {
			t.Fatalf("byte %d, %q, may be %q", i, good[i], changed[i])
		}
	}
}

func changedByte(text string, at int) string { return text[:at] + string(text[at]^1) + text[at+1:] }

// swapped puts the blob of another plan into user data.
func swapped(good string, plan []byte) string {
	const head, tail = "  content: |\n", "runcmd:\n"
	other := string(scripts.UserData(plan))
	cut := func(text string) (begin, end int) {
		return strings.LastIndex(text, head) + len(head), strings.LastIndex(text, tail)
	}
	begin, end := cut(good)
	first, last := cut(other)
	return good[:begin] + other[first:last] + good[end:]
}

// folderOf is the hash in the folder's name, which stands at five places.
func folderOf(t *testing.T, userData string) string {
	t.Helper()
	all := regexp.MustCompile(`C:\\Windows\\Temp\\capwin-([0-9a-f]{16})[\\"]`).FindAllStringSubmatch(userData, -1)
	if len(all) != 5 {
		t.Fatalf("the folder stands at %d places", len(all))
	}
	return all[0][1]
}

// The gzip header must carry no time and no name, or the same plan would give other user data each second.
func TestGzipIsDeterministic(t *testing.T) {
	packed := scripts.Gzip([]byte("plan"))
	if want := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff}; !bytes.Equal(packed[:10], want) {
		t.Errorf("header % x, want % x", packed[:10], want)
	}
}
