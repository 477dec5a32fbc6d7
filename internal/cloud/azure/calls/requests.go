package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
)

// Preconditioned is the first api-version of which it is known that a VM's PUT heeds If-None-Match.
const Preconditioned = "2024-03-01"

// Tagged is the first api-version whose request for a VM has tags for what is made with it (azure-rest-api-specs, ComputeRP:
// VirtualMachineNetworkInterfaceConfiguration and VirtualMachinePublicIPAddressConfiguration have none in 2024-11-01). Compute
// refuses members that it does not know.
const Tagged = "2025-04-01"

// ComputeVersion is the api-version of calls for VMs.
func (c *Client) ComputeVersion() string {
	return cmp.Or(c.Principal.Cloud.ComputeAPIVersion, computeVersion)
}

func (c *Client) ofVM(method string, id arm.ID, class limiter.Class) Call {
	return Call{
		Method: method, Path: id.String(), Version: c.ComputeVersion(), Class: class, Subscription: id.Subscription, Asker: id.Key(),
		ByID: method != http.MethodPut,
	}
}

// CreateVM asks for a VM, and for none if one of the name exists.
func (c *Client) CreateVM(ctx context.Context, id arm.ID, body func(context.Context) (any, error)) Answer {
	q := c.ofVM(http.MethodPut, id, limiter.PutVM)
	q.Body, q.Create = body, true
	return c.Send(ctx, q)
}

// DeleteVM asks for the removal of a VM and all that has deleteOption Delete.
func (c *Client) DeleteVM(ctx context.Context, id arm.ID) Answer {
	q := c.ofVM(http.MethodDelete, id, limiter.DeleteVM)
	q.Query = url.Values{"forceDeletion": {"true"}}
	return c.Send(ctx, q)
}

// GetVM looks at one VM.
func (c *Client) GetVM(ctx context.Context, id arm.ID) (got VM, a Answer) {
	a = c.Send(ctx, c.ofVM(http.MethodGet, id, limiter.GetVM))
	return got, c.Read(a, &got)
}

// ViewVM asks what a VM is doing, and why it failed.
func (c *Client) ViewVM(ctx context.Context, id arm.ID) (got View, a Answer) {
	q := c.ofVM(http.MethodGet, id, limiter.GetVM)
	q.Path += "/instanceView"
	a = c.Send(ctx, q)
	return got, c.Read(a, &got)
}

// SignBootLog asks for an address of a VM's boot log, which holds for a minute.
func (c *Client) SignBootLog(ctx context.Context, id arm.ID) (address string, a Answer) {
	q := c.ofVM(http.MethodPost, id, limiter.GetVM)
	q.Path += "/retrieveBootDiagnosticsData"
	q.Query = url.Values{"sasUriExpirationTimeInMinutes": {"1"}}
	var signed struct{ SerialConsoleLogBlobURI string }
	a = c.Read(c.Send(ctx, q), &signed)
	return signed.SerialConsoleLogBlobURI, a
}

// Read decodes the body of an answer. What cannot be decoded is no answer.
func (c *Client) Read(a Answer, value any) Answer {
	if a.Verdict != nil {
		return a
	}
	if err := json.Unmarshal(a.Body, value); err != nil {
		return c.unanswered(err)
	}
	return a
}

// VMsIn asks for the VMs of a group.
func (c *Client) VMsIn(group arm.ID) Call {
	return Call{
		Method: http.MethodGet, Path: group.String() + "/providers/Microsoft.Compute/virtualMachines", Version: c.ComputeVersion(),
		Class: limiter.ListVMs, Subscription: group.Subscription,
	}
}

// StatesIn asks for the VMs of a subscription with their power states: no other list has them.
func (c *Client) StatesIn(subscription string) Call {
	return Call{
		Method: http.MethodGet, Path: "/subscriptions/" + subscription + "/providers/Microsoft.Compute/virtualMachines",
		Version: c.ComputeVersion(), Query: url.Values{"statusOnly": {"true"}}, Class: limiter.ListVMs, Subscription: subscription,
	}
}

// ResourcesIn asks for the adapters, disks or public IPs of a group, by their type.
func ResourcesIn(group arm.ID, kind string) Call {
	return Call{
		Method: http.MethodGet, Path: group.String() + "/providers/" + kind, Version: versionOf(kind), Class: limiter.ListNetwork,
		Subscription: group.Subscription,
	}
}

// SizesIn asks for what a region offers to a subscription. Azure knows no filter but that for the region.
func SizesIn(subscription, location string) Call {
	return Call{
		Method: http.MethodGet, Path: "/subscriptions/" + subscription + "/providers/Microsoft.Compute/skus", Version: skuVersion,
		Query: url.Values{"$filter": {"location eq '" + location + "'"}}, Class: limiter.ListSizes, Subscription: subscription,
	}
}

// GetResource looks at an adapter, disk or public IP.
func (c *Client) GetResource(ctx context.Context, id arm.ID) (resource Resource, a Answer) {
	a = c.Send(ctx, ofResource(http.MethodGet, id, limiter.ListNetwork))
	return resource, c.Read(a, &resource)
}

// PutAdapter asks for an adapter; a new one only if there is none of the name.
func (c *Client) PutAdapter(ctx context.Context, id arm.ID, create bool, body any) Answer {
	return c.Send(ctx, Call{
		Method: http.MethodPut, Path: id.String(), Version: networkVersion, Class: limiter.WriteNetwork, Create: create,
		Subscription: id.Subscription, Body: func(context.Context) (any, error) { return body, nil },
	})
}

// DeleteResource removes an adapter, disk or public IP. Azure refuses if something uses it.
func (c *Client) DeleteResource(ctx context.Context, id arm.ID) Answer {
	return c.Send(ctx, ofResource(http.MethodDelete, id, limiter.DeleteNetwork))
}

func ofResource(method string, id arm.ID, class limiter.Class) Call {
	return Call{
		Method: method, Path: id.String(), Version: versionOf(id.Type()), Class: class, Subscription: id.Subscription, ByID: true,
	}
}

func versionOf(kind string) string {
	if strings.EqualFold(kind, arm.DiskType) {
		return diskVersion
	}
	return networkVersion
}

// Welcome asks whether Azure lets us in. It needs no right.
func (c *Client) Welcome(ctx context.Context, asker cloud.Key) Answer {
	return c.Send(ctx, Call{
		Method: http.MethodGet, Path: "/subscriptions", Version: subscriptionVersion, Class: limiter.GetVM, Asker: asker.String(),
		Unread: true,
	})
}

// visible is a subscription that Azure shows us.
type visible struct{ SubscriptionID string }

// IsVisible reports whether Azure shows us a subscription. What is read for that counts for a namespace.
func (c *Client) IsVisible(ctx context.Context, subscription, namespace string) bool {
	held := &Held{Namespace: namespace, Kept: c.Bounds.Kept}
	found, a := Pages(ctx, c, Call{ // none if it is refused
		Method: http.MethodGet, Path: "/subscriptions", Version: subscriptionVersion, Class: limiter.GetVM,
	}, held, func(s visible) (visible, int) {
		if !strings.EqualFold(s.SubscriptionID, subscription) {
			return s, 0
		}
		return s, len(s.SubscriptionID)
	})
	held.Give(a.Kept)
	return len(found) > 0
}
