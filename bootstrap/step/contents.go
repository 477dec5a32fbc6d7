package step

import (
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// Source is a key of a Secret or ConfigMap that a config refers to.
type Source struct {
	// Kind is Secret or ConfigMap.
	Kind      string
	Name, Key string
}

// The kinds of sources.
const (
	SourceSecret    = "Secret"
	SourceConfigMap = "ConfigMap"
)

// String is the source's name in Input.Sources.
func (s Source) String() string { return strings.ToLower(s.Kind) + "/" + s.Name + "/" + s.Key }

// SourcesOf is the source of a content; it is empty if the content stands in the spec itself.
func SourcesOf(source bootstrapv1.ContentSource) []Source {
	switch {
	case source.Secret.Name != "":
		return []Source{{SourceSecret, source.Secret.Name, source.Secret.Key}}
	case source.ConfigMap.Name != "":
		return []Source{{SourceConfigMap, source.ConfigMap.Name, source.ConfigMap.Key}}
	}
	return nil
}

// CredentialSources are the user and the password in a Secret; empty if no Secret is named.
func CredentialSources(name string) []Source {
	if name == "" {
		return nil
	}
	return []Source{{SourceSecret, name, "username"}, {SourceSecret, name, "password"}}
}

// Content is what a user wrote, in the spec or in a source.
type Content struct {
	Bytes []byte
	// Secret is true if it comes from a Secret.
	Secret bool
}

// Contents are the Secrets and ConfigMaps that a spec refers to, by the names of Source.
type Contents map[string][]byte

// Content reads the content of a field, which stands in the spec or in a source.
func (c Contents) Content(field, inline string, source bootstrapv1.ContentSource) (Content, error) {
	sources := SourcesOf(source)
	if (inline == "") == (len(sources) == 0) {
		return Content{}, Invalid(field, "set exactly one of content and contentFrom")
	}
	if len(sources) == 0 {
		return Content{Bytes: []byte(inline)}, nil
	}
	data, err := c.Key(field, sources[0])
	return Content{Bytes: data, Secret: sources[0].Kind == SourceSecret}, err
}

// Key reads a source, and refuses one that is empty.
func (c Contents) Key(field string, source Source) ([]byte, error) {
	data := c[source.String()]
	if len(data) == 0 {
		return nil, Invalid(field,
			"%s %s has no content under the key %q; add it, or name another key", source.Kind, source.Name, source.Key)
	}
	return data, nil
}

// Credentials are the user and the password in a Secret, without the newline that editors add.
func (c Contents) Credentials(field, secret string) (user, password string, err error) {
	var pair [2]string
	for i, source := range CredentialSources(secret) {
		text, err := c.Key(field, source)
		if err != nil {
			return "", "", err
		}
		pair[i] = strings.TrimRight(string(text), "\r\n")
	}
	return pair[0], pair[1], nil
}

// Which texts are hidden from reports and collected logs: a shorter one would also hide words that are not secret. The lines of
// longer ones are hidden from reports by the node itself, which has them in the files that the plan calls secret.
const (
	ShortestSecret = 8
	longestSecret  = 256
)

// SecretText is what reports must not show of a content.
func (c Content) SecretText() []string {
	if !c.Secret {
		return nil
	}
	return SecretText(string(c.Bytes))
}

// SecretText is what reports must not show of a secret.
func SecretText(text string) []string {
	text = strings.TrimSpace(text)
	if len(text) < ShortestSecret || len(text) > longestSecret || strings.ContainsAny(text, "\r\n") {
		return nil
	}
	return []string{text}
}
