package canary_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/capwin/cluster-api-provider-windows/test/kit/canary"
)

// What is looked for is found in every encoding, or a search that finds nothing says nothing.
func TestLayers(t *testing.T) {
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
		"hexadecimal":     "x=" + hex.EncodeToString([]byte(secret)), "bytes": fmt.Sprintf("%v", []byte(secret)),
		"Go string": fmt.Sprintf("%q", "\x00"+secret), "Go bytes": fmt.Sprintf("%X", secret),
		"PowerShell": std(little), "YAML": "'" + strings.ReplaceAll(secret, "'", "''") + "'",
	} {
		found := false
		for _, layer := range canary.Layers([]byte(text)) {
			found = found || strings.Contains(layer, secret)
		}
		if !found {
			t.Errorf("it is not found in %s: %s", name, text)
		}
	}
}

// A secret of each kind is found by its parts, with a short and with a long window, unless it is too short to be one.
func TestSearch(t *testing.T) {
	for _, window := range []int{7, 10} {
		for _, name := range canary.Values() {
			search := canary.Search{Window: window}
			search.Add("file", name)
			found := search.In("a: " + base64.StdEncoding.EncodeToString([]byte("x"+canary.Of("file", name))))
			if _, ok := found[name+" in the file"]; ok != (name != "one character") {
				t.Errorf("window %d: %s: found %v", window, name, found)
			}
			if found := search.In(canary.Of("another file", name)); len(found) > 0 {
				t.Errorf("window %d: %s: another is taken for it: %v", window, name, found)
			}
		}
	}
}
