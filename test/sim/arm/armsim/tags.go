package armsim

import (
	"maps"
	"net/http"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rules"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

const tagsOf = "Microsoft.Resources/tags"

// tags is a call about the tags of a resource, as az tag makes it [D learn.microsoft.com/rest/api/resources/tags]: GET shows
// them, PUT replaces all, PATCH merges, replaces or deletes, DELETE takes all away. The right to change them is
// Microsoft.Resources/tags/write [D].
func (in *Inside) tags(q *request) (*answer, *reply.Error) {
	r := in.World.See(q.id)
	if r == nil {
		return nil, reply.ResourceNotFound(q.id.Type(), q.id.Name(), q.id.Group)
	}
	operation := doc.Text(q.body, "operation")
	switch q.Method {
	case http.MethodPut:
		operation = "Replace"
	case http.MethodDelete:
		in.setTags(r, nil)
		return &answer{status: http.StatusOK}, nil
	case http.MethodGet:
		return ok(shownTags(r)), nil
	}
	changed, known := tagsAfter(operation, doc.Of(r.Body, "tags"), doc.Of(q.body, "properties", "tags"))
	if !known {
		return nil, reply.New(http.StatusBadRequest, "InvalidTagPatchOperation", "The tag operation '%s' is not valid. The "+
			"operations are 'Merge', 'Replace' and 'Delete'.", operation) // [I]
	}
	if refused := rules.CheckTags(rules.Request{ID: q.id, Body: doc.Object{"tags": changed}}); refused != nil {
		return nil, refused
	}
	in.setTags(r, changed)
	return ok(shownTags(r)), nil
}

func shownTags(r *world.Resource) doc.Object {
	tags := doc.Clone(doc.Of(r.Body, "tags"))
	if tags == nil {
		tags = doc.Object{}
	}
	return doc.Object{
		"id": r.ID.String() + "/providers/" + tagsOf + "/default", "name": "default", "type": tagsOf,
		"properties": doc.Object{"tags": tags},
	}
}

// tagsAfter are the tags after an operation of a PATCH. Merge adds tags and changes values, Replace puts others in their place,
// Delete takes away those of the same name, and of the same value if one is given [D]. Names are the same in any case [D].
func tagsAfter(operation string, have, sent doc.Object) (after doc.Object, known bool) {
	after = doc.Object{}
	switch operation {
	case "Replace":
		maps.Copy(after, sent)
		return after, true
	case "Merge", "Delete":
	default:
		return nil, false
	}
	maps.Copy(after, have)
	for name, value := range sent {
		there := name
		for old := range after {
			if doc.Same(old, name) {
				there = old
			}
		}
		switch {
		case operation == "Merge":
			after[there] = value
		case value == "" || value == after[there]:
			delete(after, there)
		}
	}
	return after, true
}

func (in *Inside) setTags(r *world.Resource, tags doc.Object) {
	if len(tags) == 0 {
		delete(r.Body, "tags")
	} else {
		r.Body["tags"] = tags
	}
	in.World.Touch(r)
}

// Tags are the tags of a resource, past all lag.
func (c *Cloud) Tags(id doc.ID) map[string]string {
	all := map[string]string{}
	c.Change(func(w *Inside) {
		if r := w.World.Find(id); r != nil {
			for name := range doc.Of(r.Body, "tags") {
				all[name] = doc.Text(r.Body, "tags", name)
			}
		}
	})
	return all
}

// ReplaceTags has somebody put other tags in the place of all tags of a resource: az tag update --operation Replace.
func (c *Cloud) ReplaceTags(id doc.ID, tags map[string]string) { c.changeTags(id, "Replace", tags) }

// MergeTags has somebody add tags or change values: az tag update --operation Merge.
func (c *Cloud) MergeTags(id doc.ID, tags map[string]string) { c.changeTags(id, "Merge", tags) }

// RemoveTags has somebody take tags away: az tag update --operation Delete.
func (c *Cloud) RemoveTags(id doc.ID, names ...string) {
	tags := map[string]string{}
	for _, name := range names {
		tags[name] = ""
	}
	c.changeTags(id, "Delete", tags)
}

// CopyTags has somebody give a resource all tags of another one, beside its own.
func (c *Cloud) CopyTags(from, to doc.ID) { c.MergeTags(to, c.Tags(from)) }

func (c *Cloud) changeTags(id doc.ID, operation string, tags map[string]string) {
	c.Change(func(w *Inside) {
		if r := w.World.Find(id); r != nil {
			after, _ := tagsAfter(operation, doc.Of(r.Body, "tags"), object(tags))
			w.setTags(r, after)
		}
	})
}

func object(texts map[string]string) doc.Object {
	o := doc.Object{}
	for name, value := range texts {
		o[name] = value
	}
	return o
}

// AddForeign has somebody make a resource that belongs to no VM: a disk, a NIC or a public address, of any name and tags. It is
// there at once, and every list shows it after the usual lag.
func (c *Cloud) AddForeign(id doc.ID, tags map[string]string) {
	c.Change(func(w *Inside) {
		if id.Is(compute.Disk) {
			w.Compute.AddDisk(id, Location)
		} else {
			w.Network.Add(id, Location, SubnetID)
		}
		w.setTags(w.World.Find(id), object(tags))
	})
}

// TakeRights takes all role assignments of a principal away; giveBack gives them back. Both count at once: that Azure takes
// minutes for it [D role-based-access-control/troubleshooting] is not played.
func (c *Cloud) TakeRights(object string) (giveBack func()) {
	var restore func()
	c.Change(func(w *Inside) { restore = w.Rights.Suspend(object) })
	return func() { c.Change(func(*Inside) { restore() }) }
}
