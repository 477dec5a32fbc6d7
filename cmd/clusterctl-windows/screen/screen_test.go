package screen

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/odd"
)

// TestWrites: what acts on a terminal, hides or turns becomes a blank; all else stays.
func TestWrites(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2Jb": "a [2Jb", "a\u009b31mb": "a 31mb", "a\x9bb": "a\ufffdb", "a\r\nb\tc": "a \nb\tc",
		"a\u202eb\u2066c\u200bd": "a b c d",
		"Grüße, 世界":              "Grüße, 世界", "a\u2028b\x00": "a b ", "": "", "\ufeffa\x7f": " a ",
	} {
		var out strings.Builder
		n, err := New(&out).Write([]byte(text))
		expect.OK(t, err)
		expect.Same(t, text, want, out.String())
		expect.Same(t, text+": taken", len(text), n)
	}
}

// TestWritesInParts: whoever cuts a text between the bytes of a character neither breaks nor hides it.
func TestWritesInParts(t *testing.T) {
	const text = "ü\u202e世\x9b\U0001F600 end"
	var whole strings.Builder
	expect.OK(t, expect.ErrorOf(New(&whole).Write([]byte(text))))
	for size := 1; size < len(text); size++ {
		var out strings.Builder
		s := New(&out)
		for at := 0; at < len(text); at += size {
			expect.OK(t, expect.ErrorOf(io.WriteString(s, text[at:min(at+size, len(text))])))
		}
		expect.Same(t, fmt.Sprint("in parts of ", size), whole.String(), out.String())
	}
}

// TestErrors: lines begin where errors are joined, however they are wrapped, and nowhere else.
func TestErrors(t *testing.T) {
	a, b := errors.New("a\nnote: FORGED"), errors.New("b")
	both := errors.Join(a, b)
	for want, err := range map[string]error{
		"a note: FORGED": a, "a note: FORGED\nb": both, "in x: a note: FORGED\nb; mend it": fmt.Errorf("in %s: %w; mend it", "x", both),
		"in x y: b":                       fmt.Errorf("in x\n\ny: %w", b),
		"a note: FORGED: b":               fmt.Errorf("%w: %w", a, b),
		"other":                           hiddenError{both},
		strings.Repeat("x", 4096) + "...": errors.New(strings.Repeat("x", 10_000)),
		"one\ntwo: a note: FORGED":        errors.Join(errors.New("one"), fmt.Errorf("two: %w", a)),
	} {
		var out strings.Builder
		Error(New(&out), err)
		expect.Same(t, "printed", want+"\n", out.String())
	}
}

// hiddenError does not quote what it wraps.
type hiddenError struct{ error }

// Error implements error.
func (hiddenError) Error() string { return "other" }

// Unwrap returns the cause.
func (h hiddenError) Unwrap() error { return h.error }

// FuzzScreen: whatever is written, and in which parts, nothing of it acts.
func FuzzScreen(f *testing.F) {
	odd.Fuzz(f, func(t *testing.T, source *odd.Source) {
		var out strings.Builder
		s := New(&out)
		for range source.N(5) {
			_, _ = io.WriteString(s, source.Text())
			Note(s, "%s", source.Text())
			Error(s, fmt.Errorf("%s: %w", source.Text(), errors.Join(errors.New(source.Text()), errors.New(source.Text()))))
			Redraw(s, "")
		}
		for _, character := range out.String() {
			if !unicode.IsPrint(character) && !strings.ContainsRune("\n\t\r", character) {
				t.Errorf("%U in %q", character, out.String())
			}
		}
	})
}
