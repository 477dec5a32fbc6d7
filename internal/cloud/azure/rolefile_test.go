package azure

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// roleFile reads the role that docs/install-azure.md gives to an identity.
func roleFile(t *testing.T) (actions []string) {
	t.Helper()
	var role struct {
		Name, Description                string
		IsCustom                         bool
		Actions, DataActions, NotActions []string
		NotDataActions, AssignableScopes []string
	}
	expect.OK(t, json.Unmarshal(expect.Got(os.ReadFile("../../../config/azure/role.json"))(t), &role))
	if !role.IsCustom || role.Name == "" || len(role.NotActions)+len(role.DataActions)+len(role.NotDataActions) > 0 ||
		!slices.Equal(role.AssignableScopes, []string{"/subscriptions/00000000-0000-0000-0000-000000000000"}) {
		t.Errorf("config/azure/role.json is %+v, want a custom role with nothing but actions, for a subscription to be filled in", role)
	}
	return role.Actions
}

// TestRoleFile: the file has the actions of the page for what the flavors make and what checks it, and no others.
func TestRoleFile(t *testing.T) {
	want := actionsFor(t, "always", "`clusterctl windows check azure`", "`bootDiagnostics`, unless Disabled",
		"an AzureCluster, `loadBalancerPoolIDs`", "`image.id`", "`image.id`, `image.computeGallery`")
	slices.Sort(want)
	expect.Same(t, "actions of config/azure/role.json", want, roleFile(t))
}

// TestRoleFileIsEnough: with the role, in the subscription, machines live, their boot logs can be read, and the check finds
// nothing to warn of. No action of the role is left over.
func TestRoleFileIsEnough(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	actions := roleFile(t)
	s.Change(func(in *armsim.Inside) {
		in.Rights.Revoke(armsim.ObjectID)
		in.Rights.Grant(armsim.ObjectID, "/subscriptions/"+armsim.Subscription, actions...)
	})
	a := s.watched()
	told, missing := s.life(a)
	if len(missing) > 0 {
		t.Errorf("with the role, this does not come about: %q; it was told %v", missing, told)
	}
	_, signed := a.calls.SignBootLog(t.Context(), homeOf(s.machine("runs")))
	expect.OK(t, signed.Err())
	for n, image := range []infrav1.AzureImage{
		{Marketplace: marketplace},
		{ID: armsim.ManagedImage},
		{ID: armsim.GalleryImage + "/versions/1.36.3"},
		{CommunityGallery: infrav1.AzureCommunityImage{
			Gallery: "ClusterAPI-f72ceb4f", Name: "capi-win-2022-containerd", Version: "1.36.3",
		}},
	} {
		m := s.machine(fmt.Sprintf("m-%d", n))
		m.Spec.Azure.Image = image
		m.Spec.Azure.NetworkInterfaces[0].LoadBalancerPoolIDs = []string{armsim.PoolID} // as an AzureCluster has
		found := expect.Got(Provider{login: s.login}.Inspect(t.Context(), s.credentials(), Pool{Spec: m.Spec.Azure}))(t)
		for _, f := range found {
			if f.Result != cloud.CheckOK && f.Result != cloud.CheckSkipped {
				t.Errorf("with the role, the check of %+v says: %s: %s", image, f.Check, f.Text)
			}
		}
		expect.Same(t, "Azure makes a VM with the role", true, s.made(m))
	}
	var used []string
	s.Change(func(in *armsim.Inside) { used = in.Rights.Used(armsim.ObjectID) })
	for _, action := range actions {
		if !slices.ContainsFunc(used, func(u string) bool { return strings.EqualFold(u, action) }) {
			t.Errorf("nothing takes the action %s", action)
		}
	}
}
