package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

// preconditioned is the first api-version of which it is known that a VM's PUT heeds If-None-Match.
const preconditioned = "2024-03-01"

// tagged is the first api-version whose request for a VM has tags for what is made with it (azure-rest-api-specs, ComputeRP:
// VirtualMachineNetworkInterfaceConfiguration and VirtualMachinePublicIPAddressConfiguration have none in 2024-11-01). Compute
// refuses members that it does not know.
const tagged = "2025-04-01"

func (c *calls) compute() string {
	if c.who.computeVersion != "" {
		return c.who.computeVersion
	}
	return computeVersion
}

func (c *calls) ofVM(method string, id arm.ID, class limiter.Class) call {
	return call{
		method: method, path: id.String(), version: c.compute(), class: class, subscription: id.Subscription, asker: id.Key(),
		byID: method != http.MethodPut,
	}
}

// createVM asks for a VM, and for none if one of the name exists.
func (c *calls) createVM(ctx context.Context, id arm.ID, body func(context.Context) (any, error)) answer {
	q := c.ofVM(http.MethodPut, id, limiter.PutVM)
	q.body, q.create = body, true
	return c.send(ctx, q)
}

// deleteVM asks for the removal of a VM and all that has deleteOption Delete.
func (c *calls) deleteVM(ctx context.Context, id arm.ID) answer {
	q := c.ofVM(http.MethodDelete, id, limiter.DeleteVM)
	q.query = url.Values{"forceDeletion": {"true"}}
	return c.send(ctx, q)
}

func (c *calls) getVM(ctx context.Context, id arm.ID) (got vm, a answer) {
	a = c.send(ctx, c.ofVM(http.MethodGet, id, limiter.GetVM))
	return got, c.read(a, &got)
}

// viewVM asks what a VM is doing, and why it failed.
func (c *calls) viewVM(ctx context.Context, id arm.ID) (got view, a answer) {
	q := c.ofVM(http.MethodGet, id, limiter.GetVM)
	q.path += "/instanceView"
	a = c.send(ctx, q)
	return got, c.read(a, &got)
}

// signBootLog asks for an address of a VM's boot log, which holds for a minute.
func (c *calls) signBootLog(ctx context.Context, id arm.ID) (address string, a answer) {
	q := c.ofVM(http.MethodPost, id, limiter.GetVM)
	q.path += "/retrieveBootDiagnosticsData"
	q.query = url.Values{"sasUriExpirationTimeInMinutes": {"1"}}
	var signed struct{ SerialConsoleLogBlobURI string }
	a = c.read(c.send(ctx, q), &signed)
	return signed.SerialConsoleLogBlobURI, a
}

func (c *calls) read(a answer, into any) answer {
	if a.verdict != nil {
		return a
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return c.unanswered(err)
	}
	return a
}

// listVMs lists the VMs of a group.
func (c *calls) listVMs(ctx context.Context, group arm.ID) ([]vm, answer) {
	return pages[vm](ctx, c, call{
		method: http.MethodGet, path: group.String() + "/providers/Microsoft.Compute/virtualMachines", version: c.compute(),
		class: limiter.ListVMs, subscription: group.Subscription,
	})
}

// listStatus lists the VMs of a subscription with their power states: no other list has them.
func (c *calls) listStatus(ctx context.Context, subscription string) ([]vm, answer) {
	return pages[vm](ctx, c, call{
		method: http.MethodGet, path: "/subscriptions/" + subscription + "/providers/Microsoft.Compute/virtualMachines",
		version: c.compute(), query: url.Values{"statusOnly": {"true"}}, class: limiter.ListVMs, subscription: subscription,
	})
}

// resource is an adapter, a disk or a public IP, as far as we read it.
type resource struct {
	ID         string
	Name       string
	Tags       map[string]string
	ManagedBy  string
	Properties struct {
		VirtualMachine    struct{ ID string }
		DiskState         string
		UniqueID          string // of a disk
		ResourceGUID      string // of the others
		ProvisioningState string

		EnableAcceleratedNetworking bool

		IPConfigurations []struct {
			Properties struct {
				PrivateIPAddress string
				PublicIPAddress  struct{ ID string }
			}
		}
		IPConfiguration struct{ ID string } // that has the public IP
	}
}

// uniqueID is Azure's own ID of it; empty if Azure did not say.
func (r resource) uniqueID() string {
	return arm.UUID(cmp.Or(r.Properties.UniqueID, r.Properties.ResourceGUID))
}

// user is the VM that an adapter or disk belongs to; empty if there is none.
func (r resource) user() string { return cmp.Or(r.ManagedBy, r.Properties.VirtualMachine.ID) }

func (r resource) attached() bool { return r.user() != "" || r.Properties.IPConfiguration.ID != "" }

// public says that an adapter has a public IP.
func (r resource) public() bool {
	for _, one := range r.Properties.IPConfigurations {
		if one.Properties.PublicIPAddress.ID != "" {
			return true
		}
	}
	return false
}

func (c *calls) listAdapters(ctx context.Context, group arm.ID) ([]resource, answer) {
	return pages[resource](ctx, c, call{
		method: http.MethodGet, path: group.String() + "/providers/Microsoft.Network/networkInterfaces", version: networkVersion,
		class: limiter.ListNetwork, subscription: group.Subscription,
	})
}

func (c *calls) listDisks(ctx context.Context, group arm.ID) ([]resource, answer) {
	return pages[resource](ctx, c, call{
		method: http.MethodGet, path: group.String() + "/providers/Microsoft.Compute/disks", version: diskVersion,
		class: limiter.ListNetwork, subscription: group.Subscription,
	})
}

func (c *calls) listPublic(ctx context.Context, group arm.ID) ([]resource, answer) {
	return pages[resource](ctx, c, call{
		method: http.MethodGet, path: group.String() + "/providers/Microsoft.Network/publicIPAddresses", version: networkVersion,
		class: limiter.ListNetwork, subscription: group.Subscription,
	})
}

// listSKUs lists what a region offers to a subscription. It knows no filter but that for the region.
func (c *calls) listSKUs(ctx context.Context, subscription, location string) ([]skus.Listed, answer) {
	return pages[skus.Listed](ctx, c, call{
		method: http.MethodGet, path: "/subscriptions/" + subscription + "/providers/Microsoft.Compute/skus", version: skuVersion,
		query: url.Values{"$filter": {"location eq '" + location + "'"}}, class: limiter.ListSizes, subscription: subscription,
	})
}

// getResource looks at an adapter, disk or public IP.
func (c *calls) getResource(ctx context.Context, id arm.ID) (one resource, a answer) {
	a = c.send(ctx, ofResource(http.MethodGet, id, limiter.ListNetwork))
	return one, c.read(a, &one)
}

// deleteResource removes an adapter, disk or public IP. Azure refuses if something uses it.
func (c *calls) deleteResource(ctx context.Context, id arm.ID) answer {
	return c.send(ctx, ofResource(http.MethodDelete, id, limiter.DeleteNetwork))
}

func ofResource(method string, id arm.ID, class limiter.Class) call {
	version := networkVersion
	if id.Is("Microsoft.Compute/disks") {
		version = diskVersion
	}
	return call{method: method, path: id.String(), version: version, class: class, subscription: id.Subscription, byID: true}
}

// welcome asks whether Azure lets us in. It needs no right.
func (c *calls) welcome(ctx context.Context, asker cloud.Key) answer {
	return c.send(ctx, call{
		method: http.MethodGet, path: "/subscriptions", version: subscriptionVersion, class: limiter.GetVM, asker: asker.String(),
	})
}

// knows says whether a subscription is among those that Azure shows us.
func (c *calls) knows(ctx context.Context, subscription string) bool {
	all, _ := pages[struct{ SubscriptionID string }](ctx, c, call{ // none if it is refused
		method: http.MethodGet, path: "/subscriptions", version: subscriptionVersion, class: limiter.GetVM,
	})
	return slices.ContainsFunc(all, func(one struct{ SubscriptionID string }) bool {
		return strings.EqualFold(one.SubscriptionID, subscription)
	})
}
