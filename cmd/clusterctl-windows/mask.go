package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
)

const masked = "[hidden]"

// mask hides secrets in a text. It begins with the longest, because a secret may be part of another one.
func mask(text string, secrets []string) string {
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, masked)
		}
	}
	return text
}

// jsonString matches a string in JSON. A quote outside a string always begins one.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// maskJSON hides secrets in the strings of JSON and leaves all other bytes unchanged.
func maskJSON(data []byte, secrets []string) ([]byte, error) {
	var all strings.Builder
	clean := jsonString.ReplaceAllFunc(data, func(quoted []byte) []byte {
		text := maskString(quoted, secrets)
		all.WriteString(unquote(text))
		return text
	})
	if joined := all.String(); mask(joined, secrets) != joined {
		return nil, errors.New("a secret is split over several texts and cannot be masked; use --show-secrets to write it in clear")
	}
	return clean, nil
}

// maskString hides secrets in a string, and all of the string if a secret is in its base64-decoded form only.
func maskString(quoted []byte, secrets []string) []byte {
	text := unquote(quoted)
	clean := mask(text, secrets)
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && mask(string(decoded), secrets) != string(decoded) {
		clean = masked
	}
	if clean == text {
		return quoted
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(clean) != nil {
		return []byte(`"` + masked + `"`)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// unquote decodes a JSON string, and returns anything else unchanged.
func unquote(quoted []byte) string {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return string(quoted)
	}
	return text
}
