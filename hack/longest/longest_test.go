// Package longest tests the script that lists the packages whose tests took longest.
package longest

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// longest begins the list. The minutes are those of the run.
const longest = "the packages that took longest, of 0 min 0 s in all:\n"

var minutes = regexp.MustCompile(`\d+ min \d+ s`)

func TestTen(t *testing.T) {
	printed := "--- FAIL: TestX (200.00s)\nok  \tm/cached\t(cached)\n?   \tm/none\t[no test files]\nFAIL\tm/broken [build failed]\n"
	want := longest + "  100.1 s  m/red\n"
	for i := range 11 {
		printed += fmt.Sprintf("ok  \tm/p%d\t%d.004s\n", i, i)
	}
	for i := 10; i > 1; i-- {
		want += fmt.Sprintf("%7.1f s  m/p%d\n", float64(i), i)
	}
	printed += "FAIL\tm/red\t100.1s\nFAIL\n"
	expect.Same(t, "output", printed+want, run(t, printed))
}

func TestNothing(t *testing.T) {
	expect.Same(t, "output", "ok  \tm\t(cached)\n", run(t, "ok  \tm\t(cached)\n"))
}

// TestLive: a line is there before the next one comes.
func TestLive(t *testing.T) {
	script := exec.CommandContext(t.Context(), "./run.sh")
	in := expect.Got(script.StdinPipe())(t)
	out := bufio.NewReader(expect.Got(script.StdoutPipe())(t))
	expect.OK(t, script.Start())
	for _, line := range []string{"ok  \ta\t1.0s\n", "ok  \tb\t2.0s\n"} {
		expect.Got(io.WriteString(in, line))(t)
		expect.Same(t, "line", line, expect.Got(out.ReadString('\n'))(t))
	}
	expect.OK(t, in.Close())
	rest := expect.Got(io.ReadAll(out))(t)
	expect.Same(t, "end", longest+"    2.0 s  b\n    1.0 s  a\n", minutes.ReplaceAllString(string(rest), "0 min 0 s"))
	expect.OK(t, script.Wait())
}

func run(t *testing.T, printed string) string {
	t.Helper()
	script := exec.CommandContext(t.Context(), "./run.sh")
	script.Stdin = strings.NewReader(printed)
	return minutes.ReplaceAllString(string(expect.Got(script.Output())(t)), "0 min 0 s")
}
