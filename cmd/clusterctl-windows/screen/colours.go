package screen

import (
	"fmt"
	"io"

	"k8s.io/cli-runtime/pkg/printers"
)

// Colour is one that a terminal has, in ANSI's numbers.
type Colour string

// The colours of results and notes.
const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// Paint prints a text, in a colour if the output is a terminal that shows it, and NO_COLOR is not set.
func Paint(w io.Writer, colour Colour, text string) error {
	if colour == "" || !printers.AllowsColorOutput(unwrap(w)) {
		_, err := io.WriteString(w, text)
		return err
	}
	_, err := fmt.Fprintf(unwrap(w), "\x1b[%sm%s\x1b[0m", colour, Line(text))
	return err
}
