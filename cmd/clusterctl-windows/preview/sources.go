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
			absent = absent.with(missing, source.Key)
		}
		if err == nil && len(data) == 0 {
			err = fmt.Errorf("%s has no value for the key %s, which the config refers to; write %s",
				objects.Object{Kind: source.Kind, Key: key}, source.Key, whereToWrite(source))
		}
		if err != nil && !slices.ContainsFunc(errs, func(told error) bool { return told.Error() == err.Error() }) {
			errs = append(errs, err) // a Secret that is not there lacks all of its keys
		}
		m.sources[source.String()] = data
	}
	for _, one := range absent {
		m.noteMissing(one)
	}
	return errors.Join(errs...)
}

// absence is a Secret or ConfigMap that the files do not have, and the keys of it that the config refers to.
type absence struct {
	of   *objects.MissingError
	keys []string
}

type absences []absence

// with adds a key of an object.
func (a absences) with(missing *objects.MissingError, key string) absences {
	for i, one := range a {
		if one.of.Kind == missing.Kind && one.of.Key == missing.Key {
			a[i].keys = append(a[i].keys, key)
			return a
		}
	}
	return append(a, absence{missing, []string{key}})
}

// noteMissing says that a placeholder stands for keys of a Secret or ConfigMap that the files do not have. It is a note of its
// own, because whoever wrote its name may have meant another.
func (m *Machine) noteMissing(one absence) {
	stands := "using a placeholder for its key " + one.keys[0]
	if len(one.keys) > 1 {
		stands = "using placeholders for its keys " + strings.Join(one.keys, ", ")
	}
	if len(one.of.Elsewhere) > 0 || one.of.Near != "" {
		m.note("%v; %s", one.of, stands)
		return
	}
	m.note("%s %s is not in %s; %s; for the exact plan, add the output of: kubectl get %s %s -n %s -o yaml", one.of.Kind, one.of.Key,
		one.of.Source, stands, strings.ToLower(one.of.Kind), one.of.Key.Name, one.of.Key.Namespace)
}

// whereToWrite says where in the Secret or ConfigMap the value belongs.
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
