package bootstrap

import (
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Sources are all Secrets and ConfigMaps that a spec refers to, each once, sorted by name.
func Sources(spec bootstrapv1.WindowsBootstrapConfigSpec) []step.Source {
	var all []step.Source
	if ref := spec.Discovery.KubeconfigFrom.Secret; ref.Name != "" {
		all = append(all, step.Source{Kind: step.SourceSecret, Name: ref.Name, Key: ref.Key})
	}
	for _, file := range spec.Custom.Files {
		all = append(all, step.SourcesOf(file.ContentFrom)...)
	}
	for _, script := range slices.Concat(spec.Custom.PreJoin, spec.Custom.PostJoin) {
		all = append(all, step.SourcesOf(script.ContentFrom)...)
	}
	for _, certificate := range spec.Windows.TrustedCertificates {
		all = append(all, step.SourcesOf(certificate.ContentFrom)...)
	}
	for _, registry := range spec.Containerd.Registries {
		all = append(all, step.SourcesOf(registry.CAFrom)...)
		all = append(all, step.CredentialSources(registry.CredentialsRef.Name)...)
	}
	for _, ref := range []bootstrapv1.SecretReference{spec.Windows.Domain.CredentialsRef, spec.Windows.Proxy.CredentialsRef} {
		all = append(all, step.CredentialSources(ref.Name)...)
	}
	for _, dropIn := range spec.Containerd.DropIns {
		all = append(all, step.SourcesOf(dropIn.ContentFrom)...)
	}
	slices.SortFunc(all, func(a, b step.Source) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}
