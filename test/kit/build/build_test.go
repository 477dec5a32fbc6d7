package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/build"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A program is made anew when a source, a file that it embeds or a value of a variable changes, and for nothing else.
func TestProgram(t *testing.T) {
	compiled := expect.Got(exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output())(t)
	t.Setenv("GOCACHE", strings.TrimSpace(string(compiled)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root, program := t.TempDir(), filepath.Join(t.TempDir(), "folder", "program")
	write := func(name, text string) {
		t.Helper()
		expect.OK(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("embedded.txt", "one")
	write("main.go", `package main

import _ "embed"

//go:embed embedded.txt
var text string

var value = "none"

func main() { print(text, " ", value) }
`)
	var before os.FileInfo
	step := func(prints string, made bool, values ...string) {
		t.Helper()
		expect.OK(t, build.Program(t.Context(), root, ".", program, values...))
		output, err := exec.CommandContext(t.Context(), program).CombinedOutput()
		expect.OK(t, err)
		expect.Same(t, "output", prints, string(output))
		now := expect.Got(os.Stat(program))(t)
		expect.Same(t, "made", made, before == nil || !os.SameFile(before, now))
		before = now
	}
	step("one none", true)
	step("one none", false)
	write("main_test.go", "package main")
	step("one none", false)
	step("one some", true, "main.value=some")
	write("embedded.txt", "two")
	step("two some", true, "main.value=some")
	expect.OK(t, os.WriteFile(filepath.Join(root, "other.go"), []byte("package main\n\nfunc init() { text += \"!\" }\n"), 0o600))
	step("two! some", true, "main.value=some")
	step("two! some", false, "main.value=some")

	write("other.go", "package wrong")
	if err := build.Program(t.Context(), root, ".", program); err == nil {
		t.Error("what does not compile is built")
	}
	before = nil
	write("other.go", "package main")
	step("two none", true)
}
