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

// mask hides secrets in a text, the longer ones first: one may be a part of another.
func mask(text string, secrets []string) string {
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, masked)
		}
	}
	return text
}

// jsonString is a string as it stands in JSON: a quote outside of one always begins one.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// maskJSON hides secrets in the strings of JSON, and leaves the rest of the bytes as they are.
func maskJSON(data []byte, secrets []string) ([]byte, error) {
	var all strings.Builder
	clean := jsonString.ReplaceAllFunc(data, func(quoted []byte) []byte {
		text := maskString(quoted, secrets)
		all.WriteString(unquote(text))
		return text
	})
	if joined := all.String(); mask(joined, secrets) != joined {
		return nil, errors.New("a secret stands in the plan in pieces and cannot be masked; write it with --show-secrets")
	}
	return clean, nil
}

// maskString hides the whole string when only its decoded form holds a secret.
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

// unquote reads a string of JSON; one that it is not is its own text.
func unquote(quoted []byte) string {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return string(quoted)
	}
	return text
}
