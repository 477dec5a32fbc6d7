//go:build cloudbaseinit

package cloudbaseinit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// The lab plays both releases: of the same guestinfo it must make what they make.
func TestLabIsLikeTheRealOne(t *testing.T) {
	t.Parallel()
	for _, r := range releases {
		for _, s := range samples() {
			t.Run(r.version+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				expect.Same(t, s.reason, s.wanted(r), inLab(t, r, s.guestinfo))
			})
		}
	}
}

// inLab switches a guest of the lab on until its cloudbase-init has nothing more to do, and once more.
func inLab(t *testing.T, r release, guestinfo map[string]string) verdict {
	t.Helper()
	simulated := &guest.Simulated{Dir: t.TempDir(), CloudbaseInit: r.version}
	first := bootInLab(t, simulated, guestinfo, 1)
	second := bootInLab(t, simulated, guestinfo, 2)
	v := verdict{Taken: takenInLab(second), Again: strings.Contains(strings.TrimPrefix(second, first), userDataRuns)}
	machine := expect.Got(windows.New(simulated.Dir))(t)
	if name := machine.ComputerName(); name != imageName {
		v.Computer = strings.ToLower(name)
	}
	return v
}

var (
	ended  = regexp.MustCompile(`Plugins execution done|CRITICAL`)
	notRun = regexp.MustCompile(`the lab does not run (.+): user data must be`)
)

// bootInLab plays the guest until its log has that many ends, and returns the log.
func bootInLab(t *testing.T, simulated *guest.Simulated, guestinfo map[string]string, ends int) string {
	t.Helper()
	log := filepath.Join(simulated.Dir, "C", "Program Files", "Cloudbase Solutions", "Cloudbase-Init", "log", "cloudbase-init.log")
	ctx, off := context.WithTimeout(t.Context(), patience)
	defer off()
	over := make(chan error, 1)
	go func() { over <- simulated.Boot(ctx, plugged(guestinfo)) }()
	var text []byte
	wait.Until(t, fmt.Sprintf("the end of boot %d", ends), func() (any, bool) {
		text, _ = os.ReadFile(log) // it is not there at once
		return string(text), len(ended.FindAll(text, -1)) == ends
	})
	off()
	expect.OK(t, <-over)
	return string(text)
}

// takenInLab reads the words of the real one, and what the lab says where it does not go on as that one would.
func takenInLab(log string) string {
	if found := notRun.FindStringSubmatch(log); found != nil {
		return found[1]
	}
	if strings.Contains(log, "the lab does not run this script") {
		return powershell64
	}
	if strings.Contains(log, "CRITICAL") {
		return crashed
	}
	for _, s := range saying {
		if strings.Contains(log, s.line) {
			return s.means
		}
	}
	return none
}

// plugged is a VM that has guestinfo and nothing else.
type plugged map[string]string

func (plugged) Hardware(context.Context) (guest.Hardware, error) {
	return guest.Hardware{UUID: labUUID, CPUs: 4, MemoryMiB: 16384}, nil
}

func (p plugged) Guestinfo(_ context.Context, key string) (value string, found bool, err error) {
	value, found = p[key]
	return value, found, nil
}

func (plugged) SetGuestinfo(context.Context, string, string) error { return nil }

func (plugged) SetNetwork(context.Context, string, []guest.Adapter) error { return nil }
