package windows

import (
	"context"
	"regexp"
	"strconv"
	"strings"
)

// cmdTool is cmd.exe; played is `cmd /d /c COMMAND & COMMAND` and `cmd /d /c FILE` for simple batch files.
func cmdTool(ctx context.Context, call *Call) int {
	args := call.Argv[1:]
	for len(args) > 0 && (strings.EqualFold(args[0], "/d") || strings.EqualFold(args[0], "/c")) {
		args = args[1:]
	}
	if len(args) == 0 {
		return call.Fail("the lab's cmd.exe is not interactive")
	}
	b := batch{call: call}
	lines := strings.Split(strings.Join(args, " "), " & ")
	if text, err := call.Machine.ReadFile(args[0]); err == nil && len(args) == 1 {
		lines, b.file = strings.Split(string(text), "\n"), true
	}
	for _, line := range lines {
		if b.line(ctx, strings.TrimSpace(line)); b.over {
			break
		}
	}
	return b.level
}

// batch is a batch file, or a command line, that runs. It knows `rem`, `echo`, `echo TEXT>FILE`, `copy`, `del`, `rd /s`,
// `set`, `exit /b`, programs and %VARIABLES%.
type batch struct {
	call *Call
	// file says that it is one: there, a variable that is not set is nothing.
	file bool
	// level is ERRORLEVEL.
	level int
	over  bool
}

func (b *batch) line(ctx context.Context, line string) {
	line = b.expand(strings.TrimPrefix(line, "@"))
	word, rest, _ := strings.Cut(line, " ")
	switch strings.ToLower(word) {
	case "", "rem", "::":
	case "echo":
		b.echo(rest)
	case "exit":
		if code, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(rest, "/b"))); err == nil {
			b.level = code
		}
		b.over = true
	case "copy":
		b.copy(SplitArguments(rest))
	case "del":
		b.remove(strings.Fields(rest))
	case "rd":
		b.removeFolder(SplitArguments(rest))
	case "set":
		b.set(strings.Trim(rest, `"`))
	default:
		b.start(ctx, line)
	}
}

// copy is `copy /y FROM TO` of one file.
func (b *batch) copy(args []string) {
	if len(args) != 3 || !strings.EqualFold(args[0], "/y") {
		b.level = b.call.Fail("The syntax of the command is incorrect.\r")
		return
	}
	text, err := b.call.Machine.ReadFile(args[1])
	if err != nil {
		b.level = b.call.Fail("The system cannot find the file specified.\r")
		return
	}
	if err := b.call.Machine.Put(args[2], text); err != nil {
		b.level = b.call.Fail("Access is denied.\r")
		return
	}
	b.call.Print("        1 file(s) copied.\r")
}

// remove is `del`: what is not there is said, and is no failure.
func (b *batch) remove(args []string) {
	for _, path := range args {
		if strings.HasPrefix(path, "/") {
			continue
		}
		if !b.call.Machine.FileExists(path) {
			b.call.Print("Could Not Find %s\r", path)
			continue
		}
		if err := b.call.Machine.Remove(path); err != nil {
			b.level = b.call.Fail("Access is denied.\r")
		}
	}
}

var variable = regexp.MustCompile(`%(\w+)%`)

func (b *batch) expand(line string) string {
	return variable.ReplaceAllStringFunc(line, func(name string) string {
		value, ok := b.call.Machine.variable(b.call.Env, strings.Trim(name, "%"))
		if !ok && !b.file {
			return name
		}
		return value
	})
}

// set is `set NAME=VALUE`, for this batch file and the programs that it starts.
func (b *batch) set(text string) {
	name, value, found := strings.Cut(text, "=")
	if !found {
		b.level = b.call.Fail("the lab's cmd.exe does not list variables")
		return
	}
	changed := *b.call
	changed.Env = map[string]string{name: value}
	for other, value := range b.call.Env {
		if !strings.EqualFold(name, other) {
			changed.Env[other] = value
		}
	}
	b.call = &changed
}

// removeFolder is `rd /s /q`, with all that is in the folder.
func (b *batch) removeFolder(args []string) {
	for _, path := range args {
		if strings.HasPrefix(path, "/") {
			continue
		}
		if !b.call.Machine.DirectoryExists(path) {
			b.call.Fail("The system cannot find the file specified.\r")
			b.level = 2
			continue
		}
		if err := b.call.Machine.Remove(path); err != nil {
			b.level = b.call.Fail("Access is denied.\r")
		}
	}
}

func (b *batch) echo(text string) {
	text, path, toFile := strings.Cut(text, ">")
	switch {
	case strings.EqualFold(text, "off"):
	case !toFile:
		b.call.Print("%s\r", text)
	default:
		if err := b.call.Machine.Put(strings.TrimSpace(path), []byte(text+"\r\n")); err != nil {
			b.level = b.call.Fail("Access is denied.\r")
		}
	}
}

func (b *batch) start(ctx context.Context, line string) {
	own := *b.call
	own.Argv = SplitArguments(line)
	program, err := b.call.Machine.Find(&own)
	if err != nil {
		b.level = 9009
		b.call.Fail("'%s' is not recognized as an internal or external command,\r\noperable program or batch file.\r", own.Argv[0])
		return
	}
	b.level = program(ctx, &own)
}
