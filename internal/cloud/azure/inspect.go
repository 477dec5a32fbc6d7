package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

const permissionsVersion = "2022-04-01"

// inGroup and inSubscription are the actions that docs/azure.md always asks for, by where they are needed; that of the subnets is
// needed at each of them.
var (
	inGroup = []string{
		"Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/virtualMachines/write",
		"Microsoft.Compute/virtualMachines/delete", "Microsoft.Compute/virtualMachines/instanceView/read",
		"Microsoft.Compute/disks/read", "Microsoft.Compute/disks/write", "Microsoft.Compute/disks/delete",
		"Microsoft.Network/networkInterfaces/read", "Microsoft.Network/networkInterfaces/write",
		"Microsoft.Network/networkInterfaces/delete",
	}
	inSubscription = []string{
		"Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/skus/read", "Microsoft.Resources/subscriptions/resources/read",
	}
)

const joinsSubnet = "Microsoft.Network/virtualNetworks/subnets/join/action"

// Inspect compares a spec with Azure before anything is made there. It only reads. The AzureCluster, which may be nil, says what
// the spec leaves out. It is an error if both leave something out, or if the credentials do not have their form.
func (p Provider) Inspect(
	ctx context.Context, credentials map[string][]byte, spec *infrav1.AzureVM, azureCluster *unstructured.Unstructured,
) ([]cloud.Finding, error) {
	where, err := placement.Resolve(spec, "", azureCluster)
	if err != nil {
		return nil, err
	}
	p.grant.Cloud = placement.OtherCloud(string(where.Cloud))
	who, err := p.signIn(credentials)
	if err != nil {
		return nil, err
	}
	c, err := newCalls(who, time.Now)
	if err != nil {
		return nil, err
	}
	defer c.close()
	i := &inspection{calls: c, spec: spec, where: where}
	i.run(ctx)
	return i.found, nil
}

// inspection is what is found out so far.
type inspection struct {
	calls *calls
	spec  *infrav1.AzureVM
	where placement.Placement
	found []cloud.Finding
}

func (i *inspection) add(check string, result cloud.Result, format string, args ...any) {
	i.found = append(i.found, cloud.Finding{Check: check, Result: result, Text: fmt.Sprintf(format, args...)})
}

// run makes all checks, in an order in which each comes after those that it depends on.
func (i *inspection) run(ctx context.Context) {
	if a := i.calls.welcome(ctx, cloud.Key{}); a.verdict != nil {
		i.add("login", cloud.CheckFailed, "%s", sentence(a))
		return
	}
	i.add("login", cloud.CheckOK, "Azure accepts the credentials for tenant %s", cloud.Clean(i.calls.who.tenant, 253))
	subscription := i.where.Group.Subscription
	if !i.calls.knows(ctx, subscription) {
		i.add("subscription", cloud.CheckFailed, "Azure shows subscription %s to these credentials not at all: correct "+
			"spec.azure.subscriptionID, or assign the custom role of docs/azure.md to the identity", subscription)
		return
	}
	i.add("subscription", cloud.CheckOK, "%s is visible", subscription)
	i.group(ctx)
	i.rights(ctx, "rights in the subscription", "/subscriptions/"+subscription, inSubscription)
	i.rights(ctx, "rights in the group", i.where.Group.String(), inGroup)
	for n, subnet := range i.where.Subnets {
		i.rights(ctx, fmt.Sprintf("rights on subnet %d", n+1), subnet, []string{joinsSubnet})
		i.subnet(ctx, fmt.Sprintf("subnet %d", n+1), subnet)
	}
	i.providers(ctx)
	i.image(ctx, i.sizes(ctx))
	i.add("inside the image", cloud.CheckSkipped, "cloudbase-init, "+
		"containerd and the version of kubeadm cannot be seen from outside; "+
		"docs/images.md says what an image must have, and how to try it")
}

func sentence(a answer) string {
	if told, ok := errors.AsType[*cloud.Error](a.err()); ok {
		return told.Message
	}
	return "Azure does not answer"
}

// unseen tells of a check that was not possible. A right that only this program needs is no reason to fail.
func (i *inspection) unseen(check string, a answer) {
	i.add(check, cloud.CheckWarning, "cannot be checked: %s", sentence(a))
}

func (i *inspection) group(ctx context.Context) {
	const check = "resource group"
	switch vms, a := i.calls.listVMs(ctx, i.where.Group); {
	case a.effect() == fault.GroupGone:
		i.add(check, cloud.CheckFailed, "%s does not exist in the subscription: create it, or correct spec.azure.resourceGroup",
			i.where.Group.Group)
	case a.verdict != nil:
		i.unseen(check, a)
	default:
		i.add(check, cloud.CheckOK, "%s has %d VMs", i.where.Group.Group, len(vms))
	}
}

// permission is what a role lets the caller do at a scope.
type permission struct{ Actions, NotActions []string }

// rights names the actions that the caller lacks at a scope.
func (i *inspection) rights(ctx context.Context, check, scope string, wanted []string) {
	all, a := pages[permission](ctx, i.calls, call{
		method: http.MethodGet, path: scope + "/providers/Microsoft.Authorization/permissions", version: permissionsVersion,
		class: limiter.ListNetwork, subscription: i.where.Group.Subscription,
	})
	if a.verdict != nil {
		i.unseen(check, a)
		return
	}
	if lacks := unmet(all, wanted); len(lacks) > 0 {
		i.add(check, cloud.CheckFailed, "the identity lacks %s on %s: assign the custom role of docs/azure.md there",
			strings.Join(lacks, ", "), scope)
		return
	}
	i.add(check, cloud.CheckOK, "the identity has the actions of the custom role")
}

func unmet(all []permission, wanted []string) (lacks []string) {
	for _, action := range wanted {
		if !slices.ContainsFunc(all, func(p permission) bool { return covers(p.Actions, action) && !covers(p.NotActions, action) }) {
			lacks = append(lacks, action)
		}
	}
	return lacks
}

// covers compares as Azure does: in any case, and a * stands for any text.
func covers(patterns []string, action string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		text := "(?i)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
		fits, _ := regexp.MatchString(text, action) // any quoted text is a pattern
		return fits
	})
}

func (i *inspection) subnet(ctx context.Context, check, id string) {
	at, _ := arm.Parse(id)
	a := i.calls.send(ctx, call{
		method: http.MethodGet, path: id, version: networkVersion, class: limiter.ListNetwork, subscription: at.Subscription, asker: id,
	})
	switch {
	case a.effect() == fault.Gone || a.effect() == fault.GroupGone:
		i.add(check, cloud.CheckFailed, "%s does not exist: correct spec.azure.networkInterfaces", id)
	case a.verdict != nil:
		i.unseen(check, a)
	default:
		i.add(check, cloud.CheckOK, "%s exists", at.Name())
	}
}

// sizes compares each size and zone with what the region offers. One that will do is enough: the others are tried after it.
// It returns those that will do.
func (i *inspection) sizes(ctx context.Context) (good []skus.Size) {
	all, a := i.calls.listSKUs(ctx, i.where.Group.Subscription, i.where.Location)
	if a.verdict != nil {
		i.unseen("size "+i.spec.VMSize, a)
		return nil
	}
	of, bad := skus.Read(all, i.where.Location), i.badSize()
	for _, name := range append([]string{i.spec.VMSize}, i.spec.FallbackVMSizes...) {
		if wrong := i.unfit(of, name); wrong != nil {
			i.add("size "+name, bad, "%s", wrong.Message)
			continue
		}
		size, _ := of.Find(name)
		i.add("size "+name, cloud.CheckOK, "%d CPUs, %d MiB", size.CPUs, size.MemoryMiB)
		good = append(good, size)
	}
	i.quota(ctx, good)
	return good
}

// badSize is how bad it is if one size will not do: a fallback is tried instead.
func (i *inspection) badSize() cloud.Result {
	if len(i.spec.FallbackVMSizes) > 0 {
		return cloud.CheckWarning
	}
	return cloud.CheckFailed
}

// unfit is why a size does not suit in any of the zones.
func (i *inspection) unfit(of skus.Sizes, name string) (why *cloud.Error) {
	zones := i.spec.Zones
	if len(zones) == 0 {
		zones = []string{""}
	}
	for _, zone := range zones {
		wrong := of.Refuse(i.spec, name, zone, i.where.Location)
		if wrong == nil {
			return nil
		}
		why = cmp.Or(why, wrong)
	}
	return why
}
