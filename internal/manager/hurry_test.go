package manager

import (
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A manager keeps the time unless the linker has set another speed, and refuses one that is none.
func TestHurried(t *testing.T) {
	if plain := expect.Got(hurried(azure.Provider{}, azureSpeed))(t); plain.Now != nil || plain.Ticks != nil {
		t.Error("a manager as it is built for users has a clock of its own for Azure")
	}
	for _, speed := range []string{"0", "-1", "fast"} {
		if _, err := hurried(azure.Provider{}, speed); err == nil {
			t.Errorf("the speed %q is taken", speed)
		}
	}
	p, before := expect.Got(hurried(azure.Provider{}, "1000"))(t), time.Now()
	first := p.Now()
	ticks, stop := p.Ticks()
	defer stop()
	<-ticks
	<-ticks
	if passed, took := p.Now().Sub(first), time.Since(before); passed < time.Second || passed > 1000*took {
		t.Errorf("%s passed in %s", passed, took)
	}
}
