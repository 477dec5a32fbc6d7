package agent

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// onePhase is a vector with a plan of one phase.
func onePhase(fields, steps string) *vector {
	return &vector{Plan: []byte(`{"version":1,"machine":{"namespace":"","name":"m","uid":"u","node":"n","cluster":""},` + fields +
		`,"phases":[{"name":"main","steps":[` + steps + `]}]}`)}
}

// The line of a success tells the last phase, not one behind it.
func TestConsoleAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := lived(t, onePhase(`"report":[{"do":"console"}]`, `{"do":"file","name":"f","path":"C:\\k\\a","text":"a"}`))
	lines := strings.Fields(string(expect.Got(s.Machine.ReadFile(`C:\serial\console.log`))(t)))
	want := []string{"CAPWIN", "uid=u", "phase=1/1", "step=f", "state=Running", "reason="}
	want = append(want, "CAPWIN", "uid=u", "phase=1/1", "step=", "state=Succeeded", "reason=")
	expect.Same(t, "the lines", want, lines)
}

// A name that no plan should have does not make a report that nobody reads.
func TestReportOfLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 9000)
	check := `{"do":"check","name":"` + long + `","reason":"` + long + `","fact":"cpus","is":"0","say":[{"fact":"cpus"}]}`
	s := lived(t, onePhase(`"report":[]`, check))
	text := expect.Got(s.Machine.ReadFile(Root + `\report.json`))(t)
	if len(text) > 1000 {
		t.Errorf("the report has %d bytes: %s", len(text), text)
	}
}

// The zip of an earlier failure, which a pattern finds, is not packed into the new one.
func TestLogsLeaveOutTheirZip(t *testing.T) {
	t.Parallel()
	v := onePhase(`"report":[]`, `{"do":"collectLogs","name":"l","path":"C:\\k\\logs.zip","patterns":["C:\\k\\*"]}`)
	v.World.Files = map[string]string{`C:\k\a.log`: "a", `C:\k\Logs.zip`: "old"}
	content := expect.Got(lived(t, v).Machine.ReadFile(`C:\k\logs.zip`))(t)
	packed := expect.Got(zip.NewReader(bytes.NewReader(content), int64(len(content))))(t)
	if len(packed.File) != 1 || packed.File[0].Name != "k/a.log" {
		t.Errorf("the zip has %d files, the first is %s", len(packed.File), packed.File[0].Name)
	}
}
