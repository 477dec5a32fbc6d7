// Package screen is where words of others are cleaned before anybody sees them: those of files, of API servers, of kubelets and
// guests, of clouds. All that the program prints goes through a Screen, to a terminal, a pipe or a file. It promises:
//
//   - No character acts on a terminal, hides, or turns what stands beside it. What draws colours and lines is written by Paint
//     and Redraw alone, around a text that is clean.
//   - An error begins a line where several errors are joined, and nowhere else: nobody else speaks in a line of ours.
//   - A line of an error or of a note is not longer than anybody reads.
package screen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/printers"
)

// maxLine is longer than any sentence of ours with what it quotes.
const maxLine = 4 << 10

// Screen cleans what is written to it.
type Screen struct {
	w io.Writer
	// rest is the beginning of a character whose end has not been written yet.
	rest []byte
}

// New returns the screen of an output.
func New(w io.Writer) *Screen { return &Screen{w: w} }

// Write implements io.Writer. Ends of lines stay, and tabs.
func (s *Screen) Write(text []byte) (int, error) {
	all := slices.Concat(s.rest, text)
	whole := len(all)
	if last := lastStart(all); whole > 0 && !utf8.FullRune(all[last:]) {
		whole = last
	}
	s.rest = bytes.Clone(all[whole:])
	if _, err := s.w.Write(bytes.Map(clean, all[:whole])); err != nil {
		return 0, err
	}
	return len(text), nil
}

// lastStart is where the last character of a text begins, or what may be one.
func lastStart(text []byte) int {
	at := max(len(text)-1, 0)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

func clean(character rune) rune {
	if character == '\n' || character == '\t' || unicode.IsPrint(character) {
		return character
	}
	return ' '
}

// Line makes a text one line, which is not too long.
func Line(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(character rune) bool { return !unicode.IsPrint(character) }), " ")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "..."
	}
	return text
}

// Error prints an error.
func Error(w io.Writer, err error) { fmt.Fprintln(w, textOf(err)) }

// textOf is the text of an error, with the ends of lines between errors that are joined, and no other.
func textOf(err error) string {
	text := err.Error()
	if joined, is := err.(interface{ Unwrap() []error }); is {
		var lines, each []string
		for _, one := range joined.Unwrap() {
			lines, each = append(lines, textOf(one)), append(each, one.Error())
		}
		if text == strings.Join(each, "\n") {
			return strings.Join(lines, "\n")
		}
		return Line(text)
	}
	within := errors.Unwrap(err)
	if within == nil {
		return Line(text)
	}
	before, after, found := strings.Cut(text, within.Error())
	if !found {
		return Line(text)
	}
	return head(before) + textOf(within) + tail(after)
}

// head and tail are Line for the beginning and the end of a sentence: the blanks between them and the rest stay.
func head(text string) string {
	return strings.TrimSuffix(Line(text+"|"), "|")
}

func tail(text string) string {
	return strings.TrimPrefix(Line("|"+text), "|")
}

// Note prints what a user should know beside the result.
func Note(w io.Writer, format string, args ...any) {
	_ = Paint(w, Yellow, "note:") // what cannot be printed, nobody reads
	fmt.Fprintln(w, " "+Line(fmt.Sprintf(format, args...)))
}

// Redraw writes a line over the one that is there.
func Redraw(w io.Writer, line string) {
	fmt.Fprintf(under(w), "\r%s", Line(line))
}

// IsTerminal says whether a person sees what is written.
func IsTerminal(w io.Writer) bool { return printers.IsTerminal(under(w)) }

// under is the output itself.
func under(w io.Writer) io.Writer {
	if s, is := w.(*Screen); is {
		return s.w
	}
	return w
}
