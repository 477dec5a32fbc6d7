package step

import (
	"strings"
	"testing"
)

// Texts of 8 to 256 characters in one line are hidden by themselves; others would hide too much, or are files.
func TestSecretText(t *testing.T) {
	for text, hidden := range map[string]bool{
		"1234567": false, "1234567\n\n": false, "12345678": true, strings.Repeat("x", 256): true, strings.Repeat("x", 257): false,
		"12345678\n": true, "1234\n5678": false, "1234\r5678": false,
	} {
		if got := SecretText(text); hidden != (len(got) == 1) || hidden && got[0] != strings.TrimSpace(text) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
