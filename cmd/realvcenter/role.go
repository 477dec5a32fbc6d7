package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

var limitedRole = check{
	name:    "limited-role",
	effect:  "makes and removes a VM as the limited user, and asks for the view of all VMs as that user",
	relies:  "all calls of internal/cloud/vsphere; newWatcher in watch.go begins with a view at the root folder",
	decides: "the watch tells of all VMs, the VM is made, seen without a question, and removed",
	means: "The role lacks a privilege that the product needs, or a limited user may not have the view at the root " +
		"folder: see Why.",
	run: func(ctx context.Context, r *runner) outcome {
		if r.config.Limited == nil {
			return unchecked("the config has no limited user")
		}
		return r.actLimited(ctx, r.config.credentials(*r.config.Limited))
	},
}

func (r *runner) actLimited(ctx context.Context, credentials map[string][]byte) outcome {
	limited, err := newWitness(credentials)
	if err != nil {
		return unchecked("%v", err)
	}
	defer limited.close(context.WithoutCancel(ctx))
	seen := map[string]string{"privileges at the root folder": limited.privileges(ctx, r.config.Limited.Username)}
	rootView := limited.rootView(ctx)
	account, err := newOurs(ctx, credentials, r.times.poll)
	if err != nil {
		return unchecked("%v", err)
	}
	r.accounts = append(r.accounts, account) // for the removal at the end, should the one here fail
	if _, err := account.Server(ctx, cloud.Key{}); err != nil {
		return outcome{doesNot, fmt.Sprintf("login: %v", err), seen}
	}
	synced := poll(ctx, r.times.poll, r.times.settle, func(context.Context) (bool, error) { return account.Health().Synced, nil })
	found := []string{
		require(rootView == nil, "the view at the root folder is refused: %v", rootView),
		require(synced == nil, "the watch does not tell of all VMs: %v", account.whyUnwatched()),
	}
	m, err := r.newMachine(byLimited, account, nil)
	if err != nil {
		return unchecked("%v", err)
	}
	if err := m.make(ctx, r.times); err != nil {
		return decide(seen, "", append(found, fmt.Sprintf("the VM could not be made: %v", err))...)
	}
	seen["seconds to make a VM"] = strconv.Itoa(int(m.took.Seconds()))
	err = m.remove(ctx, r.times.poll)
	return decide(seen, "the role is enough", append(found, require(err == nil, "the VM could not be removed: %v", err))...)
}

func (w *witness) rootView(ctx context.Context) error {
	_, err := ask(ctx, w, func(ctx context.Context, c *vim25.Client) (bool, error) {
		view, err := methods.CreateContainerView(ctx, c, allVMs(c))
		if err == nil {
			_, err = methods.DestroyView(ctx, c, &types.DestroyView{This: view.Returnval})
		}
		return err == nil, err
	})
	return err
}

// privileges counts those that a user has at the root folder: a limited one has few.
func (w *witness) privileges(ctx context.Context, name string) string {
	found, err := ask(ctx, w, func(ctx context.Context, c *vim25.Client) ([]types.UserPrivilegeResult, error) {
		refs := []types.ManagedObjectReference{c.ServiceContent.RootFolder}
		return object.NewAuthorizationManager(c).FetchUserPrivilegeOnEntities(ctx, refs, name)
	})
	if err != nil || len(found) == 0 {
		return fmt.Sprintf("not known: %v", err)
	}
	return strconv.Itoa(len(found[0].Privileges))
}
