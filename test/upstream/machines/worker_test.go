package machines

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// patience is for one life of a machine, which takes a second: after that it hangs. It is as long as a life may wait for a
// processor beside make test, which goes first.
const patience = 20 * time.Minute

// worker is a PowerShell that lives the lives of machines, one at a time.
type worker struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	// spent is how many milliseconds of a processor the last job took.
	spent int
}

// job is what a worker does with the machine in a folder: load starts the loader first, go goes on; then Windows starts so often.
type job struct {
	Base   string `json:"base"`
	Act    string `json:"act"`
	Starts int    `json:"starts"`
}

// place is a step of kind run before its first attempt.
type place struct {
	Boot        bool
	Phase, Step int
	Name        string
}

// pwsh starts a script. Measured: .NET that compiles once and for all, and collects garbage in no thread of its own, needs half
// the time.
func pwsh(t *testing.T, shell, script string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), shell,
		append([]string{"-NoProfile", "-NonInteractive", "-File", script}, args...)...)
	command.Env = append(os.Environ(), "DOTNET_TieredPGO=0", "DOTNET_TieredCompilation=0", "DOTNET_gcConcurrent=0",
		"DOTNET_GCgen0size=0x4000000")
	command.Stderr = os.Stderr
	return command
}

func newWorker(t *testing.T, shell string) *worker {
	t.Helper()
	command := pwsh(t, shell, "runner.ps1")
	in := expect.Got(command.StdinPipe())(t)
	out := expect.Got(command.StdoutPipe())(t)
	expect.OK(t, command.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	return &worker{command: command, in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

// do runs a job. At each place it waits for keep, which says whether to go on.
func (w *worker) do(one job, keep func(place) bool) error {
	timer := time.AfterFunc(patience, func() { _ = w.command.Process.Kill() })
	defer timer.Stop()
	if err := w.send(one); err != nil {
		return err
	}
	for {
		line, err := w.out.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the PowerShell has ended, perhaps because its machine had not ended after %v: %w", patience, err)
		}
		word, content, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "@@PLACE":
			var at place
			if err := json.Unmarshal([]byte(content), &at); err != nil {
				return err
			}
			answer := map[bool]string{true: "go on\n", false: "stop\n"}[keep == nil || keep(at)]
			if _, err := io.WriteString(w.in, answer); err != nil {
				return err
			}
		case "@@DONE":
			return w.ended(content)
		}
	}
}

func (w *worker) ended(content string) error {
	var done struct {
		Error        string
		Milliseconds int
	}
	if err := json.Unmarshal([]byte(content), &done); err != nil {
		return err
	}
	w.spent = done.Milliseconds
	if done.Error != "" {
		return fmt.Errorf("the runner: %s", done.Error)
	}
	return nil
}

func (w *worker) send(one job) error {
	line, err := json.Marshal(one)
	if err == nil {
		_, err = w.in.Write(append(line, '\n'))
	}
	return err
}

// processed is how many milliseconds of a processor a process took.
func processed(command *exec.Cmd) int {
	return int((command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Milliseconds())
}
