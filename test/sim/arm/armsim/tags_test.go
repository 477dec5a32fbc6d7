package armsim_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

const groups = "/subscriptions/" + armsim.Subscription + "/resourceGroups/"

func diskID(name string) doc.ID {
	return doc.Resource(armsim.Subscription, armsim.Group, "Microsoft.Compute", "disks", name)
}

// Somebody changes the tags of a resource, with az tag update or with a helper.
func TestTagsOfAResource(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm")
	vm := armsim.VMID("vm")
	path := vm.String() + "/providers/Microsoft.Resources/tags/default"
	patch := func(operation string, tags doc.Object) answer {
		t.Helper()
		return h.do(t, http.MethodPatch, path, doc.Object{"operation": operation, "properties": doc.Object{"tags": tags}})
	}
	equal(t, patch("Merge", doc.Object{"Capwin-Owner": "b", "more": "x"}).status, http.StatusOK)
	equal(t, c.Tags(vm), map[string]string{"capwin-owner": "b", "more": "x"})
	equal(t, patch("Delete", doc.Object{"MORE": "other"}).status, http.StatusOK)
	equal(t, len(c.Tags(vm)), 2)
	patch("Delete", doc.Object{"MORE": ""})
	equal(t, c.Tags(vm), map[string]string{"capwin-owner": "b"})
	other := doc.Object{"costcenter": "4711"}
	equal(t, patch("Replace", other).body["properties"], any(doc.Object{"tags": other}))
	equal(t, doc.Of(h.get(t, vm.String()).body, "tags"), other)
	patch("Change", nil).refused(t, http.StatusBadRequest, "InvalidTagPatchOperation", "'Change'")
	equal(t, h.do(t, http.MethodDelete, path, nil).status, http.StatusOK)
	equal(t, h.get(t, path).body["properties"], any(doc.Object{"tags": doc.Object{}}))
	h.get(t, strings.Replace(path, "/vm/", "/other/", 1)).refused(t, http.StatusNotFound, "ResourceNotFound", "other")
	c.Change(func(w *armsim.Inside) { w.Rights.Revoke(armsim.ObjectID) })
	patch("Replace", nil).refused(t, http.StatusForbidden, "AuthorizationFailed", "Microsoft.Resources/tags/write")
}

// The helpers change tags of whatever there is; foreign resources may have any name and the tags of ours.
func TestTagsByHand(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm")
	vm := armsim.VMID("vm")
	for _, id := range []doc.ID{
		diskID("vm-os-2"), doc.Resource(armsim.Subscription, armsim.Group, network.Provider, "networkInterfaces", "vm-x"),
		doc.Resource(armsim.Subscription, armsim.Group, network.Provider, "publicIPAddresses", "vm-y"),
	} {
		c.AddForeign(id, map[string]string{"own": "1"})
		c.CopyTags(vm, id)
		equal(t, c.Tags(id), map[string]string{"own": "1", "capwin-owner": "default/vm"})
		c.RemoveTags(id, "OWN")
		c.MergeTags(id, map[string]string{"capwin-owner": "c"})
		equal(t, c.Tags(id), map[string]string{"capwin-owner": "c"})
		c.ReplaceTags(id, nil)
		shown := h.get(t, id.String())
		equal(t, shown.status, http.StatusOK)
		equal(t, shown.body["tags"], nil)
		equal(t, doc.Text(shown.body, "properties", "provisioningState"), "Succeeded")
		equal(t, len(c.UniqueID(id)), 36)
		equal(t, h.do(t, http.MethodDelete, id.String(), nil).status, http.StatusAccepted)
		c.Advance(time.Minute)
		equal(t, h.get(t, id.String()).status, http.StatusNotFound)
	}
	equal(t, slices.Contains(c.Names(armsim.Group, compute.VM), "vm"), true)
}
