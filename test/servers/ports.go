package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

const loopback = "127.0.0.1"

// Ports come from below the range that systems give to outgoing connections: one of those could take a port between our
// look at it and the start of the server.
const firstPort, lastPort = 20000, 32000

var givenPorts sync.Map

// freePorts returns ports on loopback that are free. It never gives one out twice.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range 100 * n {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		if isFree(port) {
			ports = append(ports, port)
		}
	}
	return nil, fmt.Errorf("find %d free ports on %s between %d and %d: only %d found", n, loopback, firstPort, lastPort, len(ports))
}

func isFree(port int) bool {
	if _, given := givenPorts.LoadOrStore(port, true); given {
		return false
	}
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
