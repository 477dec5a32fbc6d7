package progress

import (
	"io"

	"k8s.io/cli-runtime/pkg/printers"
)

// Colour is a colour of a terminal; the zero value is none.
type Colour string

// The colours of results and notes.
const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// Paint gives a text a colour if the writer is a terminal that shows it, and NO_COLOR is not set.
func Paint(w io.Writer, colour Colour, text string) string {
	return paint(printers.AllowsColorOutput(w), colour, text)
}

func paint(allowed bool, colour Colour, text string) string {
	if !allowed || colour == "" {
		return text
	}
	return "\x1b[" + string(colour) + "m" + text + "\x1b[0m"
}
