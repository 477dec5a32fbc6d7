package bootstrap

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// pace has the configs of a namespace wait for their turn to have their sources read. The zero value is ready to use.
type pace struct {
	reads tenants.Pace
	mu    sync.Mutex
	turns map[types.UID]time.Time // of the configs that wait
}

// rest is how long a config waits until so many of its sources are read. A turn that has come serves one look.
func (p *pace) rest(config *bootstrapv1.WindowsBootstrapConfig, sources int, instant time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	turn, waits := p.turns[config.UID]
	if !waits {
		turn = instant.Add(p.reads.Reserve(tenants.Sources, config.Namespace, sources, instant))
	}
	rest := turn.Sub(instant)
	if rest <= 0 {
		delete(p.turns, config.UID)
		return 0
	}
	p.forgetGone(instant)
	p.turns[config.UID] = turn
	return rest
}

// forgetGone drops the turns that nobody has taken: their configs are gone.
func (p *pace) forgetGone(instant time.Time) {
	if p.turns == nil {
		p.turns = map[types.UID]time.Time{}
	}
	maps.DeleteFunc(p.turns, func(_ types.UID, turn time.Time) bool { return instant.Sub(turn) > longestGap })
}
