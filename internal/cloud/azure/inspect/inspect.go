// Package inspect compares a spec with Azure before anything is made there. A caller may rely on this, and need not read how:
//
//   - Run only reads, through the calls that it is given.
//   - It asks for what the controller will ask for: the actions that a machine of this spec takes, its group, subnets, sizes,
//     image and quota. It finds all that it can: a check that depends on one that failed is left out or Skipped.
//   - A finding states in plain words what is there, or what to do, with the command or the page for it. It has no secret. What
//     it quotes from a spec or from Azure is cleaned, and quoted for a shell where it stands in a command.
//
// rights.go is about the actions of the caller, places.go about group, subnets and providers, sizes.go and quota.go about sizes
// and how many VMs of them there may be, image.go about the image, and commands.go has the commands.
package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
)

// Azure is how Run asks. Both methods only read.
type Azure interface {
	// Get reads what is at a path into a value.
	Get(ctx context.Context, path, version string, value any) Answer
	// List reads all pages of a list.
	List(ctx context.Context, path, version string, query url.Values) ([]json.RawMessage, Answer)
}

// Answer is how a question went.
type Answer struct {
	// Gone is true if there is no such thing, and GroupGone if its resource group does not exist.
	Gone, GroupGone bool
	// Problem is a sentence on why there is no answer; empty if there is one.
	Problem string
}

// Pool is what is compared with Azure: a spec, and how many machines of it there are to be.
type Pool struct {
	Spec *infrav1.AzureVM
	// Cluster is the AzureCluster, which has what the spec leaves out; nil if there is none.
	Cluster *unstructured.Unstructured
	// FailureDomain is the Machine's; it leaves no choice of zones.
	FailureDomain string
	// Count is one if it is not set.
	Count    int64
	Identity Identity
	// Progress may be nil.
	Progress cloud.Progress
}

// Subject is what is inspected.
type Subject struct {
	Pool
	Azure Azure
	Place infrav1.AzurePlacement
	// ComputeVersion is the cloud's api-version for VMs.
	ComputeVersion string
	// Caller returns as whom Azure was asked, and in which tenant, once it was.
	Caller func() (name, tenant string)
}

// Identity is the one that the machines will have.
type Identity struct {
	// Other is true if Azure is asked as somebody else, because only the manager can prove who this one is.
	Other bool
	// Name is how the objects call the identity, with what to do to check as it.
	Name string
	// ClientID is an id, or empty if it is not known.
	ClientID string
}

// The api-versions of what only Run asks for.
const (
	subscriptionVersion = "2022-12-01"
	permissionsVersion  = "2022-04-01"
	providersVersion    = "2021-04-01"
	skuVersion          = "2021-07-01"
	networkVersion      = "2024-05-01"
	galleryVersion      = "2023-07-03"
)

// Run makes all checks. The context ends them.
func Run(ctx context.Context, subject Subject) []cloud.Finding {
	i := &inspection{Subject: subject, roles: map[string]roles{}}
	i.Count = max(i.Count, 1)
	for n, part := range parts {
		i.Progress.Begin(n+1, len(parts), part.name)
		if part.look(i, ctx); i.ended {
			return i.found
		}
	}
	i.add("inside the image", cloud.CheckSkipped, "cloudbase-init, containerd and the version of kubeadm cannot be "+
		"seen from outside; docs/images.md lists what an image must have, and how to try it")
	return i.found
}

// parts are all checks, in an order in which each comes after those that it depends on.
var parts = []struct {
	name string
	look func(*inspection, context.Context)
}{
	{"login", (*inspection).login},
	{"resource group", (*inspection).group},
	{"rights", (*inspection).ownRights},
	{"subnets", (*inspection).subnets},
	{"rights on what the spec names", (*inspection).linkRights},
	{"providers", (*inspection).providers},
	{"sizes", (*inspection).sizes},
	{"quota", (*inspection).quota},
	{"image", (*inspection).image},
}

// inspection is what is found out so far.
type inspection struct {
	Subject
	found []cloud.Finding
	// ended is true if nothing more can be looked at, and noGroup if the resource group does not exist.
	ended, noGroup bool
	roles          map[string]roles // by scope
	// suitable are the sizes that will do.
	suitable []skus.Size
}

func (i *inspection) add(check string, result cloud.Result, format string, args ...any) {
	i.found = append(i.found, cloud.Finding{Check: check, Result: result, Text: fmt.Sprintf(format, args...)})
}

// unseen adds a finding on a check that was not possible. A right that only this program needs is no reason to fail.
func (i *inspection) unseen(check string, a Answer) {
	i.add(check, cloud.CheckWarning, "cannot be checked: %s", a.Problem)
}

func (i *inspection) subscription() string { return "/subscriptions/" + i.Place.SubscriptionID }

// login checks whether Azure lets the caller in, who that is, and whether it sees the subscription. Otherwise it is the last
// check.
func (i *inspection) login(ctx context.Context) {
	i.ended = true
	visible, a := list[struct{ SubscriptionID string }](ctx, i, "/subscriptions", subscriptionVersion, nil)
	if a.Problem != "" {
		i.add("login", cloud.CheckFailed, "%s; see docs/azure-credentials.md", a.Problem)
		return
	}
	_, tenant := i.Caller()
	if i.Identity.Other {
		i.add("identity", cloud.CheckWarning, "checked as %s, not as the machine's identity: rights and visibility are those of the "+
			"former. The machine's identity is %s%s", i.callerName(), i.Identity.Name, i.rolesOfMachine())
	}
	i.add("login", cloud.CheckOK, "Azure accepts the credentials for tenant %s", shown(tenant))
	wanted := i.Place.SubscriptionID
	isWanted := func(s struct{ SubscriptionID string }) bool { return strings.EqualFold(s.SubscriptionID, wanted) }
	switch {
	case slices.ContainsFunc(visible, isWanted):
		i.add("subscription", cloud.CheckOK, "%s is visible", wanted)
		i.ended = false
	case i.Identity.Other:
		i.add("subscription", cloud.CheckFailed, "%s does not see subscription %s, so nothing can be checked: log in as a user who "+
			"does, as az account list shows, or correct spec.azure.subscriptionID", i.callerName(), wanted)
	default:
		i.add("subscription", cloud.CheckFailed, "Azure does not show subscription %s to these credentials: correct "+
			"spec.azure.subscriptionID, or assign the custom role of docs/azure.md to the identity: %s", wanted,
			i.assign(i.subscription()))
	}
}

// callerName is as whom Azure was asked.
func (i *inspection) callerName() string {
	name, _ := i.Caller()
	return cmp.Or(name, "this computer's identity")
}

// list reads the items of a list.
func list[T any](ctx context.Context, i *inspection, path, version string, query url.Values) (values []T, a Answer) {
	items, a := i.Azure.List(ctx, path, version, query)
	for _, item := range items {
		var value T
		if json.Unmarshal(item, &value) == nil { // else it is nothing that we look for
			values = append(values, value)
		}
	}
	return values, a
}

const maxName = 128

// shown is a text of Azure or of the files.
func shown(text string) string { return cloud.Clean(text, maxName) }
