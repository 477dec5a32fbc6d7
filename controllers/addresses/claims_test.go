package addresses

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// ofPools has an adapter with two pools, one by DHCP, and one with a pool.
func ofPools() *infrav1.WindowsMachine {
	pool := func(name string) infrav1.IPPoolReference {
		return infrav1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: name}
	}
	return &infrav1.WindowsMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "win", UID: "uid-1",
			Labels: map[string]string{clusterv1.WatchLabel: "mine"},
		},
		Spec: infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{NetworkInterfaces: []infrav1.VSphereNetworkInterface{
			{Name: "node", Network: "nodes", AddressesFromPools: []infrav1.IPPoolReference{pool("four"), pool("six")}},
			{Name: "other", Network: "other"},
			{Name: "storage", Network: "storage", AddressesFromPools: []infrav1.IPPoolReference{pool("storage")}},
		}}},
	}
}

var blue = &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "blue"}}

func TestClaimsOf(t *testing.T) {
	windows := ofPools()
	var got []string
	for _, claim := range claimsOf(windows, blue) {
		got = append(got, fmt.Sprintf("%s/%s of %s for %s", claim.Namespace, claim.Name, claim.Spec.PoolRef.Name,
			claim.Spec.ClusterName))
		want := map[string]string{clusterv1.ClusterNameLabel: "blue", clusterv1.WatchLabel: "mine"}
		expect.Same(t, "labels of "+claim.Name, want, claim.Labels)
		pool := ipamv1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: claim.Spec.PoolRef.Name}
		expect.Same(t, "pool of "+claim.Name, pool, claim.Spec.PoolRef)
		if !metav1.IsControlledBy(claim, windows) || !*claim.OwnerReferences[0].BlockOwnerDeletion {
			t.Errorf("%s is owned by %+v", claim.Name, claim.OwnerReferences)
		}
	}
	want := []string{"team-a/win-0-0 of four for blue", "team-a/win-0-1 of six for blue", "team-a/win-2-0 of storage for blue"}
	expect.Same(t, "claims", want, got)
	windows.Spec.VSphere = nil
	if claims := claimsOf(windows, blue); claims != nil {
		t.Errorf("a machine of another cloud claims %v", claims)
	}
}

func TestWaitsForAddress(t *testing.T) {
	const reason = infrav1.WaitingForIPAddressReason
	windows := ofPools()
	fresh := phase.Poll(reason, "IPAddressClaim win-0-0 was created a moment ago; waiting for it to appear in the cache")
	foreign := phase.Poll(reason,
		"IPAddressClaim win-0-0 is being deleted or has another owner; when it is gone, this machine creates its own")
	empty := "IPAddressClaim win-0-0 has no address of InClusterIPPool four yet"
	exhausted := metav1.Condition{
		Type: ipamv1.IPAddressClaimReadyCondition, Status: metav1.ConditionFalse,
		Reason: ipamv1.IPAddressClaimReadyPoolExhaustedReason, Message: "no address is free",
	}
	ready := exhausted
	ready.Status = metav1.ConditionTrue
	given := func(c *ipamv1.IPAddressClaim) { c.Status.AddressRef.Name = "win-0-0" }
	for name, c := range map[string]struct {
		change func(*ipamv1.IPAddressClaim)
		want   error
	}{
		"given":                 {given, nil},
		"new":                   {func(*ipamv1.IPAddressClaim) {}, phase.Wait(phase.Claim, reason, "%s", empty)},
		"not seen yet":          {func(c *ipamv1.IPAddressClaim) { c.UID = "" }, fresh},
		"of an earlier machine": {func(c *ipamv1.IPAddressClaim) { given(c); c.OwnerReferences[0].UID = "uid-0" }, foreign},
		"going":                 {func(c *ipamv1.IPAddressClaim) { given(c); c.DeletionTimestamp = new(metav1.Now()) }, foreign},
		"ready, and not given": {
			func(c *ipamv1.IPAddressClaim) { c.Status.Conditions = []metav1.Condition{ready} },
			phase.Wait(phase.Claim, reason, "%s", empty),
		},
		"used up": {
			func(c *ipamv1.IPAddressClaim) { c.Status.Conditions = []metav1.Condition{exhausted} },
			phase.Wait(phase.Claim, reason, "%s: PoolExhausted no address is free", empty),
		},
	} {
		claim := claimsOf(windows, blue)[0]
		claim.UID = "claim-1"
		c.change(claim)
		expect.Same(t, name, phase.Of(c.want), phase.Of(waitsForAddress(windows, claim)))
	}
}
