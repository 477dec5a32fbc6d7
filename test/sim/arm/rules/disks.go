package rules

import (
	"net/http"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// diskRules are about the disks of a VM.
var diskRules = []Rule{
	{"disk names", func(r Request) *reply.Error {
		for _, d := range diskNames(doc.Of(r.Body, "properties")) {
			if name := doc.Text(d, "name"); name != "" {
				if refused := named("dataDisk.name", name); refused != nil {
					return refused
				}
			}
		}
		return nil
	}},
	again("disk name twice", "dataDisk.name", diskNames, "name", "A disk named '%v' already exists."),
	again("LUN twice", "dataDisk.lun", func(p doc.Object) []doc.Object { return doc.List(p, "storageProfile", "dataDisks") }, "lun",
		"A disk at LUN %v already exists."),
	{"blob disks of an image", func(r Request) *reply.Error {
		p := doc.Of(r.Body, "properties")
		if doc.Has(p, "storageProfile", "imageReference", "id") && blobs(diskNames(p)) > 0 {
			return reply.New(http.StatusConflict, "OperationNotAllowed",
				"VM created from Image cannot have blob based disks. All disks have to be managed disks.") // [D]
		}
		return nil
	}},
	{"blob disks beside managed ones", func(r Request) *reply.Error {
		p := doc.Of(r.Body, "properties")
		if n := blobs(diskNames(p)); n > 0 && n < len(diskNames(p)) {
			return reply.New(http.StatusConflict, "OperationNotAllowed",
				"Addition of a blob based disk to VM with managed disks is not supported.") // [D]
		}
		return nil
	}},
	{"subscription of a disk", func(r Request) *reply.Error {
		for _, d := range diskNames(doc.Of(r.Body, "properties")) {
			id, ok := doc.ParseID(doc.Text(d, "managedDisk", "id"))
			if ok && !doc.Same(id.Subscription, r.ID.Subscription) {
				return reply.InvalidParameter("managedDisk.id", "Subscription %s of the request must match the subscription %s contained "+
					"in the managed disk id.", r.ID.Subscription, id.Subscription) // [D]
			}
		}
		return nil
	}},
	{"detached by force alone", eachDisk(func(d doc.Object) *reply.Error { // [D the reference of detachOption]
		if doc.Has(d, "detachOption") && !doc.Flag(d, "toBeDetached") {
			return reply.InvalidParameter("dataDisk.detachOption", "Parameter 'dataDisk.detachOption' is allowed only when "+
				"'toBeDetached' is set to true.")
		}
		return nil
	})},
	rule("ephemeral kept", "osDisk.deleteOption", func(p doc.Object) bool { // [D the reference of deleteOption]
		return ephemeral(p) && doc.Text(p, "storageProfile", "osDisk", "deleteOption") == "Detach"
	}, "The delete option of an ephemeral OS disk is Delete and cannot be changed."),
	rule("guest's key without guest's encryption", "osDisk.managedDisk.securityProfile.diskEncryptionSet", func(p doc.Object) bool {
		// [D the reference of VMDiskSecurityProfile]
		return doc.Has(p, "storageProfile", "osDisk", "managedDisk", "securityProfile", "diskEncryptionSet") &&
			encryption(p) != "DiskWithVMGuestState"
	}, "A disk encryption set in the security profile of a disk requires securityEncryptionType DiskWithVMGuestState."),
}

// again refuses two objects of a list with the same value.
func again(name, target string, of func(doc.Object) []doc.Object, field, sentence string) Rule {
	return Rule{Name: name, Check: func(r Request) *reply.Error {
		seen := map[any]bool{}
		for _, o := range of(doc.Of(r.Body, "properties")) {
			v := o[field]
			if v != nil && seen[v] {
				return reply.InvalidParameter(target, sentence, v)
			}
			seen[v] = true
		}
		return nil
	}}
}

func blobs(disks []doc.Object) (n int) {
	for _, d := range disks {
		if doc.Has(d, "vhd") {
			n++
		}
	}
	return n
}

func diskNames(p doc.Object) []doc.Object {
	all := doc.List(p, "storageProfile", "dataDisks")
	if os := doc.Of(p, "storageProfile", "osDisk"); os != nil {
		all = append(all, os)
	}
	return all
}

// ofDisk are the rules of the PUT of a disk alone, as far as the simulator knows it [D Disks - Create Or Update].
var ofDisk = slices.Concat(front, frontVM, []Rule{
	{"disk name", func(r Request) *reply.Error { return named("disk.name", r.ID.Name()) }},
	{"creation data", func(r Request) *reply.Error {
		if r.Create && doc.Text(r.Body, "properties", "creationData", "createOption") != "Empty" {
			return reply.InvalidParameter("disk.creationData.createOption", "Only empty disks are made alone in this simulator.")
		}
		return nil
	}},
	{"disk.diskSizeGB", func(r Request) *reply.Error {
		if r.Create && !doc.Has(r.Body, "properties", "diskSizeGB") {
			return reply.InvalidParameter("disk.diskSizeGB", "Required parameter 'disk.diskSizeGB' is missing (null).")
		}
		return sized("disk.diskSizeGB", doc.Of(r.Body, "properties"), largestDataDisk)
	}},
})

// CheckDisk returns the first rule's refusal.
func CheckDisk(r Request) *reply.Error { return check(ofDisk, r) }
