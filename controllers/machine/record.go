package machine

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// recordOf is what the cloud itself calls the machine's VM, as the status has it.
func recordOf(windows *infrav1.WindowsMachine) (all cloud.Record) {
	all.VSphere = windows.Status.VSphere
	if at := windows.Status.Azure; at != nil {
		all.Azure = at.AzureRecord
	}
	return all
}

// keep writes into the status what the cloud says of itself. A machine that has lost its status and is deleted has no place in
// Azure to write it to.
func keep(windows *infrav1.WindowsMachine, record *cloud.Record) {
	if record == nil {
		return
	}
	windows.Status.VSphere = record.VSphere
	if at := windows.Status.Azure; at != nil {
		at.AzureRecord = record.Azure
	}
}

// proofOf is what is known of the machine that can prove which VM is its own.
func (r *Reconciler) proofOf(f *facts) cloud.Proof {
	proof := cloud.Proof{
		Record: recordOf(f.windows), Own: f.own,
		Vouched: f.machine != nil && f.machine.Spec.ProviderID == f.identity.ProviderID,
	}
	switch {
	case hadVM(f):
		proof.Asked = cloud.Existed
	case r.firsts.has(f.windows, f.cloud):
		proof.Asked = cloud.NeverAsked
	}
	return proof
}

// isOwn says that the machine's identity follows from the object's own name and UID, as the controllers make it. A user may write
// any identity into the spec of a new object.
func isOwn(f *facts, by cloud.Provider) bool {
	own := f.windows.DeepCopy()
	own.Spec.ProviderID = ""
	identity, err := by.Identify(own)
	return err == nil && identity == f.identity
}

// leave tells of what looks like the machine's in the cloud and stays there, because nothing proves it.
func (r *Reconciler) leave(f *facts, orphans []string) {
	if len(orphans) > 0 {
		r.Events.Eventf(f.windows, nil, corev1.EventTypeWarning, infrav1.OrphanedResourceReason, "Delete", "%s", leftNote(orphans))
	}
}

const (
	mostLeft    = 10  // names in a note
	longestName = 128 // of one
	longestLeft = 900 // of a note, which is less than an Event takes
)

// leftNote names what stays. Anybody may name what is in a cloud, so the names come last, and what has no room is only counted.
func leftNote(orphans []string) string {
	var names []string
	for _, name := range orphans[:min(mostLeft, len(orphans))] {
		names = append(names, strconv.Quote(cloud.Clean(name, longestName)))
	}
	return cloud.Clean(fmt.Sprintf("Resources that stay in the cloud, because nothing proves that they were made for this machine: "+
		"%d. Look whose they are, and delete them by hand: %s", len(orphans), strings.Join(names, ", ")), longestLeft)
}
