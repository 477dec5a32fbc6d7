package bootstrap

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Sources are all Secrets and ConfigMaps that a spec refers to, each once, sorted by name.
func Sources(spec bootstrapv1.WindowsBootstrapConfigSpec) []step.Source {
	sources := uses(spec)
	slices.SortFunc(sources, func(a, b step.Source) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(sources)
}

// uses are the same, each as often as the spec refers to it.
func uses(spec bootstrapv1.WindowsBootstrapConfigSpec) []step.Source {
	sources := append(discoverySource(spec), credentialsIn(spec)...)
	for _, content := range contentsOf(spec) {
		sources = append(sources, step.SourcesOf(content.source)...)
	}
	for _, registry := range spec.Containerd.Registries {
		sources = append(sources, step.SourcesOf(registry.CAFrom)...)
	}
	return sources
}

// discoverySource is that of the kubeconfig by which kubeadm finds the cluster, if there is one.
func discoverySource(spec bootstrapv1.WindowsBootstrapConfigSpec) []step.Source {
	ref := spec.Discovery.KubeconfigFrom.Secret
	if ref.Name == "" {
		return nil
	}
	return []step.Source{{Kind: step.SourceSecret, Name: ref.Name, Key: ref.Key}}
}

// content is what the user wrote to a field of the spec itself, or to a source.
type content struct {
	field, text string
	source      bootstrapv1.ContentSource
}

func contentsOf(spec bootstrapv1.WindowsBootstrapConfigSpec) (found []content) {
	add := func(list string, index int, text string, source bootstrapv1.ContentSource) {
		found = append(found, content{fmt.Sprintf("%s[%d]", list, index), text, source})
	}
	for i, file := range spec.Custom.Files {
		add("custom.files", i, file.Content, file.ContentFrom)
	}
	for i, script := range spec.Custom.PreJoin {
		add("custom.preJoin", i, script.Content, script.ContentFrom)
	}
	for i, script := range spec.Custom.PostJoin {
		add("custom.postJoin", i, script.Content, script.ContentFrom)
	}
	for i, certificate := range spec.Windows.TrustedCertificates {
		add("windows.trustedCertificates", i, certificate.Content, certificate.ContentFrom)
	}
	for i, dropIn := range spec.Containerd.DropIns {
		add("containerd.dropIns", i, dropIn.Content, dropIn.ContentFrom)
	}
	return found
}

// maxContentBytes is far more than any cloud carries, even of what compresses well, and little enough that many configs can be
// rendered at once.
const maxContentBytes = 1 << 20

// CheckSize refuses contents that no cloud carries before anything is made of them. Each counts as often as it is used, with the
// length that it has in the plan. Contents may still be missing in the sources.
func CheckSize(spec bootstrapv1.WindowsBootstrapConfigSpec, sources map[string][]byte) error {
	left := maxContentBytes
	for _, content := range contentsOf(spec) {
		left -= lengthInPlan([]byte(content.text))
	}
	for _, source := range uses(spec) {
		if left < 0 {
			break // before more of what may be used a hundred times is counted
		}
		left -= lengthInPlan(sources[source.String()])
	}
	if left >= 0 {
		return nil
	}
	return step.Invalid("WindowsBootstrapConfig spec",
		"its files, scripts, certificates and other contents have more than %d bytes together, with escapes and each as often as it "+
			"is used, but user data carries far less; use fewer or shorter ones%s", maxContentBytes, largest(spec, sources))
}

// largest names what to look at first where contents are too large: ": the largest is custom.files[3] with 400000 bytes".
func largest(spec bootstrapv1.WindowsBootstrapConfigSpec, sources map[string][]byte) string {
	name, size := "", 0
	for _, content := range contentsOf(spec) {
		length := len(content.text)
		for _, source := range step.SourcesOf(content.source) {
			length = len(sources[source.String()])
		}
		if length > size {
			name, size = content.field, length
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; the largest is spec.%s with %d bytes", name, size)
}

// lengthInPlan is the length of a content as JSON, where a control character is six bytes; what is no text is base64.
func lengthInPlan(content []byte) int {
	if !utf8.Valid(content) || slices.Contains(content, 0) {
		return base64.StdEncoding.EncodedLen(len(content))
	}
	length := len(content)
	for _, c := range string(content) {
		length += escape(c)
	}
	return length
}

// escape is how many bytes more a character has in JSON, as Go writes it.
func escape(c rune) int {
	switch c {
	case '"', '\\', '\n', '\r', '\t', '\b', '\f':
		return 1
	case '<', '>', '&':
		return 5
	case '\u2028', '\u2029':
		return 3
	}
	if c < ' ' {
		return 5
	}
	return 0
}
