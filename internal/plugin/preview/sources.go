package preview

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
)

// loadSources reads the Secrets and ConfigMaps that the config refers to. It returns all errors at once.
func (m *Machine) loadSources(o *objects.Set) error {
	if m.config == nil {
		return nil // Find has returned this error already
	}
	m.sources = map[string][]byte{}
	var errs []error
	for _, source := range bootstrap.Sources(m.config.Spec) {
		key := types.NamespacedName{Namespace: m.config.Namespace, Name: source.Name}
		data, err := contentOf(o, source, key)
		if err == nil && len(data) == 0 {
			err = fmt.Errorf("%s has no value for the key %s, which the config refers to; write %s",
				objects.Object{Kind: source.Kind, Key: key}, source.Key, whereToWrite(source))
		}
		if err != nil && !slices.ContainsFunc(errs, func(told error) bool { return told.Error() == err.Error() }) {
			errs = append(errs, err) // a Secret that is not there lacks all of its keys
		}
		m.sources[source.String()] = data
	}
	return errors.Join(errs...)
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
