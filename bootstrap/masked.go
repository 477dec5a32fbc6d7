package bootstrap

import (
	"fmt"
	"maps"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// MaskedToken stands for a bootstrap token and has its form.
const MaskedToken = "hidden.thetokenishidden"

// Masked returns an input that renders to the same steps and has placeholders for all that Secrets hold, so that nothing of them
// can be in what is made of it, in whatever encoding. Certificates stay, and the server in a kubeconfig for discovery: both are
// public, and steps are made of them. What surrounds them in a Secret goes. The input must have been rendered without an error,
// because the values of Secrets are checked there.
func Masked(in Input) Input {
	spec := in.Config.Spec
	sources, hidden := maps.Clone(in.Sources), standIns(spec, "hidden")
	for _, source := range uses(spec) {
		if source.Kind == step.SourceSecret {
			sources[source.String()] = hidden[source.String()]
		}
	}
	for _, source := range certificatesIn(spec) {
		sources[source.String()] = step.OnlyCertificates(in.Sources[source.String()])
	}
	for _, source := range discoverySource(spec) {
		sources[source.String()] = maskedDiscovery(in.Sources[source.String()])
	}
	in.Token, in.ClusterCA, in.Sources = MaskedToken, step.OnlyCertificates(in.ClusterCA), sources
	return in
}

// standIns are contents of the forms in which a spec uses them, by the names of their sources. They begin with a word.
func standIns(spec bootstrapv1.WindowsBootstrapConfigSpec, word string) map[string][]byte {
	contents := map[string][]byte{}
	for _, source := range uses(spec) {
		contents[source.String()] = fmt.Appendf(nil, "[%s: %s %s, key %s]", word, source.Kind, source.Name, source.Key)
	}
	// A key may be used twice. What has to be read later wins.
	for _, source := range credentialsIn(spec) {
		contents[source.String()] = fmt.Appendf(nil, "%s.%s.%s", word, source.Name, source.Key)
	}
	return contents
}

// Placeholders are contents for all that a spec refers to, for who has not got them: what is rendered with them has the same
// steps. The certificate stands in for all others, and for the CA of a server, at which no node can join.
func Placeholders(spec bootstrapv1.WindowsBootstrapConfigSpec, certificate []byte) (map[string][]byte, error) {
	contents := standIns(spec, "placeholder")
	for _, source := range certificatesIn(spec) {
		contents[source.String()] = certificate
	}
	for _, source := range discoverySource(spec) {
		ca, err := readAuthority(discoveryField, certificate)
		if err != nil {
			return nil, err
		}
		text, err := cluster{endpoint: PlaceholderEndpoint, authority: ca}.discoveryText()
		if err != nil {
			return nil, err
		}
		contents[source.String()] = []byte(text)
	}
	return contents, nil
}

// PlaceholderEndpoint is that of no cluster: by RFC 2606 there is no such host.
var PlaceholderEndpoint = clusterv1.APIEndpoint{Host: "control-plane.invalid", Port: 6443}

// credentialsIn are the users and passwords that a spec refers to.
func credentialsIn(spec bootstrapv1.WindowsBootstrapConfigSpec) []step.Source {
	refs := []bootstrapv1.SecretReference{spec.Windows.Domain.CredentialsRef, spec.Windows.Proxy.CredentialsRef}
	for _, registry := range spec.Containerd.Registries {
		refs = append(refs, registry.CredentialsRef)
	}
	var sources []step.Source
	for _, ref := range refs {
		sources = append(sources, step.CredentialSources(ref.Name)...)
	}
	return sources
}

// certificatesIn are the certificates that a spec refers to, in Secrets and ConfigMaps.
func certificatesIn(spec bootstrapv1.WindowsBootstrapConfigSpec) []step.Source {
	var sources []step.Source
	for _, certificate := range spec.Windows.TrustedCertificates {
		sources = append(sources, step.SourcesOf(certificate.ContentFrom)...)
	}
	for _, registry := range spec.Containerd.Registries {
		sources = append(sources, step.SourcesOf(registry.CAFrom)...)
	}
	return sources
}

// maskedDiscovery is a kubeconfig of a server and certificates. It is empty if the text is not valid.
func maskedDiscovery(data []byte) []byte {
	found, err := discover(data)
	if err != nil {
		return nil
	}
	return []byte(found.discovery)
}
