package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

const loopback = "127.0.0.1"

// Ports come from below the range that systems give to outgoing connections: one of those could take a port between our
// look at it and the start of the server. Another process of ours could, too, so each takes ports of blocks that it holds.
const (
	firstPort, lastPort = 20000, 32000
	blockSize           = 100
)

// blocks are those that this process holds. A lock on the file of a block lasts until the process ends.
var blocks struct {
	mu    sync.Mutex
	order []int // of all blocks
	held  []*os.File
	rest  []int // ports of the last block that nobody got yet
}

// freePorts returns ports on loopback that are free. It never gives one out twice.
func freePorts(n int) ([]int, error) {
	blocks.mu.Lock()
	defer blocks.mu.Unlock()
	var ports []int
	for len(ports) < n {
		if len(blocks.rest) == 0 {
			if err := takeBlock(); err != nil {
				return nil, fmt.Errorf("find %d free ports on %s between %d and %d: %w", n, loopback, firstPort, lastPort, err)
			}
		}
		if port := blocks.rest[0]; isFree(port) {
			ports = append(ports, port)
		}
		blocks.rest = blocks.rest[1:]
	}
	return ports, nil
}

// takeBlock takes a block that no other process holds.
func takeBlock() error {
	if blocks.order == nil {
		blocks.order = rand.Perm((lastPort - firstPort) / blockSize)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("hold ports: %w", err)
	}
	folder := filepath.Join(cache, "capwin", "ports")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("hold ports: %w", err)
	}
	for len(blocks.order) > 0 {
		first := firstPort + blocks.order[0]*blockSize
		blocks.order = blocks.order[1:]
		file, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(first)), os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return fmt.Errorf("hold ports: %w", err)
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			_ = file.Close()
			continue
		}
		blocks.held = append(blocks.held, file)
		for port := first; port < first+blockSize; port++ {
			blocks.rest = append(blocks.rest, port)
		}
		return nil
	}
	return errors.New("all are taken")
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
