package cluster

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
)

// GuestRights are those of guests, as package guests decides. They are kept while a config has a report in the workload cluster,
// or asks for the rights. They stay after that: they let nobody write who has no object there.
type GuestRights struct {
	known memories[guests.Memory]
}

// Needs implements Keep.
func (*GuestRights) Needs(_ *clusterv1.Cluster, configs []client.Object, asked map[string]bool) []string {
	_, needed := asked[guests.Name]
	for _, o := range configs {
		config, is := o.(*bootstrapv1.WindowsBootstrapConfig)
		needed = needed || is && config.Status.GuestReport != ""
	}
	if needed {
		return []string{guests.Name}
	}
	return nil
}

// Forget implements Keep.
func (g *GuestRights) Forget(cluster client.ObjectKey) { g.known.forget(cluster) }

// Look implements Keep. It does one act after the other until there is none.
func (g *GuestRights) Look(ctx context.Context, v *Visit) error {
	if len(v.Needs) == 0 {
		return nil
	}
	api, err := v.Reach(ctx)
	if err != nil {
		return err
	}
	last := g.known.of(v.Key)
	seen := guests.Seen{Cluster: v.Key, Answers: map[guests.Act]error{}, Memory: *last}
	for {
		step := guests.Next(seen, v.Now)
		if step.Act == guests.Rest {
			*last = step.Memory
			v.LookAgain(step.Again)
			v.Reply(guests.Name, step.Answer, step.Again)
			return nil
		}
		err := doForGuests(ctx, api, step.Act)
		if broken := breakOff(ctx, err); broken != nil {
			return broken
		}
		seen.Answers[step.Act] = err
	}
}

func doForGuests(ctx context.Context, api *keep.Cluster, act guests.Act) error {
	switch act {
	case guests.Try:
		return api.Probe(ctx, guests.NewProbe())
	case guests.Bind:
		return api.Write(ctx, guests.Binding())
	case guests.Withdraw:
		return api.Revoke(ctx, guests.Binding())
	}
	return api.WriteAll(ctx, guests.Limits())
}
