package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// clusterNeeds is what a cluster writes in its run folder: most of it are the logs and the files that etcd takes in advance.
const clusterNeeds = 500 << 20

var takenAddress = regexp.MustCompile(`listen tcp (\S+): bind: address already in use`)

// cause is why a server ended that is no fault of its own, with what to do; nil for any other. etcd logs it before it panics.
func (p *process) cause() error {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	if taken := takenAddress.FindSubmatch(log); taken != nil {
		return fmt.Errorf("start %s: another program listens on %s: end it, or run this again, which takes other ports "+
			"(`ss -ltnp` names the program)", p.name, taken[1])
	}
	if bytes.Contains(log, []byte(syscall.ENOSPC.Error())) {
		return fmt.Errorf("run %s: the disk of %s is full, and a cluster needs %d MiB there: make room, or name another folder "+
			"with TMPDIR", p.name, filepath.Dir(p.log), clusterNeeds>>20)
	}
	return nil
}

// hasRoom says before servers start what they would find out in the middle of a test.
func hasRoom(dir string) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("look for room in %s: %w", dir, err)
	}
	if free := int64(disk.Bavail) * int64(disk.Bsize); free < clusterNeeds { //nolint:gosec,unconvert // types differ by system
		return fmt.Errorf("start servers in %s: %d MiB are free there, and a cluster needs %d: make room, or name another folder "+
			"with TMPDIR", dir, free>>20, clusterNeeds>>20)
	}
	return nil
}
