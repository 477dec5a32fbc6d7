package inspect

import (
	"context"
	"fmt"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

// usage is a quota of a region.
type usage struct {
	Name                struct{ Value string }
	CurrentValue, Limit int64
}

func (u usage) left() int64 { return max(u.Limit-u.CurrentValue, 0) }

// regional is the quota of all cores of a region, whatever their family. Spot VMs have one of their own instead of both.
const (
	regional = "cores"
	ofSpot   = "lowPriorityCores"
)

// quotas are those that a VM of a size takes from.
func (i *inspection) quotas(size skus.Size) []string {
	if i.Spec.Priority == infrav1.AzurePrioritySpot {
		return []string{ofSpot}
	}
	return []string{size.Family, regional}
}

// quota compares what is left of each quota with what all machines need, of its family and of the region.
func (i *inspection) quota(ctx context.Context) {
	if len(i.suitable) == 0 {
		return
	}
	var usages struct{ Value []usage }
	path := i.subscription() + "/providers/Microsoft.Compute/locations/" + i.region() + "/usages"
	if a := i.Azure.Get(ctx, path, i.ComputeVersion, &usages); a.Problem != "" {
		i.unseen("quota", a)
		return
	}
	short := cloud.CheckFailed
	if i.fit(usages.Value, i.suitable) {
		short = cloud.CheckWarning
	}
	for _, size := range i.suitable {
		for _, name := range i.quotas(size) {
			i.compare(usages.Value, size, name, short)
		}
	}
}

// fit reports whether the quotas have room for all machines, if they get the next size once one has no room.
func (i *inspection) fit(usages []usage, sizes []skus.Size) bool {
	wanted, taken := i.Count, map[string]int64{}
	for _, size := range sizes {
		room := wanted
		for _, name := range i.quotas(size) {
			if quota, ok := find(usages, name); ok && size.CPUs > 0 {
				room = min(room, max(quota.left()-taken[name], 0)/size.CPUs)
			}
		}
		for _, name := range i.quotas(size) {
			taken[name] += room * size.CPUs
		}
		wanted -= room
	}
	return wanted <= 0
}

func find(usages []usage, name string) (usage, bool) {
	for _, u := range usages {
		if name != "" && strings.EqualFold(u.Name.Value, name) {
			return u, true
		}
	}
	return usage{}, false
}

// compare adds the finding on one quota of a size.
func (i *inspection) compare(usages []usage, size skus.Size, name string, short cloud.Result) {
	check, kind := "quota for "+size.Name, "dedicated"
	switch name {
	case regional:
		check = "regional " + check
	case ofSpot:
		kind = "lowPriority"
	}
	quota, found := find(usages, name)
	family := shown(quota.Name.Value)
	if name == regional {
		family = "all families"
	}
	needs, used := size.CPUs*i.Count, fmt.Sprintf("%d of %d cores of %s are used", quota.CurrentValue, quota.Limit, family)
	switch {
	case !found || size.CPUs == 0:
		i.add(check, cloud.CheckWarning, "cannot be checked: Azure lists no quota for this size")
	case quota.left() < needs:
		i.add(check, short, "%s, and %s %d: ask for more with %s, or use another size or fewer replicas", used, i.counted(), needs,
			i.raise(quota.Name.Value, kind, quota.CurrentValue+needs))
	default:
		i.add(check, cloud.CheckOK, "%s, and %s %d: there is room for %d", used, i.counted(), needs, quota.left()/size.CPUs)
	}
}

// counted begins a sentence on what all machines need.
func (i *inspection) counted() string {
	if i.Count == 1 {
		return "a VM needs"
	}
	return fmt.Sprintf("%d VMs need", i.Count)
}
