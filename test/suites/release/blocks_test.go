package release

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What a flavor writes of Calico's pools and of the Pods of a Windows machine.
var (
	poolOfCalico = regexp.MustCompile(`(?m)^ *encapsulation: VXLAN$`)
	sizeOfBlock  = regexp.MustCompile(`(?m)^ *blockSize: (\d+)\b`)
	maxPods      = regexp.MustCompile(`maxPods: \$\{WINDOWS_MAX_PODS:=(\d+)\}`)
)

// Calico gives a Windows node one block, and keeps four addresses of it (projectcalico/calico v3.32.1,
// cni-plugin/pkg/ipamplugin/ipam_plugin.go). Each Pod of maxPods needs one of the others. Of a cluster that is there, nobody
// knows the pools: they may have the block size of a pool that names none.
func TestBlocksHaveRoomForMaxPods(t *testing.T) {
	t.Parallel()
	const reserved, byDefault = 4, 26 // tigera/operator 40788b9b, pkg/controller/ippool/defaults.go
	withPools := 0
	for _, file := range expect.Got(filepath.Glob("../../../templates/cluster-template-*.yaml"))(t) {
		text := expect.Got(os.ReadFile(file))(t)
		size, pods := number(t, sizeOfBlock, text, byDefault), number(t, maxPods, text, 110)
		if poolOfCalico.Match(text) {
			withPools++
		} else {
			size = byDefault
		}
		if room := 1<<(32-size) - reserved; room < pods {
			t.Errorf("%s: with blockSize %d a Windows node has %d addresses for %d Pods", filepath.Base(file), size, room, pods)
		}
	}
	if withPools != 3 {
		t.Errorf("%d flavors have a pool of Calico, want 3", withPools)
	}
}

// number is the one that the expression finds in the text, or that by default.
func number(t *testing.T, of *regexp.Regexp, text []byte, byDefault int) int {
	t.Helper()
	found := of.FindSubmatch(text)
	if found == nil {
		return byDefault
	}
	return expect.Got(strconv.Atoi(string(found[1])))(t)
}
