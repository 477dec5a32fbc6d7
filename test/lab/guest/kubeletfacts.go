package guest

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/version"
)

// kubeletFacts is what the sources of the real kubelets say, so that the lab is a witness that does not ask us: the first minor
// version, and then for each flag and each feature gate a letter per minor version. test/kubelet/table writes it.
//
//go:embed kubelet.txt
var kubeletFacts string

// What the letters say.
const (
	unknownThere = '-'
	lockedOn     = 'T'
	lockedOff    = 'F'
)

var readFacts = sync.OnceValues(func() (first int, letters map[string]string) {
	letters = map[string]string{}
	for line := range strings.Lines(kubeletFacts) {
		words := strings.Fields(line)
		if words[0] == "flag" || words[0] == "gate" {
			letters[words[0]+" "+words[1]] = words[2]
			continue
		}
		first, _ = strconv.Atoi(words[0])
	}
	return first, letters
})

// inKubelet is the letter of "flag NAME" or "gate NAME" in a version. A version that is later than all is like the last.
func inKubelet(what, kubernetes string) byte {
	first, letters := readFacts()
	line := letters[what]
	at := min(int(version.MustParseGeneric(kubernetes).Minor())-first, len(line)-1)
	if at < 0 {
		return unknownThere
	}
	return line[at]
}
