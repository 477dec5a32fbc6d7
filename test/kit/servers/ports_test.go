package servers

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// otherPorts is how many ports another process takes: of some hundreds, some would be ours.
const otherPorts = 5 * blockSize

// portsVariable makes the test binary play another process that wants ports.
const portsVariable = "CAPWIN_SERVERS_TEST_PORTS"

func TestFreePortsAreDistinct(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		ports := expect.Got(freePorts(5))(t)
		for _, port := range ports {
			if seen[port] || port < firstPort || port >= lastPort {
				t.Errorf("port %d is given twice or out of range", port)
			}
			seen[port] = true
		}
	}
}

func playTaker() {
	ports, err := freePorts(otherPorts)
	if err != nil {
		panic(err)
	}
	for _, port := range ports {
		fmt.Println(address(port))
	}
}

// TestPortsOfTwoProcesses: what one process was given, and does not use yet, no other gets.
func TestPortsOfTwoProcesses(t *testing.T) {
	ours := map[string]bool{}
	for _, port := range expect.Got(freePorts(blockSize))(t) {
		ours[address(port)] = true
	}
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), portsVariable+"=yes")
	got := strings.Fields(string(expect.Got(other.Output())(t)))
	expect.Same(t, "ports of the other", otherPorts, len(got))
	for _, port := range got {
		if ours[port] {
			t.Errorf("both got %s", port)
		}
	}
}
