package agree

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
)

// ofObject begins a sentence of the plugin: kind, namespace and name.
var ofObject = regexp.MustCompile(`^[A-Z][A-Za-z]+ [-a-z0-9.]+/[-A-Za-z0-9.]*: `)

// told is what the plugin said of each file, by its name: asking takes time.
var told sync.Map

// byPlugin is what plan says of a file. It does not say who would refuse it.
func byPlugin(f file) verdict {
	ask, _ := told.LoadOrStore(f.String(), sync.OnceValue(func() verdict { return askPlugin(f) }))
	return ask.(func() verdict)() //nolint:forcetypeassert // because nothing else is stored
}

func askPlugin(f file) verdict {
	read, err := objects.Read([]string{"-"}, "default", strings.NewReader(f.text()))
	if err == nil {
		_, err = preview.Gather(read, machineOf(f))
	}
	if err == nil {
		return verdict{by: good}
	}
	var sentences []string
	for line := range strings.Lines(err.Error()) {
		sentences = append(sentences, ofObject.ReplaceAllString(strings.TrimSpace(line), ""))
	}
	return refusal("refused by the plugin", sentences...)
}

// machineOf names the Machine that the plugin is asked for.
func machineOf(f file) string {
	if f.owner == machine {
		return name
	}
	return name + "-1"
}

// TestPluginAlone: the plugin takes the good files and refuses the others, also where there are no servers to compare it with.
func TestPluginAlone(t *testing.T) {
	t.Parallel()
	for _, f := range corpus() {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			v := byPlugin(f)
			if want := f.class != good && f.class != beyond; v.refused() != want {
				t.Errorf("%s, and the plugin says: %s\n%s", f.class, v, f.different)
			}
		})
	}
}
