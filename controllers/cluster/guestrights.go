package cluster

import (
	"context"
	"errors"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
)

// GuestRights are those of guests, as package guests decides. They are kept while a config has a report in the workload cluster,
// or asks for the rights. They stay after that: they let nobody write who has no object there.
type GuestRights struct{ memory guests.Memory }

// Needs implements Keep.
func (*GuestRights) Needs(_ *clusterv1.Cluster, configs client.ObjectList, asked map[string]bool) []string {
	_, needed := asked[guests.Name]
	if needed || anyConfig(configs, func(c bootstrapv1.WindowsBootstrapConfig) bool { return c.Status.GuestReport != "" }) {
		return []string{guests.Name}
	}
	return nil
}

// Look implements Keep.
func (g *GuestRights) Look(ctx context.Context, v *Visit) error {
	if len(v.Needs) == 0 {
		return nil
	}
	api, err := v.Reach(ctx)
	if err != nil {
		return err
	}
	err = g.grant(ctx, api, v.Now)
	var kept error
	if keep.Taken(err) != "" {
		kept = api.Revoke(ctx, guests.Binding())
	}
	if broken := breakOff(ctx, errors.Join(err, kept)); broken != nil {
		return broken
	}
	delay, answer := g.memory.Answer(v.Key, err, kept, v.Now)
	v.LookAgain(delay)
	v.Reply(guests.Name, answer, delay)
	return nil
}

// grant lets guests write once the policy that limits them is seen to work.
func (g *GuestRights) grant(ctx context.Context, api *keep.Cluster, now time.Time) error {
	if err := api.WriteAll(ctx, guests.Limits()); err != nil {
		return err
	}
	if err := g.memory.Settle(now); err != nil {
		return err
	}
	if err := guests.Tried(api.Probe(ctx, guests.NewProbe())); err != nil {
		return err
	}
	return api.Write(ctx, guests.Binding())
}
