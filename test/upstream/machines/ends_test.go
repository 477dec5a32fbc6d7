package machines

import (
	"archive/zip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const sentinel = `C:\run\cluster-api\bootstrap-success.complete`

// checkEnd holds for each end, whatever came before: nothing secret is told or left, the sentinel stands for a success, and
// nothing starts again that has nothing to do.
func (s *stage) checkEnd(c *campaign, what string) {
	s.t.Helper()
	end, world := s.state(), s.world()
	problem := func(format string, args ...any) {
		s.t.Helper()
		s.t.Errorf("%s, %s: "+format, append([]any{s.machine.Name, what}, args...)...)
	}
	if end.State != plan.StateSucceeded && end.State != plan.StateFailed {
		problem("it ends %q", end.State)
	}
	if (end.State == plan.StateFailed) != (end.Reason != "" && end.Message != "") {
		problem("it ends %s with the reason %q and the message %q", end.State, end.Reason, end.Message)
	}
	if there := s.read(sentinel) != ""; there != (end.State == plan.StateSucceeded) {
		problem("it ends %s, and the sentinel is there: %t", end.State, there)
	}
	goesOn := len(s.machine.Plan.EveryBoot) > 0 && end.State == plan.StateSucceeded
	if tasks, _ := world["tasks"].(map[string]any); (tasks["capwin-agent"] == "Disabled") == goesOn {
		problem("it ends %s, and the task is %v", end.State, tasks["capwin-agent"])
	}
	s.checkKept(goesOn, problem)
	for _, path := range s.left() {
		problem("%s is left", path)
	}
	s.checkLeaks(c, what, s.leaks(s.world()))
}

func (s *stage) checkLeaks(c *campaign, what string, leaks []string) {
	s.t.Helper()
	if len(leaks) > 0 {
		c.count("leaks", len(leaks))
		s.t.Errorf("%s, %s: leaks %q", s.machine.Name, what, leaks)
	}
}

// checkKept: of the plan, what later starts need.
func (s *stage) checkKept(goesOn bool, problem func(string, ...any)) {
	s.t.Helper()
	var kept map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.read(root+"plan.json")), &kept); err != nil {
		problem("plan.json: %v", err)
		return
	}
	if string(kept["phases"]) != "[]" || kept["redact"] != nil || (kept["everyBoot"] != nil) != goesOn {
		problem("the plan is not emptied: phases %.40s, redact %.10s, everyBoot %.40s",
			kept["phases"], kept["redact"], kept["everyBoot"])
	}
	if s.read(root+"agent.ps1") != scripts.Agent() {
		problem("the agent is not the packed one")
	}
}

// left is what the bootstrap had to erase, its staging folder, and halves of files.
func (s *stage) left() []string {
	s.t.Helper()
	p := s.machine.Plan
	patterns := slices.Clone(p.Erase)
	for _, channel := range p.Report {
		patterns = append(patterns, channel.Erase...)
	}
	patterns = append(patterns, plan.Text(`C:\Windows\Temp\capwin-*`))
	var left []string
	for _, pattern := range patterns {
		left = append(left, expect.Got(filepath.Glob(HostPath(s.base, pattern.String())))(s.t)...)
	}
	s.walk("", func(path string) {
		if strings.HasSuffix(path, ".capwin-new") {
			left = append(left, path)
		}
	})
	return left
}

// walk calls with each file below a folder of the machine's, or all of its drives.
func (s *stage) walk(folder string, do func(path string)) {
	s.t.Helper()
	expect.Fine(s.t, filepath.WalkDir(filepath.Join(s.base, folder), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !slices.Contains([]string{"world.json", "moments"}, entry.Name()) {
			do(path)
		}
		return err
	}))
}

// leaks are pieces of secrets in what the agent keeps and tells: its files but the programs' own output, which only
// administrators read, the zip of logs, the consoles, and what it sends.
func (s *stage) leaks(world map[string]any) []string {
	s.t.Helper()
	var found []string
	look := func(where, text string) {
		if piece := s.secrets.Find(text); piece != "" {
			found = append(found, where+": "+piece)
		}
	}
	s.walk("C/ProgramData/capwin", func(path string) {
		name := strings.TrimPrefix(path, filepath.Join(s.base, "C", "ProgramData", "capwin"))
		switch {
		case name == "/logs.zip":
			s.unzip(path, look)
		case !strings.HasPrefix(name, "/logs/"):
			look(name, string(expect.Got(os.ReadFile(path))(s.t)))
		}
	})
	for _, part := range []string{"wire", "console", "said"} {
		lines, _ := world[part].([]any)
		for _, line := range lines {
			text, _ := line.(string)
			look(part, text)
		}
	}
	return found
}

func (s *stage) unzip(path string, look func(where, text string)) {
	s.t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		s.t.Errorf("%s: %v", path, err)
		return
	}
	defer func() { expect.OK(s.t, archive.Close()) }()
	for _, entry := range archive.File {
		content := expect.Got(entry.Open())(s.t)
		look("logs.zip "+entry.Name, string(expect.Got(io.ReadAll(content))(s.t)))
		expect.Fine(s.t, content.Close())
	}
}
