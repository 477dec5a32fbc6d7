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

// readSources reads the Secrets and ConfigMaps of the config's own namespace that its spec refers to: each once, and no more of
// them as soon as they have more than user data can carry.
func (r *Reconciler) readSources(ctx context.Context, f *facts) error {
	f.sources = map[string][]byte{}
	var read object // sources are sorted: those of an object follow each other
	for _, source := range bootstrap.Sources(f.config.Spec) {
		if !read.isFrom(source) {
			var err error
			if read, err = r.readObject(ctx, f.config.Namespace, source); err != nil {
				return fmt.Errorf("get %s %s: %w", source.Kind, source.Name, err)
			}
		}
		data := read.data(source.Key)
		if len(data) == 0 {
			return phase.Lack(bootstrapv1.WaitingForSourcesReason,
				"the config refers to the key %q of %s %s, which does not exist or is empty", source.Key, source.Kind, source.Name)
		}
		f.sources[source.String()] = data
		if err := bootstrap.CheckSize(f.config.Spec, f.sources); err != nil {
			return phase.Stall(bootstrapv1.ConfigInvalidReason, "%s", err.Error())
		}
	}
	return nil
}

// object is a Secret or ConfigMap that was read; it is empty if there is none.
type object struct {
	kind, name string
	bytes      map[string][]byte
	texts      map[string]string
}

func (o object) isFrom(source bootstrap.Source) bool {
	return o.kind == source.Kind && o.name == source.Name
}

func (o object) data(key string) []byte {
	if text, ok := o.texts[key]; ok {
		return []byte(text)
	}
	return o.bytes[key]
}

func (r *Reconciler) readObject(ctx context.Context, namespace string, source bootstrap.Source) (object, error) {
	key := client.ObjectKey{Namespace: namespace, Name: source.Name}
	if source.Kind == bootstrap.SourceSecret {
		var secret corev1.Secret
		err := client.IgnoreNotFound(r.Live.Get(ctx, key, &secret))
		return object{kind: source.Kind, name: source.Name, bytes: secret.Data}, err
	}
	var configMap corev1.ConfigMap
	err := client.IgnoreNotFound(r.Live.Get(ctx, key, &configMap))
	return object{kind: source.Kind, name: source.Name, bytes: configMap.BinaryData, texts: configMap.Data}, err
}
