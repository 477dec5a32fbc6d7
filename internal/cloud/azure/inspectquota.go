package azure

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

const providersVersion = "2021-04-01"

// ask reads something of the subscription, at a path below it.
func (i *inspection) ask(ctx context.Context, path, version string, into any) answer {
	subscription := i.where.Group.Subscription
	a := i.calls.send(ctx, call{
		method: http.MethodGet, path: path, version: version, class: limiter.ListNetwork, subscription: subscription, asker: path,
	})
	if a.verdict == nil {
		if err := json.Unmarshal(a.body, into); err != nil {
			return i.calls.unanswered(err)
		}
	}
	return a
}

func (i *inspection) inSubscription(path string) string {
	return "/subscriptions/" + i.where.Group.Subscription + path
}

func (i *inspection) inRegion(path string) string {
	return i.inSubscription("/providers/Microsoft.Compute/locations/" + skus.Location(i.where.Location) + path)
}

// providers says whether the subscription may use what VMs need.
func (i *inspection) providers(ctx context.Context) {
	for _, name := range []string{"Microsoft.Compute", "Microsoft.Network"} {
		check := "provider " + name
		var told struct{ RegistrationState string }
		a := i.ask(ctx, i.inSubscription("/providers/"+name), providersVersion, &told)
		switch {
		case a.verdict != nil:
			i.unseen(check, a)
		case !strings.EqualFold(told.RegistrationState, "Registered"):
			i.add(check, cloud.CheckFailed, "is %s in the subscription: run az provider register --namespace %s",
				cloud.Clean(told.RegistrationState, 32), name)
		default:
			i.add(check, cloud.CheckOK, "is registered")
		}
	}
}

// usage is a quota of a region.
type usage struct {
	Name                struct{ Value string }
	CurrentValue, Limit int64
}

// quota compares what is left of each quota with what one VM of each size needs.
func (i *inspection) quota(ctx context.Context, sizes []skus.Size) {
	if len(sizes) == 0 {
		return
	}
	var all struct{ Value []usage }
	if a := i.ask(ctx, i.inRegion("/usages"), i.calls.compute(), &all); a.verdict != nil {
		i.unseen("quota", a)
		return
	}
	for _, size := range sizes {
		names := []string{"cores", size.Family}
		if i.spec.Priority == infrav1.AzurePrioritySpot {
			names = []string{"lowPriorityCores"}
		}
		tight, known := tightest(all.Value, names)
		check := "quota for " + size.Name
		switch left := tight.Limit - tight.CurrentValue; {
		case !known || size.CPUs == 0:
			i.add(check, cloud.CheckWarning, "cannot be checked: Azure lists no quota for this size")
		case left < size.CPUs:
			i.add(check, i.badSize(), "%d of %d cores of %s are used, and a VM needs %d: ask for more quota in Azure's portal, or use "+
				"another size", tight.CurrentValue, tight.Limit, cloud.Clean(tight.Name.Value, 64), size.CPUs)
		default:
			i.add(check, cloud.CheckOK, "%d of %d cores of %s are used: there is room for %d more VMs", tight.CurrentValue, tight.Limit,
				cloud.Clean(tight.Name.Value, 64), left/size.CPUs)
		}
	}
}

// tightest is the quota of these names of which least is left.
func tightest(all []usage, names []string) (least usage, known bool) {
	for _, one := range all {
		for _, name := range names {
			tighter := !known || one.Limit-one.CurrentValue < least.Limit-least.CurrentValue
			if name != "" && strings.EqualFold(one.Name.Value, name) && tighter {
				least, known = one, true
			}
		}
	}
	return least, known
}
