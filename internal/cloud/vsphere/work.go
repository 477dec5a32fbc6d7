package vsphere

import (
	"cmp"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// work is what this process remembers of a machine.
type work struct {
	key   cloud.Key
	job   next.Job
	clone types.ManagedObjectReference // the last task that cloned for it
	ran   bool                         // the VM was switched on before

	next.Memory // what is decided by

	believed bool                  // what an earlier process has kept is taken over
	mayMake  bool                  // a clone of this process may have made the VM: no failure of it was reported
	deletion infrav1.CloudDeletion // whether the vCenter has accepted a request of ours to destroy the VM

	failures  int
	abandoned bool      // Delete was called
	used      time.Time // when the machine was last asked for
}

// How long to wait after a clone that failed, longer each time: the cause, such as a full datastore, seldom goes away within
// a second.
const (
	firstPause = 30 * time.Second
	lastPause  = 5 * time.Minute
)

func (w *work) postpone(err error, now time.Time) {
	pause := min(firstPause<<min(w.failures, 8), lastPause)
	w.Failed, w.NotBefore, w.failures = err, now.Add(pause), w.failures+1
}

// record is the update of the machine's record with what this vCenter calls the VM; nil if nothing is known.
func (w work) record(server string, kept infrav1.VSphereRecord) *cloud.Record {
	current := infrav1.VSphereRecord{Server: server, Deletion: w.deletion}
	if len(w.Object.Value) <= seen.MaxReference {
		current.Reference, current.Folder = w.Object.Value, w.Folder
	}
	if current.Reference == "" && current.Deletion == kept.Deletion {
		return nil
	}
	return &cloud.Record{VSphere: current}
}

// leftOf returns what to look for by hand when a machine is let go: its VM is not where the account can see it, and no more than
// that is proved. It is empty if our own request has removed the VM, or if none was ever requested.
func leftOf(m cloud.Machine, w work) string {
	mayHave := m.Asked != cloud.NeverAsked || w.mayMake || !w.AnswerLost.IsZero() || w.Object.Value != ""
	if m.Spec.VSphere == nil || w.deletion == infrav1.DeletionAccepted || !mayHave {
		return ""
	}
	lastSeen := "no reference to it is known"
	if w.Object.Value != "" {
		lastSeen = fmt.Sprintf("last seen as %s in the folder %s", cloud.Clean(w.Object.Value, seen.MaxReference),
			cmp.Or(cloud.Clean(w.Folder, seen.MaxReference), "of its spec"))
	}
	return fmt.Sprintf("the VM %q with the instance UUID %s (%s) was not found, and the vCenter accepted no request of the "+
		"controller to delete it: if a host was removed and added again, or the vCenter was restored, look for it in the folder "+
		"\"Discovered virtual machine\"", m.Name, seen.IDOf(m), lastSeen)
}
