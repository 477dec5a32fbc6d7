package security

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// large is a config whose 96 files and scripts, as many as the API allows, refer to contents in ConfigMaps.
type large struct {
	name, tries string
	// maps are the ConfigMaps, and refer names map and key of the i-th content.
	maps  map[string]map[string]string
	refer func(i int) (name, key string)
	// shows is what people are told, and reads how often ConfigMaps are read until then.
	shows func(world.State) string
	reads int
}

var tooLarge = says(theConfig, "more than 1048576 bytes together")

// larges are those that are refused, and one that is not.
func larges() [][]large {
	keys, many := map[string]string{}, map[string]map[string]string{}
	for i := range 96 {
		keys[fmt.Sprintf("k%d", i)] = strings.Repeat("x", 10000)
	}
	for i := range 2 { // the others are never asked for
		many[fmt.Sprintf("big-%d", i)] = map[string]string{"k": strings.Repeat("x", 600_000)}
	}
	big := func(text string) map[string]map[string]string {
		return map[string]map[string]string{"big": {"k": text}}
	}
	same := func(int) (string, string) { return "big", "k" }
	return [][]large{{
		{"same", "refers 96 times to a ConfigMap of a MiB", big(strings.Repeat("x", 1_000_000)), same, tooLarge, 1},
		{"control", "refers 96 times to 200 KB of control characters", big(strings.Repeat("\x01", 200_000)), same, tooLarge, 1},
		{
			"many", "refers to 96 ConfigMaps of 600 KB", many, func(i int) (string, string) { return fmt.Sprintf("big-%d", i), "k" },
			tooLarge, 2,
		},
	}, {
		{
			"keys", "refers to 96 keys of a ConfigMap of a MiB (honest: it is small enough to be rendered)",
			map[string]map[string]string{"big": keys},
			func(i int) (string, string) { return "big", fmt.Sprintf("k%d", i) },
			world.Config("DataSecretAvailable True DataSecretAvailable"), 1,
		},
	}}
}

// TestLargeConfigs has configs whose rendering would take all of the manager's memory. What a rendering takes of it is pinned in
// bootstrap.
func TestLargeConfigs(t *testing.T) {
	t.Parallel()
	for _, kind := range larges() {
		var attacks []attack
		for _, l := range kind {
			attacks = append(attacks, attack{by: "tenant", tries: l.tries, try: func(t *testing.T) string {
				t.Parallel()
				return l.play(t)
			}})
		}
		attemptKind(t, attacks...)
	}
}

func (l large) play(t *testing.T) string {
	t.Helper()
	s := newFakeStage(t)
	for name, data := range l.maps {
		expect.OK(t, s.Client.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: name}, Data: data,
		}))
	}
	m := s.machine("m")
	from := func(i int) bootstrapv1.ContentSource {
		name, key := l.refer(i)
		return bootstrapv1.ContentSource{ConfigMap: bootstrapv1.KeyReference{Name: name, Key: key}}
	}
	custom := &m.Config.Spec.Custom
	for i := range 64 {
		custom.Files = append(custom.Files, bootstrapv1.CustomFile{Path: fmt.Sprintf(`C:\x\f%d`, i), ContentFrom: from(i)})
	}
	for i := range 16 {
		custom.PreJoin = append(custom.PreJoin,
			bootstrapv1.CustomScript{Name: fmt.Sprintf("a%d", i), ContentFrom: from(64 + i), TimeoutSeconds: 1})
		custom.PostJoin = append(custom.PostJoin,
			bootstrapv1.CustomScript{Name: fmt.Sprintf("b%d", i), ContentFrom: from(80 + i), TimeoutSeconds: 1})
	}
	m.Create(t)
	state := m.Await(t, "end", l.shows)
	reads, looks := s.process.Reads(world.Configs, m.Key)
	if got := reads["management GET configmaps"]; got > l.reads*looks {
		t.Errorf("ConfigMaps were read %d times in %d looks, want at most %d in each", got, looks, l.reads)
	}
	if state.Data == nil {
		return "refused: ConfigInvalid, before anything is rendered"
	}
	return "rendered; the ConfigMap is read once"
}
