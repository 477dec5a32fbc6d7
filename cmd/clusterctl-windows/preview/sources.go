package preview

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// loadSources reads the Secrets and ConfigMaps that the config refers to, or takes placeholders where they are not among the
// files, as in a review. It returns all errors at once.
func (m *Machine) loadSources(o *objects.Set) error {
	if m.config == nil {
		return nil // Find has returned this error already
	}
	placeholders, err := bootstrap.Placeholders(m.config.Spec, []byte(placeholderCA))
	if err != nil {
		return err
	}
	m.sources = map[string][]byte{}
	var errs []error
	var absent absences
	for _, source := range bootstrap.Sources(m.config.Spec) {
		key := types.NamespacedName{Namespace: m.config.Namespace, Name: source.Name}
		data, err := contentOf(o, source, key)
		if missing, ok := errors.AsType[*objects.MissingError](err); ok {
			data, err = placeholders[source.String()], nil
			absent = absent.add(missing, source.Key)
		}
		if err == nil && len(data) == 0 {
			err = fmt.Errorf("%s has no value for the key %s, which the config refers to; write %s",
				objects.Object{Kind: source.Kind, Key: key}, source.Key, whereToWrite(source))
		}
		if err != nil && !slices.ContainsFunc(errs, func(reported error) bool { return reported.Error() == err.Error() }) {
			errs = append(errs, err) // a Secret that is not there lacks all of its keys
		}
		m.sources[source.String()] = data
	}
	for _, missing := range absent {
		m.noteMissing(missing)
	}
	return errors.Join(errs...)
}

// absence is a Secret or ConfigMap that the files do not have, and the keys of it that the config refers to.
type absence struct {
	missing *objects.MissingError
	keys    []string
}

type absences []absence

// add adds a key of an object.
func (a absences) add(missing *objects.MissingError, key string) absences {
	for i, entry := range a {
		if entry.missing.Kind == missing.Kind && entry.missing.Key == missing.Key {
			a[i].keys = append(a[i].keys, key)
			return a
		}
	}
	return append(a, absence{missing, []string{key}})
}

// noteMissing notes the placeholder for keys of a Secret or ConfigMap that the files do not have. It is a note of its own,
// because its author may have meant another name.
func (m *Machine) noteMissing(a absence) {
	stands := "using a placeholder for its key " + a.keys[0]
	if len(a.keys) > 1 {
		stands = "using placeholders for its keys " + strings.Join(a.keys, ", ")
	}
	if len(a.missing.Elsewhere) > 0 || a.missing.Similar != "" {
		m.note("%v; %s", a.missing, stands)
		return
	}
	m.note("%s %s is not in %s; %s; for the exact plan, add the output of: kubectl get %s %s -n %s -o yaml", a.missing.Kind,
		a.missing.Key, a.missing.Source, stands, strings.ToLower(a.missing.Kind), a.missing.Key.Name, a.missing.Key.Namespace)
}

// whereToWrite names the field of the Secret or ConfigMap that the value belongs to.
func whereToWrite(source bootstrap.Source) string {
	if source.Kind == bootstrap.SourceSecret {
		return fmt.Sprintf("it to stringData.%s, or in base64 to data.%s", source.Key, source.Key)
	}
	return "it to data." + source.Key
}

func contentOf(o *objects.Set, source bootstrap.Source, key types.NamespacedName) ([]byte, error) {
	if source.Kind == bootstrap.SourceSecret {
		secret, err := objects.Load[corev1.Secret](o, "Secret", key)
		if err != nil {
			return nil, err
		}
		return Value(secret, source.Key), nil
	}
	configMap, err := objects.Load[corev1.ConfigMap](o, "ConfigMap", key)
	if err != nil {
		return nil, err
	}
	if text, ok := configMap.Data[source.Key]; ok {
		return []byte(text), nil
	}
	return configMap.BinaryData[source.Key], nil
}
