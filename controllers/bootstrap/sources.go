package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// awaitSources waits until the sources of a config may be read. What the config needs besides is not read before. Where a source
// is missing, only that is read until it is there.
func (r *Reconciler) awaitSources(ctx context.Context, f *facts) error {
	if gap := r.gaps.find(f.config); gap.source.Name != "" {
		if rest := gap.due.Sub(r.Now()); rest > 0 {
			return lacks(gap.source, rest)
		}
		if err := r.readEach(ctx, f, gap.source); err != nil {
			return err
		}
	}
	rest := r.pace.Rest(tenants.Sources, f.config, len(bootstrap.Sources(f.config.Spec)), r.Now())
	if rest > 0 {
		return phase.WaitFor(rest, bootstrapv1.WaitingForSourcesReason, "the configs of the namespace refer to more Secrets and "+
			"ConfigMaps than are read at once; those of this one are read in its turn")
	}
	return nil
}

// readSources reads the Secrets and ConfigMaps of the config's own namespace that its spec refers to: each once, and no more of
// them as soon as they have more than user data can carry.
func (r *Reconciler) readSources(ctx context.Context, f *facts) error {
	if err := r.readEach(ctx, f, bootstrap.Sources(f.config.Spec)...); err != nil {
		return err
	}
	r.gaps.forget(f.config.UID)
	return nil
}

// readEach reads sources of a config in their order.
func (r *Reconciler) readEach(ctx context.Context, f *facts, sources ...bootstrap.Source) error {
	f.sources = map[string][]byte{}
	var previous bootstrap.Source // sources are sorted: those of an object follow each other
	var object map[string][]byte
	for _, source := range sources {
		if source.Kind != previous.Kind || source.Name != previous.Name {
			var err error
			if object, err = r.readObject(ctx, f.config.Namespace, source); err != nil {
				return fmt.Errorf("get %s %s: %w", source.Kind, source.Name, err)
			}
		}
		previous = source
		data := object[source.Key]
		if len(data) == 0 {
			return lacks(source, r.gaps.note(f.config, source, r.Now()))
		}
		f.sources[source.String()] = data
		if err := bootstrap.CheckSize(f.config.Spec, f.sources); err != nil {
			return phase.Stall(bootstrapv1.ConfigInvalidReason, "%s", err.Error())
		}
	}
	return nil
}

func lacks(source bootstrap.Source, wait time.Duration) error {
	lack := phase.Lack(bootstrapv1.WaitingForSourcesReason,
		"the config refers to the key %q of %s %s, which does not exist or is empty", source.Key, source.Kind, source.Name)
	if stop, ok := errors.AsType[*phase.Stop](lack); ok {
		stop.After = wait
	}
	return lack
}

// firstGap is the time after which a missing source is read again. It doubles up to longestGap.
const firstGap, longestGap = 5 * time.Second, 2 * time.Minute

// gaps are the sources that were missing when a config was last looked at: a config may name many that are there beside one that
// never comes, and each read is one of the manager's calls for everybody.
type gaps struct {
	mu      sync.Mutex
	entries map[types.UID]gap
}

// gap is one, for a generation of its config, with the time of the next read.
type gap struct {
	source     bootstrap.Source
	generation int64
	pause      time.Duration
	due        time.Time
}

// find returns the one of a config that has not changed since.
func (g *gaps) find(config *bootstrapv1.WindowsBootstrapConfig) gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	if entry := g.entries[config.UID]; entry.generation == config.Generation {
		return entry
	}
	return gap{}
}

// note remembers a source that is missing at an instant, and returns the time until the next read. A config that is gone is not
// asked about again: what is long overdue goes.
func (g *gaps) note(config *bootstrapv1.WindowsBootstrapConfig, source bootstrap.Source, instant time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.entries, func(_ types.UID, entry gap) bool { return instant.Sub(entry.due) > longestGap })
	fresh := gap{source: source, generation: config.Generation, pause: firstGap}
	if entry := g.entries[config.UID]; entry.source == source && entry.generation == config.Generation {
		fresh.pause = min(2*entry.pause, longestGap)
	}
	fresh.due = instant.Add(fresh.pause)
	if g.entries == nil {
		g.entries = map[types.UID]gap{}
	}
	g.entries[config.UID] = fresh
	return fresh.pause
}

func (g *gaps) forget(config types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.entries, config)
}

// readObject returns what a Secret or ConfigMap has by its keys; nothing if it is not there.
func (r *Reconciler) readObject(ctx context.Context, namespace string, source bootstrap.Source) (map[string][]byte, error) {
	key := client.ObjectKey{Namespace: namespace, Name: source.Name}
	if source.Kind == bootstrap.SourceSecret {
		var secret corev1.Secret
		err := client.IgnoreNotFound(r.Live.Get(ctx, key, &secret))
		return secret.Data, err
	}
	var configMap corev1.ConfigMap
	err := client.IgnoreNotFound(r.Live.Get(ctx, key, &configMap))
	data := map[string][]byte{}
	maps.Copy(data, configMap.BinaryData)
	for name, text := range configMap.Data {
		data[name] = []byte(text)
	}
	return data, err
}
