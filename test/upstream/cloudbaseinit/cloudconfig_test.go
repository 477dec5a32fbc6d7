//go:build cloudbaseinit

package cloudbaseinit

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// document is a cloud-config that is not ours, and what becomes of it.
type document struct {
	name, reason, text string
	// files by their names in C:\t, batch is what cmd.exe runs.
	files map[string]string
	batch string
	// says is what the log complains about; empty for nothing at all.
	says string
}

// documents: what write_files and runcmd make of what we could have given them.
func documents() []document {
	packed := base64.StdEncoding.EncodeToString(scripts.Gzip([]byte("some text, and some text, and some text")))
	half := base64.StdEncoding.EncodeToString(scripts.Gzip([]byte("some text, and some text, and some text"))[:20])
	item := func(name, encoding, content string) string {
		return "- path: 'C:\\t\\" + name + "'\n  permissions: '0600'\n  encoding: " + encoding + "\n  content: " + content + "\n"
	}
	const head, run = "#cloud-config\nwrite_files:\n", "runcmd:\n- '@rem 1'\n"
	one := head + item("a", "gz+b64", packed) + run
	hello := map[string]string{"a": "some text, and some text, and some text"}
	const ran = "rem cmd\r\n@rem 1\r\n"
	const failed = "Processing plugin write_files failed"
	return []document{
		{"one line", "as editors make it", one, hello, ran, ""},
		{"many lines", "as ours", head + item("a", "gz+b64", "|\n    "+packed[:8]+"\n    "+packed[8:]) + run, hello, ran, ""},
		{"CRLF", "as Windows makes it", strings.ReplaceAll(one, "\n", "\r\n"), hello, ran, ""},
		{
			"commands first", "the order is that of a table",
			"#cloud-config\n" + run + one[len("#cloud-config\n"):len(one)-len(run)], hello, ran, "",
		},
		{"long name of the encoding", "is the same", head + item("a", "gzip+base64", packed) + run, hello, ran, ""},
		{
			"half a gzip", "raises, and commands run anyway",
			head + item("a", "gz+b64", half) + item("b", "b64", "aGk=") + run, nil, ran, failed,
		},
		{
			"no gzip", "is written as it is", head + item("a", "gz+b64", base64.StdEncoding.EncodeToString([]byte("text"))) + run,
			map[string]string{"a": "text"},
			ran, "Fail to decompress gzip content",
		},
		{"unknown encoding", "is text", head + item("a", "zstd", "x") + run, map[string]string{"a": "x"}, ran, "Unknown encoding"},
		{
			"no permissions", "warns", head + "- {path: 'C:\\t\\a', content: x}\n" + run,
			map[string]string{"a": "x"},
			ran, "Fail to process permissions",
		},
		{"no content", "is left out", head + "- path: 'C:\\t\\a'\n" + run, nil, ran, "Missing required keys"},
		{"a number", "is not text", head + item("a", "b64", "5") + run, nil, ran, failed},
		{
			"two pieces", "are one file",
			head + item("a", "b64", "aGk=") + strings.TrimSuffix(item("a", "b64", "aGk="), "\n") + "\n  append: true\n" + run,
			map[string]string{"a": "hihi"},
			ran, "",
		},
		{"an unknown plugin", "is left out", one + "bootcmd: [dir]\n", hello, ran, "'bootcmd' is currently not supported"},
		{"a command in parts", "is joined by blanks", head + item("a", "gz+b64", packed) + "runcmd:\n- ['@rem', 1]\n", hello, ran, ""},
		{
			"a mapping among the commands", "none runs", head + item("a", "gz+b64", packed) + "runcmd:\n- '@rem 1'\n- a: b\n", hello, "",
			"An error occurred during runcmd execution",
		},
	}
}

func guestinfoOf(text string) map[string]string {
	return guestinfo(base64.StdEncoding.EncodeToString([]byte(text)), "base64")
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	all := documents()
	var machines []machine
	for _, d := range all {
		machines = append(machines, machine{Name: d.name, Cloud: onVSphere, ComputerName: imageName, Guestinfo: guestinfoOf(d.text)})
	}
	for _, r := range slices.Concat(releases, others) {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			for i, o := range play(t, r, machines) {
				checkDocument(t, all[i], o)
			}
		})
	}
}

func checkDocument(t *testing.T, d document, o outcome) {
	t.Helper()
	what := d.name + " (" + d.reason + ")"
	var files map[string]string
	batch := ""
	for _, b := range o.Boots {
		for path, file := range b.Files {
			if files == nil {
				files = map[string]string{}
			}
			files[strings.TrimPrefix(path, `C:\t\`)] = string(file.Content)
		}
		for _, p := range b.Processes {
			batch += string(p.Script)
			o.same(t, what+", files when it starts", len(d.files), len(p.Files))
		}
	}
	o.same(t, what+", files", d.files, files)
	o.same(t, what+", batch file", d.batch, batch)
	checkComplaints(t, what, d.says, o.said())
}

func checkComplaints(t *testing.T, what, want, said string) {
	t.Helper()
	got := complaints.FindAllString(said, -1)
	if want == "" && len(got) > 0 || !strings.Contains(strings.Join(got, "\n"), want) {
		t.Errorf("%s: the log says %q, want %q", what, got, want)
	}
}

// The lab makes of them what the real one makes.
func TestDocumentsInLab(t *testing.T) {
	t.Parallel()
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			simulated := &guest.Simulated{Dir: t.TempDir(), CloudbaseInit: newest.version}
			said := bootInLab(t, simulated, guestinfoOf(d.text), 1)
			m := expect.Got(windows.New(simulated.Dir))(t)
			var files map[string]string
			for _, path := range expect.Got(m.Match(`C:\t\*`))(t) {
				if files == nil {
					files = map[string]string{}
				}
				files[windows.Base(path)] = string(expect.Got(m.ReadFile(path))(t))
			}
			expect.Same(t, d.reason, d.files, files)
			checkComplaints(t, d.reason, d.says, said)
			if ran := strings.Contains(said, "User_data script ended"); ran != (d.batch != "") {
				t.Errorf("%s: commands ran: %v", d.reason, ran)
			}
		})
	}
}

// What must not be in a file that is damaged: its content in the log.
func TestDamagedPlanIsNotLogged(t *testing.T) {
	t.Parallel()
	good := string(scripts.UserData([]byte(`{"version":1,"redact":["` + strings.Repeat("S3CRET", 40) + `"]}`)))
	at := strings.LastIndex(good, "H4sI") + 24
	damaged := []byte(good[:at] + strings.Repeat("A", 8) + good[at+8:])
	for _, r := range releases {
		o := play(t, r, []machine{azureMachine("damaged", damaged)})[0]
		said := o.said()
		if !strings.Contains(said, "Processing plugin write_files failed") || strings.Contains(said, "S3CRET") {
			t.Errorf("%s: another failure, or a secret, in:\n%s", r.version, said)
		}
		for _, piece := range pieces(damaged) {
			if strings.Contains(said, piece) {
				t.Errorf("%s: the plan is logged: %s", r.version, piece)
			}
		}
		if got := slices.Sorted(maps.Keys(o.Boots[0].Files)); len(got) != 2 || len(o.processes()) != 1 {
			t.Errorf("%s: files %v and %d processes, want agent and loader, and one", r.version, got, len(o.processes()))
		}
	}
}

// Why user data must be ASCII: one byte that is no text, and all of them are in the log and on the serial port.
func TestWhatIsNotTextIsLogged(t *testing.T) {
	t.Parallel()
	for _, r := range releases {
		b := play(t, r, []machine{azureMachine("byte", []byte("#cloud-config\n# S3CRET \xff\nruncmd: [dir]\n"))})[0].Boots[0]
		if !strings.Contains(b.Log, "S3CRET") || !strings.Contains(b.COM2, "S3CRET") || len(b.Processes) > 0 {
			t.Errorf("%s logs less than was thought:\n%s", r.version, b.Log)
		}
	}
}

// An image that was made by pip and has no pytz: docs/images.md.
func TestImageWithoutPytz(t *testing.T) {
	t.Parallel()
	for _, r := range releases {
		o := play(t, r, []machine{azureMachine("pytz", scripts.UserData([]byte("{}")))}, "WITHOUT_PYTZ=1")[0]
		want := verdict{Taken: cloudConfig, Computer: "win-1"}
		if r == pinnedByImages {
			want = named(raised)
		}
		o.same(t, r.version, want, judge(o, nil))
	}
}

// An image that lists plugins of cloud-configs without the two that we need does nothing, and a line says so.
func TestImageWithListOfPlugins(t *testing.T) {
	t.Parallel()
	for _, r := range releases {
		m := azureMachine("list", scripts.UserData([]byte("{}")))
		m.Config = "cloud_config_plugins=users,groups"
		o := play(t, r, []machine{m})[0]
		if !strings.Contains(o.said(), "Plugin 'write_files' is disabled") || len(o.processes()) > 0 || len(o.Boots[0].Files) > 0 {
			t.Errorf("%s: %d processes, %s", r.version, len(o.processes()), o.said())
		}
	}
}
