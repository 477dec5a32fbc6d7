package topology

import (
	"fmt"
	"runtime/metrics"
	"time"
)

// A template of a patch may compute anything for any time, and a class is not trusted. A minute and this memory are a hundred
// times what 50 pools take.
const (
	longest    = time.Minute
	mostMemory = 512 << 20
	// memoryInterval is the time between two looks at the memory.
	memoryInterval = 10 * time.Millisecond
)

// limited gives up on work that takes too much. Nothing stops a template, so the program must end then.
func limited(work func() error) error {
	result := make(chan error, 1)
	go func() { result <- work() }()
	end, look := time.NewTimer(longest), time.NewTicker(memoryInterval)
	defer end.Stop()
	defer look.Stop()
	for {
		select {
		case err := <-result:
			return err
		case <-end.C:
			return fmt.Errorf("the patches of its ClusterClass take more than %s; look for a loop in their templates", longest)
		case <-look.C:
			if inUse() > mostMemory {
				return fmt.Errorf("the patches of its ClusterClass take more than %d MiB; look for a loop in their templates", mostMemory>>20)
			}
		}
	}
}

func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
