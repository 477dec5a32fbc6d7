// Package belongings has the names of what is made with a VM, and reads and writes what a machine's record holds of it by Azure's
// own IDs. It calls nothing and remembers nothing.
package belongings

import (
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// The kinds of what belongs to VMs.
const (
	Disk     = "disk"
	Adapter  = "network interface"
	PublicIP = "public IP address"
)

// KindOf is the kind of a resource.
func KindOf(id arm.ID) string {
	switch {
	case id.HasType(arm.DiskType):
		return Disk
	case id.HasType(arm.PublicIPType):
		return PublicIP
	}
	return Adapter
}

// Entries are those of a record for a kind of resource.
func Entries(record *infrav1.AzureRecord, kind string) *[]infrav1.AzureResource {
	switch kind {
	case Disk:
		return &record.Disks
	case PublicIP:
		return &record.PublicIPAddresses
	}
	return &record.NetworkInterfaces
}

// Fits reports whether a resource has a name which we, or Azure, give to what is made with the machine's VM. Azure adds a suffix
// to the names of adapters and public IPs. Names prove nothing: anybody may give them.
func Fits(id arm.ID, m cloud.Machine) bool {
	lower := strings.ToLower(id.Name())
	return slices.ContainsFunc(Names(m), func(name string) bool {
		return lower == name || KindOf(id) != Disk && strings.HasPrefix(lower, name+"-")
	})
}

// Names are the names of what is made with a machine's VM.
func Names(m cloud.Machine) []string {
	names := []string{request.SystemDisk(m.Name)}
	if m.Spec.Azure != nil {
		for _, disk := range m.Spec.Azure.DataDisks {
			names = append(names, request.DataDisk(m.Name, disk.Name))
		}
		for i := range max(1, len(m.Spec.Azure.NetworkInterfaces)) {
			names = append(names, request.AdapterName(m, i))
		}
	}
	for i, name := range names {
		names[i] = strings.ToLower(name)
	}
	return names
}

// Recorded reports whether a record has a resource, by Azure's own ID of it.
func Recorded(record infrav1.AzureRecord, id arm.ID, uniqueID string) bool {
	return uniqueID != "" && slices.ContainsFunc(*Entries(&record, KindOf(id)), func(entry infrav1.AzureResource) bool {
		return strings.EqualFold(entry.Name, id.Name()) && entry.UniqueID == uniqueID
	})
}

// What a record holds of each kind; the API takes no more. MaxDisks is more than the largest size of Azure has.
const (
	MaxDisks = 72
	maxOther = 16
)

// Add adds what belongs to the VM, if it is ours by name: people attach disks of their own.
func Add(record infrav1.AzureRecord, m cloud.Machine, id arm.ID, uniqueID string) infrav1.AzureRecord {
	if uniqueID == "" || !Fits(id, m) || Recorded(record, id, uniqueID) {
		return record
	}
	entries, limit := Entries(&record, KindOf(id)), maxOther
	if KindOf(id) == Disk {
		limit = MaxDisks
	}
	*entries = slices.DeleteFunc(slices.Clone(*entries), func(entry infrav1.AzureResource) bool { return entry.Name == id.Name() })
	*entries = append(*entries, infrav1.AzureResource{Name: id.Name(), UniqueID: uniqueID})
	if len(*entries) > limit {
		*entries = (*entries)[len(*entries)-limit:]
	}
	return record
}
