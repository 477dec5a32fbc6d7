package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/screen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// textWidth is how wide the last column may be, so that the table fits into a usual terminal, and the sentence on whose identity
// is checked, with the id of an app, into a line.
const textWidth = 80

// colours of results, on a terminal.
var colours = map[cloud.Result]screen.Colour{
	cloud.CheckOK: screen.Green, cloud.CheckFailed: screen.Red, cloud.CheckSkipped: screen.Yellow,
}

// WriteTable prints findings for people.
func WriteTable(w io.Writer, list *FindingList) error {
	t := table{w: w, width: len("CHECK")}
	for _, item := range list.Items {
		t.width = max(t.width, len(item.Check))
	}
	t.row("CHECK", "RESULT", "WHAT WAS FOUND, AND WHAT TO DO")
	for _, item := range list.Items {
		check, result := item.Check, item.Result
		for _, line := range wrapped(item.Message, textWidth) {
			t.row(check, result, line)
			check, result = "", ""
		}
		for _, command := range item.Commands {
			t.row("", "", command.Purpose+":")
			t.row("", "", command.Run) // in one line, so that it can be copied
		}
	}
	return t.err
}

// table is one that is being printed.
type table struct {
	w     io.Writer
	width int
	err   error
}

func (t *table) row(check string, result cloud.Result, message string) {
	t.print("", fmt.Sprintf("%-*s  ", t.width, check))
	if message == "" {
		t.print(colours[result], string(result))
	} else {
		t.print(colours[result], fmt.Sprintf("%-7s", result))
		t.print("", "  "+message)
	}
	t.print("", "\n")
}

func (t *table) print(colour screen.Colour, text string) {
	if t.err == nil {
		t.err = screen.Paint(t.w, colour, text)
	}
}

// wrapped breaks a text between words.
func wrapped(text string, limit int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > limit {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
