package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/progress"
)

// textWidth is how wide the last column may be, so that the table fits into a usual terminal, and the sentence on whose identity
// is checked, with the id of an app, into a line.
const textWidth = 80

// colours of results, on a terminal.
var colours = map[string]progress.Colour{
	string(cloud.CheckOK): progress.Green, string(cloud.CheckFailed): progress.Red, string(cloud.CheckSkipped): progress.Yellow,
}

// WriteTable prints findings for people.
func WriteTable(w io.Writer, list *FindingList) error {
	width := len("CHECK")
	for _, one := range list.Items {
		width = max(width, len(one.Check))
	}
	var text strings.Builder
	row := func(check, result, message string) {
		// A colour has letters, too, that nobody sees: it comes after the column has its width.
		shown := progress.Paint(w, colours[result], fmt.Sprintf("%-7s", result))
		text.WriteString(strings.TrimRight(fmt.Sprintf("%-*s  %s  %s", width, check, shown, message), " ") + "\n")
	}
	row("CHECK", "RESULT", "WHAT WAS FOUND, AND WHAT TO DO")
	for _, one := range list.Items {
		check, result := one.Check, string(one.Result)
		for _, line := range wrapped(one.Message, textWidth) {
			row(check, result, line)
			check, result = "", ""
		}
		for _, command := range one.Commands {
			row("", "", command.For+":")
			row("", "", command.Run) // in one line, so that it can be copied
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// wrapped breaks a text between words.
func wrapped(text string, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
