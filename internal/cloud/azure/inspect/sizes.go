package inspect

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

// sizes compares each size with what the region and its zones offer. One that will do is enough: the others are tried after it.
func (i *inspection) sizes(ctx context.Context) {
	listed, a := list[skus.Listed](ctx, i, i.subscription()+"/providers/Microsoft.Compute/skus", skuVersion,
		url.Values{"$filter": {"location eq '" + i.region() + "'"}})
	var sizes []skus.Size
	for _, entry := range listed {
		if size, ok := skus.Read(entry, i.Place.Location); ok {
			sizes = append(sizes, size)
		}
	}
	offered := skus.Index(sizes)
	switch {
	case a.Problem != "":
		i.unseen("size "+shown(i.Spec.VMSize), a)
		return
	case len(offered) == 0:
		i.add("size "+shown(i.Spec.VMSize), cloud.CheckWarning, "cannot be checked: Azure lists no sizes in %s; if that is not a "+
			"region, correct spec.azure.location, as az account list-locations --output table shows them", shown(i.Place.Location))
		return
	}
	for _, name := range request.Sizes(i.Spec) {
		if size, ok := offered.Find(name); ok && i.unfit(offered, name) == nil {
			i.suitable = append(i.suitable, size)
		}
	}
	ifUnfit := cloud.CheckFailed
	if len(i.suitable) > 0 {
		ifUnfit = cloud.CheckWarning
	}
	for _, name := range request.Sizes(i.Spec) {
		i.size(offered, name, ifUnfit)
	}
}

func (i *inspection) size(offered skus.Sizes, name string, ifUnfit cloud.Result) {
	check := "size " + shown(name)
	if wrong := i.unfit(offered, name); wrong != nil {
		i.add(check, ifUnfit, "%s; %s shows what there is", wrong.Message, i.listSizes())
		return
	}
	size, _ := offered.Find(name)
	var excluded []string
	for _, zone := range request.Zones(i.Spec, i.FailureDomain) {
		if offered.Refuse(i.Spec, name, zone, i.Place.Location) != nil {
			excluded = append(excluded, shown(zone))
		}
	}
	if len(excluded) > 0 {
		i.add(check, cloud.CheckOK, "%d CPUs, %d MiB, but not in zone %s", size.CPUs, size.MemoryMiB, strings.Join(excluded, ", "))
		return
	}
	i.add(check, cloud.CheckOK, "%d CPUs, %d MiB", size.CPUs, size.MemoryMiB)
}

// unfit is why a size does not suit in any of the zones.
func (i *inspection) unfit(offered skus.Sizes, name string) (refusal *cloud.Error) {
	for _, zone := range request.Zones(i.Spec, i.FailureDomain) {
		wrong := offered.Refuse(i.Spec, name, zone, i.Place.Location)
		if wrong == nil {
			return nil
		}
		refusal = cmp.Or(refusal, wrong)
	}
	return refusal
}
