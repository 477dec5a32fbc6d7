package bootstrap

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

// sourceOf is none for a content that stands in the spec itself.
func sourceOf(from bootstrapv1.ContentSource) []Source {
	switch {
	case from.Secret.Name != "":
		return []Source{{SourceSecret, from.Secret.Name, from.Secret.Key}}
	case from.ConfigMap.Name != "":
		return []Source{{SourceConfigMap, from.ConfigMap.Name, from.ConfigMap.Key}}
	}
	return nil
}

// credentialSources are user and password, or none where no Secret is named.
func credentialSources(name string) []Source {
	if name == "" {
		return nil
	}
	return []Source{{SourceSecret, name, "username"}, {SourceSecret, name, "password"}}
}

// content is what a user wrote, here or there.
type content struct {
	bytes []byte
	// secret says that it comes from a Secret.
	secret bool
}

// contents are what is in the Secrets and ConfigMaps that a spec refers to, by the names of Source.
type contents map[string][]byte

// of gives the content of a field, which stands in the spec or in a source.
func (c contents) of(field, inline string, from bootstrapv1.ContentSource) (content, error) {
	sources := sourceOf(from)
	if (inline == "") == (len(sources) == 0) {
		return content{}, invalid(field, "write either content or contentFrom")
	}
	if len(sources) == 0 {
		return content{bytes: []byte(inline)}, nil
	}
	data, err := c.source(field, sources[0])
	return content{bytes: data, secret: sources[0].Kind == SourceSecret}, err
}

func (c contents) source(field string, from Source) ([]byte, error) {
	data := c[from.String()]
	if len(data) == 0 {
		return nil, invalid(field, "%s %s has nothing under the key %q; write it there, or name another key", from.Kind, from.Name, from.Key)
	}
	return data, nil
}

// credentials are the user and the password of a Secret, without the line end that editors leave.
func (c contents) credentials(field, secret string) (user, password string, err error) {
	var pair [2]string
	for i, source := range credentialSources(secret) {
		text, err := c.source(field, source)
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
	shortestSecret = 8
	longestSecret  = 256
)

// secretText is what has to be hidden of a content.
func (c content) secretText() []string {
	if !c.secret {
		return nil
	}
	return secretText(string(c.bytes))
}

// secretText is what has to be hidden of a secret.
func secretText(text string) []string {
	text = strings.TrimSpace(text)
	if len(text) < shortestSecret || len(text) > longestSecret || strings.ContainsAny(text, "\r\n") {
		return nil
	}
	return []string{text}
}
