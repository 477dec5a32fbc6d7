package plugin

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The figures of the plugin. A user loads it in each pipeline, and waits for it in each review.
const (
	// sizeBefore is that of linux/amd64 in commit 15220863, before the command line had cobra and cli-runtime, in bytes.
	sizeBefore = 45_891_746
	// mostGrowth is what these and Cluster API's code for topologies may cost, in percent: +14 before that code, +62 with it. Its
	// patches are text/template, which calls methods by their names, so that Go's linker keeps the exported methods of all types
	// that the program has. With gzip it is 22.5 MB, and was 16.1.
	mostGrowth = 65
	// pools of the file, and how long its plan may take after the program's start.
	manyPools  = 50
	longestRun = time.Second
	// longestTopology is that for the pools of a topology, which Cluster API's code expands.
	longestTopology = 500 * time.Millisecond
)

// TestSize prints how large the program is.
func TestSize(t *testing.T) {
	if platform := runtime.GOOS + "/" + runtime.GOARCH; platform != "linux/amd64" {
		t.Skipf("the size before is not known for %s", platform)
	}
	size := expect.Got(os.Stat(program()))(t).Size()
	growth := 100 * (float64(size)/sizeBefore - 1)
	t.Logf("clusterctl-windows has %.1f MiB, %.1f before cobra, cli-runtime and topologies: %+.1f %%, at most %+d %% are good",
		mebibytes(size), mebibytes(sizeBefore), growth, mostGrowth)
	if growth > mostGrowth {
		t.Errorf("the program has grown by %.1f %%", growth)
	}
}

func mebibytes(size int64) float64 { return float64(size) / (1 << 20) }

// TestManyPools prints how long the plan of a machine takes if its file has many pools, or a topology has.
func TestManyPools(t *testing.T) {
	start := fastest(t, "version")
	for name, c := range map[string]struct {
		text    string
		longest time.Duration
	}{
		"pools":            {pools(manyPools), longestRun},
		"pools of a class": {topologyPools(t, manyPools), longestTopology},
	} {
		file := inFile(t, "pools.yaml", c.text)
		machine := map[bool]string{true: "pool-50-1", false: "prod-pool-50-1"}[name == "pools"]
		plan := fastest(t, "plan", "-f", file, "--machine", machine)
		t.Logf("plan of a machine of %d %s, %d KiB: %s; the start alone %s; on a machine without other work at most %s after that "+
			"are good", manyPools, name, len(c.text)/1024, plan, start, c.longest)
	}
}

// took is how long a call took, and how long it had a processor.
type took struct{ whole, processor time.Duration }

func (t took) String() string {
	return fmt.Sprintf("%s (%s of a processor)", t.whole.Round(time.Millisecond), t.processor.Round(time.Millisecond))
}

func fastest(t *testing.T, args ...string) took {
	t.Helper()
	best := took{time.Hour, time.Hour}
	for range 5 {
		command := exec.CommandContext(t.Context(), program(), args...)
		begun := time.Now()
		output := expect.Got(command.Output())(t)
		whole := time.Since(begun)
		if len(output) == 0 || bytes.Contains(output, []byte("a-license-of-the-app")) {
			t.Fatalf("%v printed %s", args, output)
		}
		state := command.ProcessState
		best.whole, best.processor = min(best.whole, whole), min(best.processor, state.UserTime()+state.SystemTime())
	}
	return best
}
