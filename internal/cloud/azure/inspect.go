package azure

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/inspect"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

// Identity is the one that the machines of a pool will have.
type Identity = inspect.Identity

// Pool is what is compared with Azure: a spec, and how many machines of it there are to be.
type Pool = inspect.Pool

// Inspect compares a pool with Azure before anything is made there. It only reads. It is an error if spec and AzureCluster leave
// something out, or if the credentials do not have their form.
func (p Provider) Inspect(ctx context.Context, credentials map[string][]byte, pool Pool) ([]cloud.Finding, error) {
	resolved, err := placement.Resolve(pool.Spec, "", pool.Cluster)
	if err != nil {
		return nil, err
	}
	if p.grant.Proof == "" { // a Secret of the machine's own namespace
		p.grant.Cloud = placement.OtherCloud(string(resolved.Cloud))
	}
	principal, err := p.signIn(credentials)
	if err != nil {
		return nil, err
	}
	c, err := calls.New(principal, time.Now)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return inspect.Run(ctx, inspect.Subject{
		Pool: pool, Azure: inspector{calls: c, subscription: resolved.SubscriptionID}, Place: resolved,
		ComputeVersion: c.ComputeVersion(), Caller: principal.Caller,
	}), nil
}

// OnThisComputer is the provider with what the computer of a person has, instead of a manager: see login. asker is the machine
// that is checked. No object adds to it or changes it.
func (p Provider) OnThisComputer(asker cloud.Asker) Provider {
	p.grant = cloud.Grant{
		Proof: placement.OwnComputer, AskedBy: asker.Namespace, AskedCloud: placement.OtherCloud(asker.Cloud),
	}
	return p
}

// Named are the identity and the cloud that an AzureCluster names for its machines. azureCluster may be nil.
func (Provider) Named(azureCluster *unstructured.Unstructured) (identity types.NamespacedName, environment string, err error) {
	if azureCluster == nil {
		return identity, "", nil
	}
	if identity, err = placement.IdentityOf(azureCluster); err != nil {
		return identity, "", err
	}
	cloudName, err := placement.CloudOf(azureCluster)
	return identity, string(cloudName), err
}

// inspector makes the calls of an inspection. They count as those for the network, of which there are many.
type inspector struct {
	calls        *calls.Client
	subscription string
}

func (a inspector) call(path, version string, query url.Values) calls.Call {
	subscription := a.subscription
	if id, ok := arm.Parse(path); ok {
		subscription = id.Subscription
	}
	return calls.Call{
		Method: http.MethodGet, Path: path, Version: version, Query: query, Class: limiter.ListNetwork, Subscription: subscription,
		Asker: path, Large: true,
	}
}

// Get is part of inspect.Azure.
func (a inspector) Get(ctx context.Context, path, version string, value any) inspect.Answer {
	return answerOf(a.calls.Read(a.calls.Send(ctx, a.call(path, version, nil)), value))
}

// List is part of inspect.Azure.
func (a inspector) List(ctx context.Context, path, version string, query url.Values) ([]json.RawMessage, inspect.Answer) {
	keep := func(item json.RawMessage) (json.RawMessage, int) { return item, len(item) }
	items, answer := calls.Pages(ctx, a.calls, a.call(path, version, query), &calls.Held{}, keep)
	return items, answerOf(answer)
}

// forPeople takes out of a sentence what only a manager does and has.
var forPeople = strings.NewReplacer(
	"; the controller tries again", "", ": the controller tries again", "", "of the management cluster", "of this computer",
	"the network of the manager", "the network of this computer",
)

func answerOf(a calls.Answer) inspect.Answer {
	if a.Verdict == nil && a.Unsent == nil {
		return inspect.Answer{}
	}
	problem := "Azure does not answer"
	if cause, ok := errors.AsType[*cloud.Error](a.Err()); ok && cause.Message != "" {
		problem = cause.Message
	}
	return inspect.Answer{
		Gone: a.Status == http.StatusNotFound, GroupGone: a.Effect() == fault.GroupGone, Problem: forPeople.Replace(problem),
	}
}
