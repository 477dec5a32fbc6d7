package kubelet

import (
	"fmt"
	"strings"
)

// What is known of the kubelets from firstMinor to lastMinor stands in table.go: for each name a letter per minor
// version. A later one is taken to be like the last.
const (
	unknownThere = '-' // the kubelet exits, or panics
	freeThere    = 'f' // a flag or field that is there, a gate that is off unless somebody says otherwise
	onThere      = 'n' // a gate that is on unless somebody says otherwise
	lockedOn     = 'T' // the kubelet panics at false
	lockedOff    = 'F' // the kubelet panics at true
)

// inMinor is the letter of a name's line for a version.
func inMinor(line string, minor uint64) byte {
	at := int(min(minor, lastMinor)) - firstMinor
	if at < 0 || at >= len(line) {
		return unknownThere
	}
	return line[at]
}

// knownMinors are the versions in which a name is known, for people: "1.30 to 1.33".
func knownMinors(line string) string {
	first := strings.IndexFunc(line, func(letter rune) bool { return letter != unknownThere })
	if first < 0 {
		return "none"
	}
	last := len(strings.TrimRight(line, string(unknownThere))) - 1
	if last == lastMinor-firstMinor {
		return fmt.Sprintf("1.%d and later", firstMinor+first)
	}
	if first == last {
		return fmt.Sprintf("1.%d only", firstMinor+first)
	}
	return fmt.Sprintf("1.%d to 1.%d", firstMinor+first, firstMinor+last)
}
