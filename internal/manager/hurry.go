package manager

import (
	"fmt"
	"strconv"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
)

// azureSpeed is how many times as fast as the time the clock for machines in Azure runs. The linker sets it for the demo, whose
// simulated Azure has such a clock, too: what proves that a VM is gone takes a minute of Azure's time. No release has it.
var azureSpeed string

// hurried gives the provider that clock; "" leaves it the time.
func hurried(p azure.Provider, speed string) (azure.Provider, error) {
	if speed == "" {
		return p, nil
	}
	times, err := strconv.Atoi(speed)
	if err != nil || times < 1 {
		return p, fmt.Errorf("azureSpeed is %q; link a number from 1 on", speed)
	}
	began := time.Now()
	p.Now = func() time.Time { return began.Add(time.Since(began) * time.Duration(times)) }
	p.Ticks = func() (<-chan time.Time, func()) {
		ticker := time.NewTicker(time.Second / time.Duration(times))
		return ticker.C, ticker.Stop
	}
	return p, nil
}
