package windows

import "testing"

// What .NET's OrdinalIgnoreCase says of these pairs, tried over all characters of the first plane of Unicode.
func TestSame(t *testing.T) {
	for _, test := range []struct {
		reason     string
		one, other string
		same       bool
	}{
		{"ASCII", "Containers", "CONTAINERS", true},
		{"letters with accents", "Größe É", "GRÖßE é", true},
		{"the sign of kelvin is no k", "\u212a", "k", false},
		{"a long s is no s", "ſ", "s", false},
		{"a dotless i is no i", "ı", "I", false},
		{"nor is one with a dot", "İ", "i", false},
		{"both small sigmas have one capital", "ς", "σ", true},
		{"a sharp s is one character", "ß", "ss", false},
		{"a soft hyphen counts", "a\u00adb", "ab", false},
		{"NUL counts", "a\x00b", "ab", false},
		{"an accent of its own counts", "e\u0301", "é", false},
		{"beyond the first plane", "\U00010428", "\U00010400", true},
	} {
		if Same(test.one, test.other) != test.same || Same(test.other, test.one) != test.same {
			t.Errorf("%q and %q: want same %t: %s", test.one, test.other, test.same, test.reason)
		}
	}
}

func TestLike(t *testing.T) {
	for _, test := range []struct {
		name, mask string
		fits       bool
	}{
		{"a.log", "*.log", true},
		{"A.LOG", "a.*", true},
		{"a.log", "*.lo", false},
		{"a.log", "?.log", true},
		{"ab.log", "?.log", false},
		{"", "*", true},
		{"", "?", false},
		{"", "", true},
		{"a", "", false},
		{"aXbXc", "a*X*c", true},
		{"aXbXd", "a*X*c", false},
		{"abcabd", "*ab?", true},
		{"mississippi", "*iss*pi", true},
		{"mississippi", "*iss*ppa", false},
		{"ab", "ab**", true},
		{"[a].txt", "[a].txt", true},
		{"a.txt", "[a].txt", false},
		{"^b", "[^a]*", false},
		{"[^a]b", "[^a]*", true},
		{"[a", "[a", true},
		{"`b.txt", "`b.txt", true},
		{`a\b/c`, `a\*/c`, true},
		{"i", "İ*", false},
		{"ÉA", "é?", true},
		{"k", "\u212a", false},
		{"\U0001f600", "?", false},
		{"\U0001f600", "??", true},
	} {
		if Like(test.name, test.mask) != test.fits {
			t.Errorf("Like(%q, %q) is not %t", test.name, test.mask, test.fits)
		}
	}
}
