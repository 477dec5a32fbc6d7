package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// readSources reads the Secrets and ConfigMaps of the config's own namespace that its spec refers to.
func (r *Reconciler) readSources(ctx context.Context, f *facts) error {
	f.sources = map[string][]byte{}
	for _, source := range bootstrap.Sources(f.config.Spec) {
		data, err := r.readSource(ctx, f.config.Namespace, source)
		if err != nil {
			return fmt.Errorf("get %s %s: %w", source.Kind, source.Name, err)
		}
		if len(data) == 0 {
			return phase.Lack(bootstrapv1.WaitingForSourcesReason,
				"the config refers to the key %q of %s %s, which does not exist or is empty", source.Key, source.Kind, source.Name)
		}
		f.sources[source.String()] = data
	}
	return nil
}

// readSource returns nothing for an object or a key that is not there.
func (r *Reconciler) readSource(ctx context.Context, namespace string, source bootstrap.Source) ([]byte, error) {
	key := client.ObjectKey{Namespace: namespace, Name: source.Name}
	if source.Kind == bootstrap.SourceSecret {
		var secret corev1.Secret
		err := client.IgnoreNotFound(r.Live.Get(ctx, key, &secret))
		return secret.Data[source.Key], err
	}
	var configMap corev1.ConfigMap
	err := client.IgnoreNotFound(r.Live.Get(ctx, key, &configMap))
	if text, ok := configMap.Data[source.Key]; ok {
		return []byte(text), err
	}
	return configMap.BinaryData[source.Key], err
}
