package kubelet

import (
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
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

// removed is a feature gate that a version after lastMinor takes away: from that minor on a program does not start where one
// names it. It is left out here once table.go has the version.
type removed struct {
	minor     uint64
	successor string
}

// removedGates are those that a user may have reason to write.
var removedGates = map[string]removed{
	// https://github.com/kubernetes/kubernetes/pull/142125
	"WinDSR":     {38, "spec.network.kubeProxy.dsr alone decides about direct server return"},
	"WinOverlay": {38, "VXLANs need no gate"},
}

// RemovedGates are the gates that the kubelet and kube-proxy of a version no longer know, and that older ones do.
func RemovedGates(minor uint64) (names []string) {
	for _, name := range step.SortedKeys(removedGates) {
		if minor >= removedGates[name].minor {
			names = append(names, name)
		}
	}
	return names
}

// inMinor is the letter for a version in the line of a name.
func inMinor(line string, minor uint64) byte {
	index := int(min(minor, lastMinor)) - firstMinor
	if index < 0 || index >= len(line) {
		return unknownThere
	}
	return line[index]
}

// unknownName ends the sentence about a name that a version does not know: which versions do, and what to do.
func unknownName(line string) string {
	minors := knownMinors(line)
	if minors == "" {
		return fmt.Sprintf("; no version from 1.%d to 1.%d has it: correct the name, or remove it", firstMinor, lastMinor)
	}
	return " (it exists in: " + minors + "); remove it"
}

// knownMinors are the versions that know a name, as text: "1.30 to 1.33".
func knownMinors(line string) string {
	first := strings.IndexFunc(line, func(letter rune) bool { return letter != unknownThere })
	if first < 0 {
		return ""
	}
	end := len(strings.TrimRight(line, string(unknownThere))) - 1
	if end == lastMinor-firstMinor {
		return fmt.Sprintf("1.%d and later", firstMinor+first)
	}
	if first == end {
		return fmt.Sprintf("1.%d only", firstMinor+first)
	}
	return fmt.Sprintf("1.%d to 1.%d", firstMinor+first, firstMinor+end)
}
