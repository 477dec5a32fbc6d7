package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// atServer is a machine with what counts of it at this account's server. The ledger follows what another account has written.
func (a *account) atServer(m cloud.Machine) cloud.Machine {
	m.Record = m.Record.GivenBy(a.server())
	w, vmID := a.ledger.recall(m), arm.UUID(m.Record.Azure.VMID)
	if vmID != "" && w.record != nil && vmID != arm.UUID(w.record.VMID) && !slices.Contains(w.vmIDs, vmID) {
		a.ledger.note(m, a.now(), (*work).yield)
	}
	return m
}

// knownOf is what is known of the machine's VM by Azure's own IDs: what this account learned, or else what the status has. What
// another account has learned since was taken over from the status before.
func knownOf(m cloud.Machine, w work) infrav1.AzureRecord {
	record := m.Record.Azure
	if w.record != nil {
		record = *w.record
	}
	record.VMID = arm.UUID(record.VMID)
	return record
}

// withRecord adds to the report on a VM the record that is to be kept. It adds nothing if nothing is known at this server: the
// status may have the record of another one.
func (p *pursuit) withRecord(vm cloud.VM) cloud.VM {
	w := p.recall()
	if w.record == nil && p.m.Record.Azure.Server == "" {
		return vm
	}
	record := knownOf(p.m, w)
	record.Server = p.server()
	vm.Record = &cloud.Record{Azure: record}
	return vm
}

// withNews does so for an error, but adds no record that is known already.
func (p *pursuit) withNews(vm cloud.VM) cloud.VM {
	got := p.withRecord(vm)
	if got.Record != nil && equality.Semantic.DeepEqual(*got.Record, p.m.Record) {
		return vm
	}
	return got
}

// leaving reports whether the VM is on its way out, to be followed by another one.
func (w work) leaving() bool { return w.forgot && w.Delete.Sent.After(w.Put.Sent) }

// wasRemoved reports whether Azure accepted our deletion of the VM, and no later request may have made another.
func (w work) wasRemoved(record infrav1.AzureRecord) bool {
	return w.removed || record.Deletion == infrav1.DeletionAccepted
}

// accept notes that Azure accepted our deletion.
func (w *work) accept(m cloud.Machine) {
	record := knownOf(m, *w)
	record.Deletion = infrav1.DeletionAccepted
	w.record, w.removed = &record, true
}

// forget has another VM follow the one that is gone, which had these adapters. What belonged to it is of a try that failed.
func (w *work) forget(m cloud.Machine, record infrav1.AzureRecord, adapters []string) {
	for _, kind := range []string{belongings.Disk, belongings.Adapter, belongings.PublicIP} {
		for _, entry := range *belongings.Entries(&record, kind) {
			w.fail(m, kind, entry.Name, entry.UniqueID)
		}
	}
	for _, key := range adapters { // Azure made up the end of their names, so nothing else has them
		if id, ok := arm.Parse(key); ok {
			w.fail(m, belongings.Adapter, id.Name(), key)
		}
	}
	record.VMID, record.Deletion = "", ""
	w.record, w.forgot = &record, true
}

// fail notes that something is of a request that failed, by Azure's own ID of it; but not an adapter that was made before the VM.
// It has exactly the name that we gave, and the next VM takes it.
func (w *work) fail(m cloud.Machine, kind, name, id string) {
	failed := map[string]bool{}
	maps.Copy(failed, w.failed) // copies of the work have the other one
	w.failed = failed
	if kind != belongings.Adapter || !slices.Contains(belongings.Names(m), strings.ToLower(name)) {
		failed[id] = true
	}
}

// leftOf is what to look for by hand when a machine goes whose VM no deletion of ours ended: it may run where this account sees
// nothing. It is empty if there was no VM and nobody may have asked for one.
func leftOf(m cloud.Machine, w work) string {
	record := knownOf(m, w)
	asked := w.Put.Answer == next.Accepted || w.Put.Answer == next.Lost || !w.Lost.IsZero() || w.existed || record.VMID != ""
	if w.wasRemoved(record) || m.Asked == cloud.NeverAsked && !asked {
		return ""
	}
	id := ""
	if record.VMID != "" {
		id = ", to which Azure gave the ID " + record.VMID
	}
	return fmt.Sprintf("Azure has no VM %q in the resource group %q any more%s, but no deletion by the controller removed it: if "+
		"it may run elsewhere, look for a VM of that name in other resource groups and subscriptions, and for disks and network "+
		"interfaces with the tag capwin-providerid=%s", m.Name, homeOf(m).Group, id, m.ProviderID)
}

// rest are the remnants of requests that Azure has refused, or ended as failed, in this process: they may have made some of what
// was asked for. What may belong to the last request does not count, as long as its VM does not show what it has; nor does what
// the record has already: that was seen with the VM, and people detach disks. All marks must be there, with the UID of our
// management cluster, and the machine must have a claim to what has its identity.
func (w work) rest(in *lists.State, m cloud.Machine, r *lists.Record) (parts []lists.Part) {
	failed := w.Put.Answer == next.Refused || w.failed != nil
	if !failed || w.Put.Answer == next.Accepted && r == nil {
		return nil
	}
	record := knownOf(m, w)
	for _, remnant := range in.Remnants {
		marked := arm.Belongs(m, remnant.Mark) && lists.IsOurs(remnant.Mark, m.Cluster.Manager) && belongings.Fits(remnant.ID, m)
		accounted := w.separate.contains(remnant.ID) || r.Owns(remnant.ID) || belongings.Recorded(record, remnant.ID, remnant.UniqueID)
		if marked && !accounted && w.claims(m, belongings.KindOf(remnant.ID)) {
			parts = append(parts, lists.Part{ID: remnant.ID, UniqueID: remnant.UniqueID})
		}
	}
	return parts
}

// claims reports whether what has a machine's identity and marks, and no VM, may be what its own requests left. We rely on the
// API server, which chose the UID in an identity of the machine's own; or on the owning Machine, which users may write: with it,
// who can write all marks may have them removed, too. A machine whose VM was proved in another way, such as by its data or by the
// operator, asked in its place. It may have lost the record of a disk that people detached, so no disk counts.
func (w work) claims(m cloud.Machine, kind string) bool {
	return m.Own || m.Vouched || w.existed && kind != belongings.Disk
}
