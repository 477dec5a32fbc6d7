package windows

import (
	"context"
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
		lines = strings.Split(string(text), "\n")
	}
	for _, line := range lines {
		if b.line(ctx, strings.TrimSpace(line)); b.over {
			break
		}
	}
	return b.level
}

// batch is a batch file, or a command line, that runs. It knows `rem`, `echo`, `echo TEXT>FILE`, `del`,
// `exit /b` and programs.
type batch struct {
	call *Call
	// level is ERRORLEVEL.
	level int
	over  bool
}

func (b *batch) line(ctx context.Context, line string) {
	line = strings.TrimPrefix(line, "@")
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
	case "del":
		b.remove(strings.Fields(rest))
	default:
		b.start(ctx, line)
	}
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
