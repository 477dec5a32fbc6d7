// Package tenants bounds what one namespace uses of the managers at a time, so that none takes them from another one. Each limit
// suits a namespace with hundreds of machines, and an operator may raise it for one that has more.
package tenants

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Kind is what is counted.
type Kind string

const (
	// Accounts are those at clouds that the namespace opens.
	Accounts Kind = "accounts"
	// Clusters are the workload clusters to which a connection is kept.
	Clusters Kind = "clusters"
	// Identities are the AzureClusterIdentities that the namespace's machines use.
	Identities Kind = "identities"
	// Guests are the workload clusters whose guests' reports are read at the same time.
	Guests Kind = "guests"
	// Groups are the resource groups of one account that its machines name.
	Groups Kind = "groups"
	// Locations are those of one account that its machines name.
	Locations Kind = "locations"
)

// shipped are the limits that an operator has not set, and highest is what an operator may set.
var shipped = map[Kind]int{Accounts: 16, Clusters: 64, Identities: 16, Guests: 64, Groups: 64, Locations: 64}

const highest = 10_000

// Limits are those that an operator has set, by namespace. The zero value has none of them.
type Limits map[string]map[Kind]int

// Parse reads entries NAMESPACE:WHAT=NUMBER, of which one with commas may have several.
func Parse(entries []string) (Limits, error) {
	limits := Limits{}
	for _, entry := range entries {
		namespace, counts, ok := strings.Cut(entry, ":")
		if problems := validation.IsDNS1123Label(namespace); !ok || len(problems) > 0 {
			return nil, fmt.Errorf("%q does not begin with the name of a namespace and a colon; write it as team:accounts=64", entry)
		}
		if limits[namespace] == nil {
			limits[namespace] = map[Kind]int{}
		}
		for count := range strings.SplitSeq(counts, ",") {
			if err := limits.add(namespace, count); err != nil {
				return nil, fmt.Errorf("%q: %w", entry, err)
			}
		}
	}
	return limits, nil
}

func (l Limits) add(namespace, count string) error {
	name, text, _ := strings.Cut(count, "=")
	kind := Kind(name)
	if shipped[kind] == 0 {
		return fmt.Errorf("%q is not counted; use one of %v", name, slices.Sorted(maps.Keys(shipped)))
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > highest {
		return fmt.Errorf("%s=%s is not a number from 1 to %d", name, text, highest)
	}
	if l[namespace][kind] != 0 {
		return fmt.Errorf("%s of namespace %s is there twice", name, namespace)
	}
	l[namespace][kind] = number
	return nil
}

// Allowed is how many a namespace may have.
func (l Limits) Allowed(namespace string, kind Kind) int {
	return cmp.Or(l[namespace][kind], shipped[kind])
}

// forVMs is how many times as many of a kind a namespace may have for machines that may have a VM: a count stops new machines
// alone. Users can make any machine look so, which is why this has an end, too.
const forVMs = 2

// Turn is how long one stays in use, beyond that, before it has to give its place to another one for such a machine.
const Turn = time.Minute

// Bound is how many of a kind a namespace may have at a time for such machines, those of all machines included.
func (l Limits) Bound(namespace string, kind Kind, forVM bool) int {
	if forVM {
		return l.Allowed(namespace, kind) * forVMs
	}
	return l.Allowed(namespace, kind)
}
