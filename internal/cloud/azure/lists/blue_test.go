package lists

import (
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// names are those of keys, in order.
func names(keys []cloud.Key) string {
	var all []string
	for _, key := range keys {
		all = append(all, key.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// stateIn is what is known of a group, for a test whose goroutine is the only one.
func stateIn(s *Scope) *State { return &s.value }

// powersIn is what is known of the power states of a subscription, for such a test.
func powersIn(p *Powers) *PowerState { return &p.value }
