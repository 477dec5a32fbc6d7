package guest

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/version"
)

// kubeletFacts is what the sources of the real kubelets say, so that the lab is a witness that does not ask us: the first minor
// version, and then for each flag, each feature gate, and each pair of gates of which the first one needs the second, a letter
// per minor version. test/upstream/kubelet/table writes it.
//
//go:embed kubelet.txt
var kubeletFacts string

// What the letters say.
const (
	unknownThere = '-'
	on           = 'n'
	lockedOn     = 'T'
	lockedOff    = 'F'
)

var readFacts = sync.OnceValues(func() (first int, letters map[string]string) {
	letters = map[string]string{}
	for line := range strings.Lines(kubeletFacts) {
		words := strings.Fields(line)
		if len(words) == 1 || words[1] == "written" {
			first, _ = strconv.Atoi(words[0])
			continue
		}
		last := len(words) - 1
		letters[strings.Join(words[:last], " ")] = words[last]
	}
	return first, letters
})

// needs are the pairs of gates of all versions, as "need GATE NEEDED".
func needs() []string {
	_, letters := readFacts()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(letters)), func(what string) bool { return !strings.HasPrefix(what, "need ") })
}

// inKubelet is the letter of "flag NAME", "gate NAME" or "need GATE NEEDED" in a version. A version that is later than all is
// like the last.
func inKubelet(what, kubernetes string) byte {
	first, letters := readFacts()
	line := letters[what]
	at := min(int(version.MustParseGeneric(kubernetes).Minor())-first, len(line)-1)
	if at < 0 {
		return unknownThere
	}
	return line[at]
}
