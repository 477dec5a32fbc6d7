// Package guests decides how the guests of machines whose cloud carries no reports get a place in the workload cluster: each may
// replace its own object there, and do nothing else. guests.yaml has the rights. The policy that limits a guest to its own object
// is seen to work before any guest may write: an API server that does not know such policies gets no RoleBinding, and where an
// object of the rights is somebody else's, ours goes. What the package decides never stops a machine: without the place, its
// progress comes from the Node alone.
package guests

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// settle is how long the policy is there before it is tried: each API server of the control plane reads it every second.
	settle = 10 * time.Second
	// patience is how long machines of a cluster wait for its rights.
	patience = time.Minute
	// recheck is how soon the rights of a cluster are read again: a person may have changed or removed them.
	recheck = 10 * time.Minute

	// alone ends each sentence that says why guests cannot report.
	alone = ", so guests cannot report there, and progress comes from the Node alone"
	// maxCause is how much of an API server's own words people see.
	maxCause = 256
)

//go:embed guests.yaml
var manifest string

var objects = keep.Must(manifest)

// Limits are the objects that limit guests, in the order in which they are written.
func Limits() []*unstructured.Unstructured { return objects[:len(objects)-1] }

// Binding is the object that lets guests write.
func Binding() *unstructured.Unstructured { return objects[len(objects)-1] }

// NewProbe returns an object that the policy refuses to everyone.
func NewProbe() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.GuestNamespace, Name: "probe"}}
}

// Name is by which configs ask for the rights of guests.
const Name = "guests"

// MuteError says why guests may not write, in a sentence for people.
type MuteError struct {
	Why string
	// NameTaken says that Why is about an object of somebody else that has the name of one of ours.
	NameTaken bool
}

// Error implements error.
func (e *MuteError) Error() string { return e.Why }

// Memory is what is known of a cluster from look to look.
type Memory struct {
	// Settled is when the policy may be tried; zero when it was not there yet. Since is when machines began to wait.
	Settled, Since time.Time
}

// Act is what a look does next.
type Act string

// The acts. After Rest a look is over.
const (
	Rest     Act = ""
	Limit    Act = "Limit"    // write the Limits
	Try      Act = "Try"      // make the probe, by a dry run
	Bind     Act = "Bind"     // write the Binding
	Withdraw Act = "Withdraw" // remove the Binding
)

// Seen is what a look has found out so far: the answer to each act.
type Seen struct {
	Cluster types.NamespacedName
	Answers map[Act]error
	Memory
}

// Step is what follows from what was seen. With Rest come the answer to those who ask, when to look again, and what to remember:
// without an error guests may write, and with ErrSettling of package keep that is about to come.
type Step struct {
	Act    Act
	Answer error
	Again  time.Duration
	Memory
}

// Next is the next step of a look.
func Next(s Seen, now time.Time) Step {
	for _, act := range []Act{Limit, Try, Bind} {
		err, done := s.Answers[act]
		switch {
		case act == Try && s.Settled.IsZero():
			s.Settled = now.Add(settle)
			return s.wait(nil, settle, now)
		case act == Try && now.Before(s.Settled):
			return s.wait(nil, s.Settled.Sub(now), now)
		case !done:
			return Step{Act: act}
		case act == Try && isRefusal(err):
		case act == Try && err == nil:
			return s.wait(nil, settle, now)
		case err != nil:
			return s.refused(err, now)
		}
	}
	return Step{Again: recheck, Memory: Memory{Settled: s.Settled}}
}

// isRefusal says whether the API server refuses the probe as only the policy does.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

// refused is what follows from an error. What time does not mend is a sentence.
func (s Seen) refused(err error, now time.Time) Step {
	switch keep.ClassOf(err) {
	case keep.Foreign:
		return s.taken(err)
	case keep.Unserved:
		return s.closed("the workload cluster has no ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on" + alone)
	case keep.Forbidden:
		return s.closed("the Cluster's kubeconfig may not read and write Namespace, Role, RoleBinding and ValidatingAdmissionPolicy" +
			alone)
	}
	return s.wait(err, settle, now)
}

func (s Seen) closed(why string) Step {
	return Step{Answer: &MuteError{Why: why}, Again: recheck, Memory: Memory{Settled: s.Settled}}
}

// taken is for an object of somebody else. It may not limit guests, or may let them do more: our RoleBinding goes until that
// object is gone.
func (s Seen) taken(foreign error) Step {
	failed, withdrawn := s.Answers[Withdraw]
	if !withdrawn {
		return Step{Act: Withdraw}
	}
	why := fmt.Sprintf("%s in the workload cluster of Cluster %s is not capwin's and has other content%s; rename or remove it, or "+
		"set its label %s=%s to have capwin replace its content", keep.Taken(foreign), s.Cluster, alone, keep.Label, keep.Mark)
	if failed != nil {
		why += "; guests keep their RoleBinding: " + cloud.Clean(failed.Error(), maxCause)
	}
	return Step{Answer: &MuteError{why, true}, Again: recheck}
}

// wait ends the machines' wait for what does not come.
func (s Seen) wait(err error, again time.Duration, now time.Time) Step {
	if s.Since.IsZero() {
		s.Since = now
	}
	if now.Sub(s.Since) < patience {
		return Step{Answer: keep.ErrSettling, Again: again, Memory: s.Memory}
	}
	if err != nil {
		return s.closed(Mute(err))
	}
	return s.closed("the workload cluster does not enforce the ValidatingAdmissionPolicy capwin-guests" + alone)
}

// Mute says why guests have no place, in a sentence for people.
func Mute(err error) string {
	return "the workload cluster refuses what guests need to report: " + cloud.Clean(err.Error(), maxCause) + alone
}
