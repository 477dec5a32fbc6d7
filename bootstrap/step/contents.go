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

// SourcesOf is none for a content that stands in the spec itself.
func SourcesOf(from bootstrapv1.ContentSource) []Source {
	switch {
	case from.Secret.Name != "":
		return []Source{{SourceSecret, from.Secret.Name, from.Secret.Key}}
	case from.ConfigMap.Name != "":
		return []Source{{SourceConfigMap, from.ConfigMap.Name, from.ConfigMap.Key}}
	}
	return nil
}

// CredentialSources are user and password, or none where no Secret is named.
func CredentialSources(name string) []Source {
	if name == "" {
		return nil
	}
	return []Source{{SourceSecret, name, "username"}, {SourceSecret, name, "password"}}
}

// Content is what a user wrote, here or there.
type Content struct {
	Bytes []byte
	// Secret says that it comes from a Secret.
	Secret bool
}

// Contents are what is in the Secrets and ConfigMaps that a spec refers to, by the names of Source.
type Contents map[string][]byte

// Content gives the content of a field, which stands in the spec or in a source.
func (c Contents) Content(field, inline string, from bootstrapv1.ContentSource) (Content, error) {
	sources := SourcesOf(from)
	if (inline == "") == (len(sources) == 0) {
		return Content{}, Invalid(field, "write either content or contentFrom")
	}
	if len(sources) == 0 {
		return Content{Bytes: []byte(inline)}, nil
	}
	data, err := c.Key(field, sources[0])
	return Content{Bytes: data, Secret: sources[0].Kind == SourceSecret}, err
}

// Key gives what a source has, and refuses a source that has nothing.
func (c Contents) Key(field string, from Source) ([]byte, error) {
	data := c[from.String()]
	if len(data) == 0 {
		return nil, Invalid(field, "%s %s has nothing under the key %q; write it there, or name another key", from.Kind, from.Name, from.Key)
	}
	return data, nil
}

// Credentials are the user and the password of a Secret, without the line end that editors leave.
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

// What a text must have to be hidden from reports: shorter ones would hide what is no secret, and those of many lines do
// not stand in one.
const (
	ShortestSecret = 8
	longestSecret  = 256
)

// SecretText is what has to be hidden of a content.
func (c Content) SecretText() []string {
	if !c.Secret {
		return nil
	}
	return SecretText(string(c.Bytes))
}

// SecretText is what has to be hidden of a secret.
func SecretText(text string) []string {
	text = strings.TrimSpace(text)
	if len(text) < ShortestSecret || len(text) > longestSecret || strings.ContainsAny(text, "\r\n") {
		return nil
	}
	return []string{text}
}
