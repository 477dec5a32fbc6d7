package azure

import (
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// What a record holds of each kind; the API takes no more.
const (
	maxDisks = 72
	maxOther = 16
)

// knownOf is what is known of the machine's VM by Azure's own IDs: what this process learned, and what the status says.
func knownOf(m cloud.Machine, w work) infrav1.AzureRecord {
	record := m.Record.Azure
	if w.record != nil {
		record = *w.record
	}
	record.VMID = arm.UUID(record.VMID)
	return record
}

// identify says whether the VM that Azure shows is the machine's. Its own ID decides. A VM that is seen with all marks of the
// machine gives it. An answer without an ID leaves it to the marks.
func identify(m cloud.Machine, w work, r vmRecord) (ours, other bool) {
	known, marked := knownOf(m, w).VMID, arm.Belongs(m, r.mark)
	switch {
	case known == "" || r.vmID == "":
		return marked && m.Vouched, false
	default:
		return known == r.vmID, known != r.vmID
	}
}

// learn writes down what is seen of the machine's VM.
func learn(m cloud.Machine, s *scope, r vmRecord, w work) infrav1.AzureRecord {
	record := knownOf(m, w)
	if record.VMID == "" && !w.leaving() {
		record.VMID = r.vmID
	}
	for _, one := range s.parts[r.key] {
		record = withPart(record, m, one)
	}
	return record
}

// leaving says that the VM is on its way out, to be followed by another one.
func (w work) leaving() bool { return w.forgot && w.del.At.After(w.put.At) }

// rest are the remnants of requests that Azure has refused, or ended as failed, in this process: they may have made some of what
// was asked for. What may belong to the last request is none, as long as its VM does not say what it has.
func (s *scope) rest(m cloud.Machine, w work, r *vmRecord) (all []part) {
	failed := w.put.Answer == next.Refused || w.failed != nil
	if !failed || !m.Vouched || w.put.Answer == next.Accepted && r == nil {
		return nil
	}
	for _, one := range s.remnants {
		marked := arm.Belongs(m, one.mark) && isOurs(one.mark, m.Cluster.Manager)
		if marked && fits(one.id, m) && !w.separate.has(one.id) && !r.has(one.id) {
			all = append(all, part{one.id, one.uniqueID})
		}
	}
	return all
}

// withPart adds what belongs to the VM, if it is ours by name: people attach disks of their own.
func withPart(record infrav1.AzureRecord, m cloud.Machine, one part) infrav1.AzureRecord {
	if one.uniqueID == "" || !fits(one.id, m) || recorded(record, one.id, one.uniqueID) {
		return record
	}
	into, most := entries(&record, kindOf(one.id)), maxOther
	if kindOf(one.id) == aDisk {
		most = maxDisks
	}
	*into = slices.DeleteFunc(slices.Clone(*into), func(was infrav1.AzureResource) bool { return was.Name == one.id.Name() })
	*into = append(*into, infrav1.AzureResource{Name: one.id.Name(), UniqueID: one.uniqueID})
	if len(*into) > most {
		*into = (*into)[len(*into)-most:]
	}
	return record
}

// forget has another VM follow the one that is gone, which had these adapters. What belonged to it is of a try that failed.
func (w *work) forget(m cloud.Machine, record infrav1.AzureRecord, adapters []string) {
	for _, kind := range []string{aDisk, anAdapter, aPublicIP} {
		for _, one := range *entries(&record, kind) {
			w.fail(m, kind, one.Name, one.UniqueID)
		}
	}
	for _, key := range adapters { // Azure made up the end of their names, so nothing else has them
		if id, ok := arm.Parse(key); ok {
			w.fail(m, anAdapter, id.Name(), key)
		}
	}
	record.VMID = ""
	w.record, w.forgot = &record, true
}

// fail notes that something is of a request that failed, by Azure's own ID of it; but not an adapter that was made before the VM.
// It has exactly the name that we gave, and the next VM takes it.
func (w *work) fail(m cloud.Machine, kind, name, id string) {
	failed := map[string]bool{}
	maps.Copy(failed, w.failed) // copies of the work have the other one
	w.failed = failed
	if kind != anAdapter || !slices.Contains(namesOf(m), strings.ToLower(name)) {
		failed[id] = true
	}
}
