package cloud

import "testing"

// TestClean: the first and the last printable character are kept, and so is a text that just fits.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":             "",
		" a~":          " a~",
		"\x1f\x7fé\n":  "    ",
		"12345678":     "12345678",
		"123456789":    "12345...",
		"ééééééééé123": "     ...",
	} {
		if got := Clean(text, 8); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}
