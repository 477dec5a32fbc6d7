package armsim_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/network"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/world"
)

const (
	ofSubscription = "/subscriptions/" + armsim.Subscription
	groups         = ofSubscription + "/resourceGroups/"
	listRight      = "Microsoft.Resources/subscriptions/resources/read"
)

func diskID(group, name string) doc.ID {
	return doc.Resource(armsim.Subscription, group, "Microsoft.Compute", "disks", name)
}

func byTag(name, value string) string {
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	filter := "tagName eq " + quote(name) + " and tagValue eq " + quote(value)
	return ofSubscription + "/resources?api-version=2021-04-01&$filter=" + url.QueryEscape(filter)
}

// found are the ids of all pages, after the subscription.
func (h byHand) found(t *testing.T, path string) []string {
	t.Helper()
	all := []string{}
	for path != "" {
		a := h.get(t, path)
		equal(t, a.status, http.StatusOK)
		for _, r := range doc.List(a.body, "value") {
			if r["name"] == "" || r["type"] == "" || r["location"] != armsim.Location || r["tags"] != nil {
				t.Errorf("the list shows %v", r)
			}
			all = append(all, strings.TrimPrefix(doc.Text(r, "id"), groups))
		}
		path = strings.TrimPrefix(doc.Text(a.body, "nextLink"), h.cloud.Endpoint())
	}
	slices.Sort(all)
	return all
}

// ARM lists resources of all types and groups by a tag: the name of a tag in any case, its value as it is, a quote doubled.
func TestResourcesByTag(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm", withPublicAddress)
	c.Advance(10 * time.Minute)
	mine := map[string]string{"capwin-machine": "it's mine"}
	for _, id := range ids(t, c) {
		c.MergeTags(id, mine)
	}
	c.AddForeign(diskID(armsim.NetworkGroup, "spare"), map[string]string{"CAPWIN-Machine": "it's mine"})
	c.AddForeign(diskID(armsim.NetworkGroup, "other"), map[string]string{"capwin-machine": "It's mine"})
	c.Change(func(w *armsim.Inside) { w.Faults.PageSize = 2 })
	c.Forget()
	all := h.found(t, byTag("capwin-machine", "it's mine"))
	equal(t, len(all), 5)
	equal(t, all[0], armsim.NetworkGroup+"/providers/Microsoft.Compute/disks/spare")
	equal(t, c.ByClass(), map[string]int{"GET resource list": 3})
	name := ofSubscription + "/resources?api-version=2021-04-01&$filter=" + url.QueryEscape("tagName eq 'capwin-machine'")
	equal(t, len(h.found(t, name)), 6)
	equal(t, h.found(t, byTag("capwin-machine", "mine")), []string{})
	h.get(t, ofSubscription+"/resources?$filter="+url.QueryEscape("tagName eq 'a' and resourceType eq 'b'")).
		refused(t, http.StatusBadRequest, "InvalidFilterInQueryString", "Invalid $filter")
	plain := h.get(t, ofSubscription+"/resources")
	equal(t, len(doc.List(plain.body, "value")), 2)
}

// A caller sees what his roles let him read: all of a group for a role there. Without the right anywhere he is refused.
func TestResourcesByTagAndRights(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	tags := map[string]string{"capwin-machine": "m"}
	for _, group := range []string{armsim.Group, armsim.NetworkGroup} {
		c.AddForeign(diskID(group, "d"), tags)
	}
	const disk = "/providers/Microsoft.Compute/disks/d"
	all := []string{armsim.NetworkGroup + disk, armsim.Group + disk}
	for name, role := range map[string]struct {
		scope, action string
		sees          []string
	}{
		"at the subscription":           {ofSubscription, listRight, all},
		"reader of the subscription":    {ofSubscription, "*/read", all},
		"at one group":                  {groups + armsim.Group, listRight, all[1:]},
		"at a group with none of them":  {groups + "empty", listRight, []string{}},
		"at one resource":               {diskID(armsim.NetworkGroup, "d").String(), listRight, all[:1]},
		"of disks, not of resources":    {ofSubscription, "Microsoft.Compute/disks/read", nil},
		"without any right there is no": {"/subscriptions/other", "*", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.Change(func(w *armsim.Inside) {
				w.Rights.Revoke(armsim.ObjectID)
				w.Rights.Grant(armsim.ObjectID, role.scope, role.action)
			})
			if role.sees == nil {
				h.get(t, byTag("capwin-machine", "m")).refused(t, http.StatusForbidden, "AuthorizationFailed", listRight)
				return
			}
			equal(t, h.found(t, byTag("capwin-machine", "m")), role.sees)
			c.Change(func(w *armsim.Inside) { equal(t, w.Rights.Used(armsim.ObjectID)[0], listRight) })
		})
	}
}

// The list is as late as other lists.
func TestResourcesByTagAreLate(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	c.Change(func(w *armsim.Inside) { w.World.Lag = world.Lag{List: time.Minute} })
	disk := diskID(armsim.Group, "d")
	c.AddForeign(disk, map[string]string{"capwin-machine": "m"})
	seen := func() int { return len(h.found(t, byTag("capwin-machine", "m"))) }
	equal(t, seen(), 0)
	c.Advance(time.Minute)
	equal(t, seen(), 1)
	c.Vanish(disk)
	equal(t, seen(), 1)
	c.Advance(time.Minute)
	equal(t, seen(), 0)
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
		diskID(armsim.Group, "vm-os-2"), doc.Resource(armsim.Subscription, armsim.Group, network.Provider, "networkInterfaces", "vm-x"),
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
