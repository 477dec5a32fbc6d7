package windows

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// Same says whether Windows takes two names for the same one: character by character, each in upper case, as OrdinalIgnoreCase of
// .NET does. Nothing is left out: a soft hyphen counts, an accent of its own counts.
func Same(one, other string) bool { return upper(one) == upper(other) }

// upper is simple upper-casing of Unicode, but that .NET leaves ı and ſ, whose upper case is ASCII, as they are (OrdinalCasing.cs
// of dotnet/runtime; tried over all characters of the first plane).
func upper(text string) string {
	return strings.Map(func(char rune) rune {
		if char == 'ı' || char == 'ſ' {
			return char
		}
		return unicode.ToUpper(char)
	}, text)
}

// Like matches a name with a mask: * is any text, ? any one character (of UTF-16, as Windows counts them), and all else stands
// for itself, without regard to case.
func Like(name, mask string) bool {
	text, want := utf16.Encode([]rune(upper(name))), utf16.Encode([]rune(upper(mask)))
	at, star, taken := 0, -1, 0 // star is where the last * was, taken what it has taken so far
	for i := 0; i < len(text); {
		switch {
		case at < len(want) && want[at] == '*':
			star, taken = at, i
			at++
		case at < len(want) && (want[at] == '?' || want[at] == text[i]):
			at++
			i++
		case star >= 0:
			taken++
			at, i = star+1, taken
		default:
			return false
		}
	}
	for at < len(want) && want[at] == '*' {
		at++
	}
	return at == len(want)
}
