package kubelet

import (
	"fmt"
	"strings"
)

// table.go has what the kubelets from firstMinor to lastMinor know: for each name a letter per minor version. A later
// version is treated like the last one.
const (
	unknownThere = '-' // the kubelet exits, or panics
	freeThere    = 'f' // a flag or field that is there, a gate that is off by default
	onThere      = 'n' // a gate that is on by default
	lockedOn     = 'T' // the kubelet panics at false
	lockedOff    = 'F' // the kubelet panics at true
)

// inMinor is the letter for a version in the line of a name.
func inMinor(line string, minor uint64) byte {
	at := int(min(minor, lastMinor)) - firstMinor
	if at < 0 || at >= len(line) {
		return unknownThere
	}
	return line[at]
}

// unknownName ends the sentence about a name that a version does not know: which versions do, and what to do.
func unknownName(line string) string {
	known := knownMinors(line)
	if known == "" {
		return fmt.Sprintf("; no version from 1.%d to 1.%d has it: correct the name, or remove it", firstMinor, lastMinor)
	}
	return " (it is known in: " + known + "); remove it"
}

// knownMinors are the versions that know a name, as text: "1.30 to 1.33".
func knownMinors(line string) string {
	first := strings.IndexFunc(line, func(letter rune) bool { return letter != unknownThere })
	if first < 0 {
		return ""
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
