package armsim_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

func manyTags(n int) doc.Object {
	all := doc.Object{}
	for i := range n {
		all[fmt.Sprintf("tag-%d", i)] = "x"
	}
	return all
}

// Tags at Azure's limits are taken, by whatever call they come, and tags beyond them are refused.
func TestTagsAtTheirLimits(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	inline := func(b doc.Object) doc.Object {
		return doc.List(b, "properties", "networkProfile", "networkInterfaceConfigurations")[0]
	}
	disk := doc.Object{"location": armsim.Location, "properties": doc.Object{
		"creationData": doc.Object{"createOption": "Empty"}, "diskSizeGB": 4.0,
	}}
	n := 0
	puts := map[string]func(doc.Object) answer{
		"VM": func(tags doc.Object) answer {
			return h.put(t, fmt.Sprintf("vm-%d", n), func(b doc.Object) { b["tags"] = tags })
		},
		"inline NIC": func(tags doc.Object) answer {
			return h.put(t, fmt.Sprintf("vm-%d", n), func(b doc.Object) { inline(b)["tags"] = tags })
		},
		"public address": func(tags doc.Object) answer {
			return h.put(t, fmt.Sprintf("vm-%d", n), withPublicAddress, func(b doc.Object) {
				ip := doc.List(inline(b), "properties", "ipConfigurations")[0]
				doc.Set(ip, tags, "properties", "publicIPAddressConfiguration", "tags")
			})
		},
		"NIC": func(tags doc.Object) answer {
			b := staticNIC(fmt.Sprintf("10.1.5.%d", n))
			b["tags"] = tags
			return h.do(t, http.MethodPut, nicID(fmt.Sprintf("nic-%d", n)), b)
		},
		"disk": func(tags doc.Object) answer {
			disk["tags"] = tags
			return h.do(t, http.MethodPut, diskID(fmt.Sprintf("disk-%d", n)).String(), disk)
		},
		"tags of a disk": func(tags doc.Object) answer {
			c.AddForeign(diskID("d"), nil)
			return h.do(t, http.MethodPut, diskID("d").String()+"/providers/Microsoft.Resources/tags/default",
				doc.Object{"properties": doc.Object{"tags": tags}})
		},
	}
	for name, put := range puts {
		t.Run(name, func(t *testing.T) {
			for _, at := range []doc.Object{manyTags(50), {strings.Repeat("ä", 512): strings.Repeat("ö", 256)}} {
				n++
				if a := put(at); a.status >= http.StatusBadRequest {
					t.Errorf("%d %s %s", a.status, a.code(), a.message())
				}
			}
			for code, beyond := range map[string]doc.Object{
				"TagsLimitExceeded": manyTags(51), "InvalidTagName": {strings.Repeat("ä", 513): ""},
				"InvalidTagValueLength": {"a": strings.Repeat("ö", 257)},
			} {
				n++
				put(beyond).refused(t, http.StatusBadRequest, code, "")
			}
			c.Advance(10 * time.Minute)
		})
	}
}

// An empty disk may be made alone; a second PUT changes its tags, and it stays the same disk.
func TestDiskAlone(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	id := diskID("alone")
	b := doc.Object{"location": armsim.Location, "tags": doc.Object{"a": "b"}, "properties": doc.Object{
		"creationData": doc.Object{"createOption": "Empty"}, "diskSizeGB": 4.0,
	}}
	a := h.do(t, http.MethodPut, id.String(), b)
	equal(t, a.status, http.StatusAccepted)
	equal(t, doc.Text(h.poll(t, a).body, "status"), "InProgress")
	c.Advance(time.Minute)
	equal(t, doc.Text(h.poll(t, a).body, "status"), "Succeeded")
	unique := c.UniqueID(id)
	b["tags"] = doc.Object{"c": "d"}
	equal(t, h.do(t, http.MethodPut, id.String(), b).status, http.StatusAccepted)
	equal(t, c.Tags(id), map[string]string{"c": "d"})
	equal(t, c.UniqueID(id), unique)
	equal(t, doc.Number(h.get(t, id.String()).body, "properties", "diskSizeGB"), 4)
	doc.Set(b, "Copy", "properties", "creationData", "createOption")
	h.do(t, http.MethodPut, diskID("copy").String(), b).refused(t, http.StatusBadRequest, "InvalidParameter", "empty")
}
