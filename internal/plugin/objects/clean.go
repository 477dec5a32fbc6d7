package objects

import (
	"strings"
	"unicode"
)

// Clean makes a text that came from a file fit for a terminal: each character that a terminal would obey, or that hides or turns
// what stands beside it, becomes a blank. Ends of lines stay, because they stand between sentences.
func Clean(text string) string {
	return strings.Map(func(character rune) rune {
		if character == '\n' || unicode.IsPrint(character) {
			return character
		}
		return ' '
	}, text)
}

// Cleaned returns the error with a text that is fit for a terminal, whoever wrote what it says.
func Cleaned(err error) error {
	if err == nil {
		return nil
	}
	return cleaned{err}
}

type cleaned struct{ error }

// Error is the text of the error without what a terminal would obey.
func (c cleaned) Error() string { return Clean(c.error.Error()) }

// Unwrap returns the error itself.
func (c cleaned) Unwrap() error { return c.error }
