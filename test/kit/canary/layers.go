package canary

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Layers returns a text and all that is encoded in it, as deep as it goes.
func Layers(text []byte) []string {
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
			deeper = append(deeper, inside(one)...)
		}
		next = deeper
	}
	return all
}

var (
	quotes  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	lines   = regexp.MustCompile(`[A-Za-z0-9+/_-]{4,}={0,2}(?:(?:\\r|\\n|\s)+[A-Za-z0-9+/_-]{4,}={0,2})*`)
	words   = regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}={0,2}`)
	hexes   = regexp.MustCompile(`[0-9A-Fa-f]{14,}`)
	numbers = regexp.MustCompile(`\d{1,3}(?:,? \d{1,3}){6,}`) // bytes, as Go prints them
	breaks  = regexp.MustCompile(`\\r|\\n|\s`)
)

// inside decodes one layer in every way that is known.
func inside(text string) []string {
	var found []string
	if reader, err := gzip.NewReader(strings.NewReader(text)); err == nil {
		if plain, _ := io.ReadAll(reader); len(plain) > 0 { // something else may follow
			return []string{string(plain)}
		}
	}
	for _, quoted := range quotes.FindAllString(text, -1) {
		var plain string
		if json.Unmarshal([]byte(quoted), &plain) == nil {
			found = append(found, plain)
		} else if plain, err := strconv.Unquote(quoted); err == nil {
			found = append(found, plain)
		}
	}
	for _, words := range lines.FindAllString(text, -1) {
		found = append(found, fromBase64(breaks.ReplaceAllString(words, ""))...)
	}
	for _, word := range words.FindAllString(text, -1) {
		found = append(found, fromBase64(word)...)
	}
	for _, word := range hexes.FindAllString(text, -1) {
		plain, _ := hex.DecodeString(word[:len(word)/2*2])
		found = append(found, string(plain))
	}
	for _, list := range numbers.FindAllString(text, -1) {
		found = append(found, fromNumbers(list))
	}
	if percent.MatchString(text) {
		found = append(found, percent.ReplaceAllStringFunc(text, byteOf),
			percent.ReplaceAllStringFunc(strings.ReplaceAll(text, "+", " "), byteOf))
	}
	found = append(found, html.UnescapeString(text),
		fromUTF16(text, 0), fromUTF16(text, 1), strings.NewReplacer(`\\`, `\`, `\"`, `"`, "''", "'").Replace(text))
	return found
}

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func byteOf(escaped string) string {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped
	}
	return plain
}

// fromBase64 decodes a word of base64, of which some characters at either end may belong to something else.
func fromBase64(word string) []string {
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

// fromUTF16 reads a text as UTF-16, if most of it looks so.
func fromUTF16(text string, order int) string {
	if strings.Count(text, "\x00") < len(text)/3 {
		return ""
	}
	var units []uint16
	for i := 0; i+1 < len(text); i += 2 {
		units = append(units, uint16(text[i+order])|uint16(text[i+1-order])<<8)
	}
	return string(utf16.Decode(units))
}

func fromNumbers(list string) string {
	var plain []byte
	for one := range strings.FieldsSeq(strings.ReplaceAll(list, ",", " ")) {
		number, _ := strconv.ParseUint(one, 10, 8)
		plain = append(plain, byte(number))
	}
	return string(plain)
}
