package twins

import (
	"encoding/json"
	"strconv"
	"strings"
)

const number1 = json.Number("1")

func digits(number int) json.Number { return json.Number(strconv.Itoa(number)) }

// hostile are texts that one of two programs may read otherwise: quotes and brackets of PowerShell, characters that .NET takes
// for blanks, letters whose case depends on a language or on a table, numbers that are none, and characters of several bytes.
var hostile = []string{
	"", " ", " both ends ", "ünïcödé", "日本語", "a\u0085b", "a\u00a0b", "\u00a0", "x\u2028y", "\u3000wide", "tab\there", "two\nlines",
	"cr\r\nlf", "end\n", "\nbegin", "İstanbul", "ıslak", "TITLE", "title", "\u212aelvin", "kelvin", "ſharp", "sharp", "straße",
	"strasse",
	"Σίσυφος", "e\u0301", "é", "soft\u00adhyphen", "softhyphen", "zero\u200bwidth", "bell\u0007", "it's", "‘curly’", "“quotes”",
	"`tick`",
	`say "hi"`, `"`, `""`, "[a]b", "[", "]", "[*", "*", "?", "$(throw 1)", "${env:TEMP}", "$x", "%TEMP%", "{", "}", "{0}",
	"@{a=1}", "(", ")",
	`back\slash`, `trail\`, `two\\`, `q\"`, "#comment", ";rm", "a|b", "a/b", "a&b", "<tag>", "!", "^", "~", "-flag", "--a=b c",
	"//x",
	"null", "true", "0", "-0", "007", "1.50", "1e3", "0x10", "9223372036854775808", "18446744073709551616", "99999999999999999999.1",
	"v1.36.2", "1.9", "1.10", "V2", "20348.2700", "1..2", ".", "v", "😀", "a😀b", "\ufeffmark", "\ufffd", "\u007f",
}

// plain texts meet each other more often.
var plain = []string{"a", "b", "value", "Value", "kubelet", "4", "8192", "20348", "1.36", "10.0.0.5", "WIN-1", "two words"}

func (g *generator) text() string {
	switch {
	case !g.later && g.chance(4):
		return g.secret()
	case g.chance(45):
		return pick(g, plain...)
	case g.chance(80):
		return pick(g, hostile...)
	case g.chance(90):
		return pick(g, hostile...) + pick(g, "", " ", "-") + pick(g, hostile...)
	}
	return strings.Repeat(pick(g, "long ", "é", "x", "line\n", "\u3000"), 150+g.IntN(400))
}

// value is a text, or parts with facts.
func (g *generator) value() any {
	if g.chance(75) {
		return g.text()
	}
	if g.chance(10) {
		return json.Number(pick(g, "0", "7", "-1", "65535", "9223372036854775807", "9223372036854775808", "12345678901234567890123"))
	}
	return g.parts(g.text())
}

func (g *generator) parts(before string) []any {
	parts := []any{before, tree{"fact": pick(g, g.facts...)}}
	if g.chance(50) {
		parts = append(parts, g.text())
	}
	return parts
}

func (g *generator) values(least, most int) []any { return g.list(least, most, g.value) }

// secrets are those that plans redact and programs print.
var secrets = []string{
	"swordfish-1234", "swordfish", "pass word 99", "pässwörd-ünïcode", "multi line\nsecret text", "[brackets]$(x)", `quote"s'8chars`,
	"ABCDEFGH", "12345678", "aaaaaaaa", "İıK\u212asecret", "nul\u0000nul-nul", "longest-secret-of-all-" + strings.Repeat("z", 60),
}

func (g *generator) secret() string {
	if len(g.hidden) > 0 && g.chance(70) {
		return pick(g, g.hidden...)
	}
	return pick(g, secrets...)
}

// output is what a program prints.
func (g *generator) output() string {
	lines := make([]string, 0, 4)
	for range g.IntN(5) {
		switch {
		case g.chance(30):
			lines = append(lines, pick(g, "", "token ", "+ ")+g.secret())
		case g.chance(10):
			lines = append(lines, "kubeadm join --token abcdef.0123456789abcdef")
		case g.chance(5):
			lines = append(lines, "+ "+g.text())
		default:
			lines = append(lines, g.text())
		}
	}
	if g.chance(3) {
		lines = append(lines, strings.Split(strings.Repeat("many\n", 30), "\n")...)
	}
	return strings.Join(lines, pick(g, "\n", "\n", "\r\n", "\r")) + pick(g, "", "\n", "\r\n")
}

// files and folders are few, so that steps meet.
var (
	files = []string{
		`C:\k\a.txt`, `C:\k\b.conf`, `C:\k\sub\c.json`, `C:\etc\kübe\d.txt`, `C:\k\[x].txt`, `C:\k\it's.log`, `C:\k\two words.log`,
		`C:\k\sub\deep\er\e.yaml`, `C:\logs\one.log`, `C:\logs\İki.log`, `C:\logs\$(x).log`, `C:\k\f{0}.txt`,
	}
	folders  = []string{`C:\k`, `C:\k\sub`, `C:\etc`, `C:\etc\kübe`, `C:\logs`, `C:\new\folder`, `C:\k\linked`, `C:\d [1]`}
	masks    = []string{"*", "*.txt", "?.txt", "*.log", "b*", "none*", "*x*", "*ü*", "İ*", "*.*", "[x].txt", "sub", "SUB", "A.TXT"}
	programs = []string{`C:\k\a.exe`, `C:\Program Files\b c\b.exe`, `C:\k\kubectl.exe`, "tool.exe"}
	services = []string{"kubelet", "containerd", "kube-proxy", "svc_1"}
	features = []string{"Containers", "Hyper-V", "containers", "RSAT"}
	networks = []string{"Calico", "calico", "External", "nat", "[x]", "İç", "other net"}
)

// path is one of the few, or one with a fact in it.
func (g *generator) path() any {
	if g.chance(15) {
		return []any{`C:\k\`, tree{"fact": pick(g, g.facts...)}, pick(g, ".txt", `\x.log`, "")}
	}
	return pick(g, files...)
}

func (g *generator) folder() any { return pick(g, folders...) }

func (g *generator) pattern() any {
	if g.chance(8) {
		return []any{`C:\k\`, tree{"fact": pick(g, "computerName", "cpus", "foundA")}}
	}
	return pick(g, folders...) + `\` + pick(g, masks...)
}

// keys of objects: also those that PowerShell or JSON may take for something else.
var keys = []string{
	"a", "b", "Name", "keys", "Count", "length", "item", "values", "é", "x.y", "a b", "$x", "0", "true", "psobject", "İ", "ı",
	"i", "PSBase",
	"system", "fact2", "@odata", "__type", "'", `"`, "[0]", "\u212a",
}

// tree is any object.
func (g *generator) tree(depth int) tree {
	made := tree{}
	for range 1 + g.IntN(3) {
		made[pick(g, keys...)] = g.node(depth)
	}
	return made
}

func (g *generator) node(depth int) any {
	if depth > 0 && g.chance(40) {
		if g.chance(40) {
			return g.list(0, 3, func() any { return g.node(depth - 1) })
		}
		return g.tree(depth - 1)
	}
	switch g.IntN(7) {
	case 0:
		return tree{"fact": pick(g, g.facts...)}
	case 1:
		return json.Number(pick(g, "0", "-1", "3", "2.5", "9007199254740993", "9223372036854775807", "1000000"))
	case 2:
		return pick[any](g, true, false, nil)
	}
	return g.text()
}
