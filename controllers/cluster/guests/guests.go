// Package guests decides how the guests of machines whose cloud carries no reports get a place in the workload cluster: each may
// replace its own object there, and do nothing else. guests.yaml has the rights. The policy that limits a guest to its own object
// is seen to work before any guest may write: an API server that does not know such policies gets no RoleBinding, and where an
// object of the rights is somebody else's, ours goes. What the package decides never stops a machine: without the place, its
// progress comes from the Node alone.
package guests

import (
	"cmp"
	_ "embed"
	"errors"
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

	// ending ends each sentence about why guests cannot report.
	ending = ", so guests cannot report there, and progress comes from the Node alone"
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

// MuteError is why guests may not write, in a sentence for people.
type MuteError struct {
	Why string
	// NameTaken is true if Why is about an object of somebody else that has the name of one of ours.
	NameTaken bool
}

// Error implements error.
func (e *MuteError) Error() string { return e.Why }

// ErrIgnored is for a policy that does not refuse the probe, or that is not tried yet.
var ErrIgnored = errors.New("the workload cluster does not enforce the ValidatingAdmissionPolicy capwin-guests" + ending)

// Tried is nil if the API server refuses the probe as only the policy does.
func Tried(err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
		return nil
	}
	return cmp.Or(err, ErrIgnored)
}

// Memory is what is known of a cluster from look to look. The zero value is for a cluster that was not looked at.
type Memory struct {
	// settled is when the policy may be tried; zero when it was not there yet. waitingSince is when machines began to wait.
	settled, waitingSince time.Time
}

// Settle is for a policy that is there. Without an error it may be tried.
func (m *Memory) Settle(now time.Time) error {
	if m.settled.IsZero() {
		m.settled = now.Add(settle)
	}
	if now.Before(m.settled) {
		return ErrIgnored
	}
	return nil
}

// lasting are sentences about what time does not mend.
var lasting = map[keep.Class]string{
	keep.Unserved: "the workload cluster has no ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on" + ending,
	keep.Forbidden: "the Cluster's kubeconfig may not read and write Namespace, Role, RoleBinding and ValidatingAdmissionPolicy" +
		ending,
}

// Answer is for machines, and serves until the next look: without an error guests may write, and with ErrSettling of package keep
// that is about to come. Machines wait for what time may mend, but not for long. Where an object of somebody else has the name of
// one of ours, that may not limit guests, or let them do more: our RoleBinding MUST be removed before, and kept is why it is not.
func (m *Memory) Answer(cluster types.NamespacedName, err, kept error, now time.Time) (delay time.Duration, answer error) {
	if keep.Taken(err) != "" {
		*m = Memory{} // the policy settles anew when that object is gone
		return recheck, &MuteError{takenSentence(cluster, keep.Taken(err), kept), true}
	}
	reason, lasts := lasting[keep.ClassOf(err)]
	if err != nil && !lasts {
		if m.waitingSince.IsZero() {
			m.waitingSince = now
		}
		if now.Sub(m.waitingSince) < patience {
			return cmp.Or(max(m.settled.Sub(now), 0), settle), keep.ErrSettling
		}
		if reason = Mute(err); errors.Is(err, ErrIgnored) {
			reason = err.Error()
		}
	}
	m.waitingSince = time.Time{}
	if err != nil {
		answer = &MuteError{Why: reason}
	}
	return recheck, answer
}

func takenSentence(cluster types.NamespacedName, object string, kept error) string {
	text := fmt.Sprintf("%s in the workload cluster of Cluster %s is not capwin's and has other content%s; rename or remove it, or "+
		"set its label %s=%s to have capwin replace its content", object, cluster, ending, keep.Label, keep.Mark)
	if kept != nil {
		text += "; guests keep their RoleBinding: " + cloud.Clean(kept.Error(), maxCause)
	}
	return text
}

// Mute returns why guests have no place, in a text for people.
func Mute(err error) string {
	return "the workload cluster refuses the objects that guests report by: " + cloud.Clean(err.Error(), maxCause) + ending
}
