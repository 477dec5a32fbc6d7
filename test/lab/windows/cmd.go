package windows

import (
	"context"
	"strconv"
	"strings"
)

// cmdTool is cmd.exe, of which it plays `cmd /d /c echo TEXT` and `cmd /d /c FILE` for simple batch files.
func cmdTool(ctx context.Context, call *Call) int {
	args := call.Argv[1:]
	for len(args) > 0 && (strings.EqualFold(args[0], "/d") || strings.EqualFold(args[0], "/c")) {
		args = args[1:]
	}
	if len(args) == 0 {
		return call.Fail("the lab's cmd.exe is not interactive")
	}
	if strings.EqualFold(args[0], "echo") {
		call.Print("%s\r", strings.Join(args[1:], " "))
		return 0
	}
	text, err := call.Machine.ReadFile(args[0])
	if err != nil {
		return call.Fail("'%s' is not recognized as an internal or external command,\r\noperable program or batch file.\r", args[0])
	}
	b := batch{call: call}
	for line := range strings.Lines(string(text)) {
		if b.line(ctx, strings.TrimSpace(line)); b.over {
			break
		}
	}
	return b.level
}

// batch is a batch file that runs. It knows `rem`, `echo`, `echo TEXT>FILE`, `exit /b` and programs by their path.
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
	default:
		b.start(ctx, line)
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
