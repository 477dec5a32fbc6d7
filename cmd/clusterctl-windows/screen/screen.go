// Package screen cleans untrusted text before it is printed: that of files, API servers, kubelets, guests and clouds. All output
// of the program goes through a Screen, to a terminal, a pipe or a file. It promises:
//
//   - No character acts on a terminal, hides, or turns what stands beside it. What draws colours and lines is written by Paint
//     and Redraw alone, around a text that is clean.
//   - An error begins a line only where several errors are joined, so that quoted text never looks like a line of the program.
//   - A line of an error or of a note has a limited length.
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
	data := slices.Concat(s.rest, text)
	end := len(data)
	if start := lastStart(data); end > 0 && !utf8.FullRune(data[start:]) {
		end = start
	}
	s.rest = bytes.Clone(data[end:])
	if _, err := s.w.Write(bytes.Map(clean, data[:end])); err != nil {
		return 0, err
	}
	return len(text), nil
}

// lastStart is where the last character of a text begins, or what may be one.
func lastStart(text []byte) int {
	i := max(len(text)-1, 0)
	for i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
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
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines, texts []string
		for _, e := range joined.Unwrap() {
			lines, texts = append(lines, textOf(e)), append(texts, e.Error())
		}
		if text == strings.Join(texts, "\n") {
			return strings.Join(lines, "\n")
		}
		return Line(text)
	}
	cause := errors.Unwrap(err)
	if cause == nil {
		return Line(text)
	}
	prefix, suffix, found := strings.Cut(text, cause.Error())
	if !found {
		return Line(text)
	}
	return head(prefix) + textOf(cause) + tail(suffix)
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
	fmt.Fprintf(unwrap(w), "\r%s", Line(line))
}

// IsTerminal reports whether the output is a terminal.
func IsTerminal(w io.Writer) bool { return printers.IsTerminal(unwrap(w)) }

// unwrap returns the output itself.
func unwrap(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok {
		return s.w
	}
	return w
}
