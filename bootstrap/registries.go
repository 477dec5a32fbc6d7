package bootstrap

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// anyRegistry stands for all registries that have no folder of their own.
const anyRegistry = "_default"

var (
	registryHost = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?(:\d{1,5})?|_default)$`)
	mirrorURL    = regexp.MustCompile(`^https?://[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:\d{1,5})?(/[A-Za-z0-9._~-]+)*$`)
)

// registry is what containerd has to know of one host.
type registry struct {
	// ca is the path of its CA, authorization the header that lets us in.
	ca, authorization string
}

// registries writes a hosts.toml for each. They hold credentials in clear: only administrators get into their folder.
func (p *part) registries(n *node) error {
	wanted := n.spec.Containerd.Registries
	if len(wanted) == 0 {
		return nil
	}
	p.add(phaseContainer, &plan.Directory{
		Common: plan.Common{Name: "registries", Reason: ReasonContainerdConfigFailed}, Path: plan.Text(certsDirectory), Access: plan.AccessAdmin,
	})
	known := map[string]registry{}
	for i, one := range wanted {
		field := fmt.Sprintf("%s.registries[%d]", containerdField, i)
		_, twice := known[one.Host]
		switch {
		case !registryHost.MatchString(one.Host):
			return invalid(field, "host %q is none; write one such as registry.example.com:5000, or _default", one.Host)
		case twice:
			return invalid(field, "the host %q is there twice; leave one out", one.Host)
		case len(one.Mirrors) == 0 && len(sourceOf(one.CA)) == 0 && one.CredentialsRef.Name == "":
			return invalid(field, "it says nothing of %s; write mirrors, ca or credentialsRef", one.Host)
		}
		read, err := p.registry(n, field, one, i)
		if err != nil {
			return err
		}
		known[one.Host] = read
	}
	for i, one := range wanted {
		text, err := hostsFile(fmt.Sprintf("%s.registries[%d]", containerdField, i), one, known)
		if err != nil {
			return err
		}
		file := fileStep(fmt.Sprintf("registry-%d", i+1), ReasonContainerdConfigFailed, registryFolder(one.Host)+`\hosts.toml`, []byte(text))
		file.Access = plan.AccessAdmin
		p.add(phaseContainer, file)
	}
	return nil
}

// registryFolder: a colon can not stand in a path, and so containerd on Windows leaves it out.
func registryFolder(host string) string {
	return certsDirectory + `\` + strings.ReplaceAll(host, ":", "")
}

// registry reads CA and credentials, and writes the CA.
func (p *part) registry(n *node, field string, wanted bootstrapv1.Registry, i int) (registry, error) {
	var read registry
	if len(sourceOf(wanted.CA)) > 0 {
		ca, err := n.read(field+".ca", "", wanted.CA)
		if err != nil {
			return read, err
		}
		if _, err := readCertificates(field+".ca", ca.bytes); err != nil {
			return read, err
		}
		read.ca = registryFolder(wanted.Host) + `\ca.crt`
		file := fileStep(fmt.Sprintf("registry-ca-%d", i+1), ReasonContainerdConfigFailed, read.ca, ca.bytes)
		file.Access = plan.AccessAdmin
		p.add(phaseContainer, file)
	}
	name := wanted.CredentialsRef.Name
	if name == "" {
		return read, nil
	}
	if wanted.Host == anyRegistry {
		return read, invalid(field, "credentials for %s would go to every registry; write its host", anyRegistry)
	}
	var pair []string
	for _, source := range credentialSources(name) {
		text, err := n.source(field+".credentialsRef", source)
		if err != nil {
			return read, err
		}
		pair = append(pair, strings.TrimRight(string(text), "\r\n"))
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(strings.Join(pair, ":")))
	p.redact = append(p.redact, content{bytes: []byte(pair[1]), secret: true}.secretText()...)
	p.redact = append(p.redact, content{bytes: []byte(encoded), secret: true}.secretText()...)
	read.authorization = "Basic " + encoded
	return read, nil
}

// hostsFile is the hosts.toml of a registry: the mirrors in their order, the registry itself at last.
func hostsFile(field string, wanted bootstrapv1.Registry, known map[string]registry) (string, error) {
	var text strings.Builder
	switch wanted.Host {
	case anyRegistry:
	case "docker.io":
		text.WriteString("server = 'https://registry-1.docker.io'\n")
	default:
		text.WriteString("server = 'https://" + wanted.Host + "'\n")
	}
	text.WriteString(known[wanted.Host].keys("header"))
	for _, mirror := range wanted.Mirrors {
		parsed, err := url.Parse(mirror.URL)
		if err != nil || !mirrorURL.MatchString(mirror.URL) {
			return "", invalid(field, "mirror %q is no URL of one; write such as https://mirror.example.com", mirror.URL)
		}
		table := "host.'" + mirror.URL + "'"
		text.WriteString("\n[" + table + "]\ncapabilities = ['pull', 'resolve']\n")
		if parsed.Path != "" {
			text.WriteString("override_path = true\n")
		}
		text.WriteString(known[parsed.Host].keys(table + ".header"))
	}
	return text.String(), nil
}

// keys are those of a host; its header is a table, and so comes last.
func (r registry) keys(header string) string {
	var text strings.Builder
	if r.ca != "" {
		text.WriteString("ca = '" + r.ca + "'\n")
	}
	if r.authorization != "" {
		text.WriteString("[" + header + "]\nauthorization = ['" + r.authorization + "']\n")
	}
	return text.String()
}
