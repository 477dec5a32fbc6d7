package bootstrap

import (
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// Sources are all that a spec refers to, each once, in the order of their names.
func Sources(spec bootstrapv1.WindowsBootstrapConfigSpec) []Source {
	var all []Source
	if ref := spec.Discovery.KubeconfigSecret; ref.Name != "" {
		all = append(all, Source{SourceSecret, ref.Name, ref.Key})
	}
	for _, file := range spec.Custom.Files {
		all = append(all, sourceOf(file.ContentFrom)...)
	}
	for _, script := range slices.Concat(spec.Custom.PreJoin, spec.Custom.PostJoin) {
		all = append(all, sourceOf(script.ContentFrom)...)
	}
	for _, certificate := range spec.Windows.TrustedCertificates {
		all = append(all, sourceOf(certificate.ContentFrom)...)
	}
	for _, registry := range spec.Containerd.Registries {
		all = append(all, sourceOf(registry.CA)...)
		all = append(all, credentialSources(registry.CredentialsRef.Name)...)
	}
	all = append(all, credentialSources(spec.Windows.Domain.CredentialsRef.Name)...)
	for _, dropIn := range spec.Containerd.DropIns {
		all = append(all, sourceOf(dropIn.ContentFrom)...)
	}
	slices.SortFunc(all, func(a, b Source) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}
