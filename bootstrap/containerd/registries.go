package containerd

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// anyRegistry is containerd's name for all registries without a folder of their own.
const anyRegistry = "_default"

var (
	registryHost = regexp.MustCompile(`^(` + hostName + `(:` + port + `)?|_default)$`)
	mirrorURL    = regexp.MustCompile(`^https?://` + hostName + `(:` + port + `)?(/[A-Za-z0-9._~-]+)*$`)
)

// registry is one host, read and found good.
type registry struct {
	host string
	// ca is its CA in PEM, hosts the text of its hosts.toml.
	ca     []byte
	hosts  string
	redact []string
	access
}

// access is what containerd needs to use a host, also as another registry's mirror.
type access struct {
	// caPath is where its CA is on the node, authorization the header with its credentials.
	caPath, authorization string
}

func readRegistries(wanted []bootstrapv1.Registry, sources step.Contents) ([]registry, error) {
	var registries []registry
	logins := map[string]access{}
	for i, r := range wanted {
		field := fmt.Sprintf("%s.registries[%d]", containerdField, i)
		_, twice := logins[r.Host]
		switch {
		case !registryHost.MatchString(r.Host):
			return nil, step.Invalid(field,
				"host %q is not valid; use one such as registry.example.com:5000, or _default", r.Host)
		case twice:
			return nil, step.Invalid(field, "host %q is listed twice; remove one of the two", r.Host)
		case len(r.Mirrors) == 0 && len(step.SourcesOf(r.CAFrom)) == 0 && r.CredentialsRef.Name == "":
			return nil, step.Invalid(field, "registry %s has no mirrors, caFrom or credentialsRef; set one of them", r.Host)
		}
		read, err := readRegistry(field, r, sources)
		if err != nil {
			return nil, err
		}
		logins[r.Host] = read.access
		registries = append(registries, read)
	}
	for i, r := range wanted {
		text, err := hostsFile(fmt.Sprintf("%s.registries[%d]", containerdField, i), r, logins)
		if err != nil {
			return nil, err
		}
		registries[i].hosts = text
	}
	return registries, nil
}

// readRegistry reads the CA and the credentials of a host.
func readRegistry(field string, wanted bootstrapv1.Registry, sources step.Contents) (registry, error) {
	read := registry{host: wanted.Host}
	if len(step.SourcesOf(wanted.CAFrom)) > 0 {
		ca, err := sources.Content(field+".caFrom", "", wanted.CAFrom)
		if err != nil {
			return read, err
		}
		if _, err := step.Certificates(field+".caFrom", ca.Bytes, "PEM"); err != nil {
			return read, err
		}
		read.ca, read.caPath = step.OnlyCertificates(ca.Bytes), registryFolder(wanted.Host)+`\ca.crt`
	}
	name := wanted.CredentialsRef.Name
	if name == "" {
		return read, nil
	}
	if wanted.Host == anyRegistry {
		return read, step.Invalid(field,
			"credentials for %s would go to every registry; use the host of one registry", anyRegistry)
	}
	user, password, err := sources.Credentials(field+".credentialsRef", name)
	if err != nil {
		return read, err
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	read.redact = slices.Concat(step.SecretText(password), step.SecretText(encoded))
	read.authorization = "Basic " + encoded
	return read, nil
}

// addRegistries writes CAs and hosts.toml files. These hold credentials in clear text; only administrators can open
// their folder.
func addRegistries(p *step.Part, registries []registry) {
	if len(registries) == 0 {
		return
	}
	for i, r := range registries {
		if len(r.ca) > 0 {
			p.Add(step.PhaseContainer, step.PrivateFile(fmt.Sprintf(
				"registry-ca-%d", i+1), step.ReasonContainerdConfigFailed, r.caPath, r.ca))
		}
		p.Redact = append(p.Redact, r.redact...)
	}
	for i, r := range registries {
		path := registryFolder(r.host) + `\hosts.toml`
		hosts := step.PrivateFile(fmt.Sprintf("registry-%d", i+1), step.ReasonContainerdConfigFailed, path, []byte(r.hosts))
		hosts.Secret = strings.Contains(r.hosts, authorizationKey)
		p.Add(step.PhaseContainer, hosts)
	}
}

// registryFolder: a path cannot have a colon, so containerd on Windows leaves it out.
func registryFolder(host string) string {
	return step.CertsDirectory + `\` + strings.ReplaceAll(host, ":", "")
}

// hostsFile is the hosts.toml of a registry: its mirrors in their order, and last the registry itself.
func hostsFile(field string, wanted bootstrapv1.Registry, logins map[string]access) (string, error) {
	var text strings.Builder
	switch wanted.Host {
	case anyRegistry:
	case "docker.io":
		text.WriteString("server = 'https://registry-1.docker.io'\n")
	default:
		text.WriteString("server = 'https://" + wanted.Host + "'\n")
	}
	text.WriteString(logins[wanted.Host].keys("header"))
	for i, mirror := range wanted.Mirrors {
		parsed, err := url.Parse(mirror.URL)
		if err != nil || !mirrorURL.MatchString(mirror.URL) {
			return "", step.Invalid(field,
				"mirrors[%d] is not a URL that containerd accepts; use one such as https://mirror.example.com", i)
		}
		table := "host.'" + mirror.URL + "'"
		text.WriteString("\n[" + table + "]\ncapabilities = ['pull', 'resolve']\n")
		if parsed.Path != "" {
			text.WriteString("override_path = true\n")
		}
		text.WriteString(logins[parsed.Host].keys(table + ".header"))
	}
	return text.String(), nil
}

// authorizationKey begins the line with the credentials. containerd sends the header with each request, and from 2.1 on also
// to the token service that a registry names (core/remotes/docker/config/hosts.go, WithAuthHeader). The token then takes the
// place of the header if its name is written exactly so: else containerd sends both, which registries refuse
// (core/remotes/docker/authorizer.go, Authorize). test/upstream/containerd shows all of this.
const authorizationKey = "Authorization = "

// keys of a host; its header is a table and must come last.
func (a access) keys(header string) string {
	var text strings.Builder
	if a.caPath != "" {
		text.WriteString("ca = '" + a.caPath + "'\n")
	}
	if a.authorization != "" {
		text.WriteString("[" + header + "]\n" + authorizationKey + "['" + a.authorization + "']\n")
	}
	return text.String()
}
