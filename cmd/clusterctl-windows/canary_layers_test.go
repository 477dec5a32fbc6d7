package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
)

// canaryLayers returns a text and all that is encoded in it, as deep as it goes.
func canaryLayers(text []byte) []string {
	seen := map[string]bool{}
	var all []string
	next := []string{string(text)}
	for depth := 0; depth < 8 && len(next) > 0; depth++ {
		var deeper []string
		for _, one := range next {
			if len(one) < 7 || seen[one] {
				continue
			}
			seen[one] = true
			all = append(all, one)
			deeper = append(deeper, canaryInside(one)...)
		}
		next = deeper
	}
	return all
}

var (
	canaryStrings = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	canaryLines   = regexp.MustCompile(`[A-Za-z0-9+/_-]{4,}={0,2}(?:(?:\\r|\\n|\s)+[A-Za-z0-9+/_-]{4,}={0,2})*`)
	canaryWords   = regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}={0,2}`)
	canaryBreaks  = regexp.MustCompile(`\\r|\\n|\s`)
)

// canaryInside decodes one layer in every way that is known.
func canaryInside(text string) []string {
	var found []string
	if reader, err := gzip.NewReader(strings.NewReader(text)); err == nil {
		if plain, _ := io.ReadAll(reader); len(plain) > 0 { // something else may follow
			return []string{string(plain)}
		}
	}
	for _, quoted := range canaryStrings.FindAllString(text, -1) {
		var plain string
		if json.Unmarshal([]byte(quoted), &plain) == nil {
			found = append(found, plain)
		}
	}
	for _, words := range canaryLines.FindAllString(text, -1) {
		found = append(found, canaryBase64(canaryBreaks.ReplaceAllString(words, ""))...)
	}
	for _, word := range canaryWords.FindAllString(text, -1) {
		found = append(found, canaryBase64(word)...)
	}
	if canaryPercent.MatchString(text) {
		found = append(found, canaryPercent.ReplaceAllStringFunc(text, canaryByte),
			canaryPercent.ReplaceAllStringFunc(strings.ReplaceAll(text, "+", " "), canaryByte))
	}
	found = append(found, html.UnescapeString(text),
		canaryWide(text, 0), canaryWide(text, 1), strings.NewReplacer(`\\`, `\`, `\"`, `"`, "''", "'").Replace(text))
	return found
}

var canaryPercent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func canaryByte(escaped string) string {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped
	}
	return plain
}

// canaryBase64 decodes a word of base64, of which some characters at either end may belong to something else.
func canaryBase64(word string) []string {
	word = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(word, "="))
	var found []string
	for skip := range min(4, len(word)) {
		part := word[skip:]
		if len(part)%4 == 1 {
			part = part[:len(part)-1]
		}
		plain, _ := base64.RawStdEncoding.DecodeString(part) // up to where something else begins
		found = append(found, string(plain))
	}
	return found
}

// canaryWide reads a text as UTF-16, if most of it looks so.
func canaryWide(text string, order int) string {
	if strings.Count(text, "\x00") < len(text)/3 {
		return ""
	}
	var units []uint16
	for i := 0; i+1 < len(text); i += 2 {
		units = append(units, uint16(text[i+order])|uint16(text[i+1-order])<<8)
	}
	return string(utf16.Decode(units))
}

// What is looked for is found in every encoding, or a search that finds nothing says nothing.
func TestCanaryLayers(t *testing.T) {
	const secret = `pass"wo\rd <&> 'x' 漢字 %41`
	packed := func(text string) string {
		var out bytes.Buffer
		writer := gzip.NewWriter(&out)
		_, _ = writer.Write([]byte(text)) // a buffer takes everything
		_ = writer.Close()
		return out.String()
	}
	std := base64.StdEncoding.EncodeToString
	quoted := func(text string) string { data, _ := json.Marshal(text); return string(data) }
	var little []byte
	for _, unit := range utf16.Encode([]rune(secret)) {
		little = append(little, byte(unit), byte(unit>>8)) //nolint:gosec // because both halves are kept
	}
	lines := func(text string) string { return text[:20] + "\r\n  " + text[20:40] + "\n  " + text[40:] }
	for name, text := range map[string]string{
		"plain": secret, "JSON": quoted(secret), "JSON in JSON": quoted(quoted(secret)), "URL": url.QueryEscape(secret) + "&x=%",
		"path": "100% " + url.PathEscape(secret), "HTML": html.EscapeString(secret), "base64": "Basic " + std([]byte("user:"+secret)),
		"base64 URL":      base64.RawURLEncoding.EncodeToString([]byte("??>" + secret)),
		"base64 in lines": lines(std([]byte(secret + secret))),
		"after letters":   "abc" + std([]byte(secret)),
		"user data":       "content: |\n    " + std([]byte(packed(quoted(quoted(secret))))) + "\n",
		"PowerShell":      std(little), "YAML": "'" + strings.ReplaceAll(secret, "'", "''") + "'",
	} {
		found := false
		for _, layer := range canaryLayers([]byte(text)) {
			found = found || strings.Contains(layer, secret)
		}
		if !found {
			t.Errorf("it is not found in %s: %s", name, text)
		}
	}
}
