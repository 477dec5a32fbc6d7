package session

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// meaning is what an error of the vCenter means for us.
type meaning struct {
	kind   cloud.Kind
	reason string
}

var (
	rejected    = meaning{cloud.Denied, infrav1.CredentialsRejectedReason}
	unreachable = meaning{cloud.Transient, infrav1.CloudUnreachableReason}
	exhausted   = meaning{cloud.Exhausted, infrav1.CapacityExhaustedReason}
	taskFailed  = meaning{cloud.Transient, infrav1.CloudTaskFailedReason}
	nameTaken   = meaning{cloud.Invalid, infrav1.NameTakenReason}
	invalid     = meaning{cloud.Invalid, infrav1.SpecInvalidReason}
)

// rule gives the errors that it matches a meaning and a sentence.
type rule struct {
	matches func(error) bool
	meaning
	message string
}

func (m meaning) rule(matches func(error) bool, message string) rule {
	return rule{matches, m, message}
}

// rules are tried in order: a fault that is a special case of another stands before it. The message of a fault that names
// a privilege or a property gets that name appended.
var rules = []rule{
	rejected.rule(Is[types.BaseInvalidLogin],
		"the vCenter rejects the user name or password: correct them in the Secret with the credentials"),
	unreachable.rule(Is[*types.NotAuthenticated], "the vCenter ended the session; the controller logs in again"),
	rejected.rule(Is[types.BaseNoPermission], "the vCenter account lacks a privilege: give its role the privilege"),
	rejected.rule(Untrusted,
		"the server's certificate is not the one that the Secret with the credentials trusts, so nothing was sent to it: "+
			"correct server, ca.crt or thumbprint"),

	unreachable.rule(matches(ErrNoRoom),
		"what is kept of the vCenters and workload clusters of the machine's namespace leaves no room for the vCenter's answer; the "+
			"controller tries again; the operator may allow more clusters, and room with them, by the manager's flag --tenants"),
	unreachable.rule(matches(ErrTooLarge),
		"the vCenter's answer is larger than any that a call of ours needs, so it was not read: check the server in the Secret with "+
			"the credentials; the controller tries again"),
	unreachable.rule(matches(ErrForeign),
		"the server's answer is not one of a vCenter: check the server in the Secret with the credentials; the controller tries again"),

	exhausted.rule(Is[types.BaseInsufficientResourcesFault],
		"vSphere has no room for the VM: free resources or choose another resource pool; the controller tries again"),
	exhausted.rule(Is[*types.NoDiskSpace],
		"the datastore has no room for the VM: free space or choose another datastore; the controller tries again"),
	exhausted.rule(Is[types.BaseNotEnoughLicenses], "vSphere has no license left for the VM; the controller tries again"),
	exhausted.rule(Is[*types.NoCompatibleHost], "no host of the cluster can run the VM; the controller tries again"),
	exhausted.rule(Is[*types.NoActiveHostInCluster], "no host of the cluster is up; the controller tries again"),

	nameTaken.rule(Is[*types.DuplicateName],
		"the folder already has an object with the VM's name that this provider did not make; the controller leaves it alone"),
	unreachable.rule(Is[*types.ManagedObjectNotFound],
		"something that the VM needs was removed from the vCenter while it was in use; the controller looks it up again"),

	unreachable.rule(Is[types.BaseInvalidState],
		"the VM, its template or its host is in a state that does not allow this; the controller tries again"),
	unreachable.rule(Is[types.BaseTaskInProgress], "vSphere is busy with the VM or its template; the controller tries again"),
	unreachable.rule(Is[types.BaseHostCommunication], "the vCenter cannot reach the VM's host; the controller tries again"),
	unreachable.rule(Is[types.BaseTimedout], "vSphere took too long; the controller tries again"),
	unreachable.rule(Is[*types.RequestCanceled], "the task was cancelled in the vCenter; the controller tries again"),
	unreachable.rule(Is[*types.ConcurrentAccess], "another client changed the VM at the same time; the controller tries again"),
	unreachable.rule(Is[types.BaseInvalidDatastore], "the datastore cannot be used at the moment; the controller tries again"),

	// ESXi's answer to most of what fails: a file that is locked, a swap file that finds no room, a device that is away.
	taskFailed.rule(Is[*types.GenericVmConfigFault], "vSphere could not make or start the VM; the controller tries again"),
	taskFailed.rule(Is[types.BaseCannotAccessVmComponent],
		"a host cannot reach a disk or network of the VM: bring it back, or choose another place; the controller tries again"),
	taskFailed.rule(Is[types.BaseFileFault],
		"vSphere cannot use a file of the VM or of its template; the controller tries again"),

	invalid.rule(Is[types.BaseVmConfigFault], "vSphere cannot make a VM of this spec from this template: correct the spec"),
	invalid.rule(Is[types.BaseInvalidArgument], "vSphere rejects a value of the spec: correct it"),
	invalid.rule(Is[types.BaseNotSupported], "vSphere does not support a setting of the spec: change it"),
	invalid.rule(Is[types.BaseMigrationFault],
		"the template cannot be cloned to this place: choose another resource pool, datastore or network"),

	unreachable.rule(Is[types.BaseMethodFault], "the vCenter answers with an unknown fault; the controller tries again"),
}

// noAnswer is what remains: no answer, or none that is vCenter's.
var noAnswer = rule{meaning: unreachable, message: "the vCenter does not answer; the controller tries again"}

// Classify turns any error of a call or task into one that the controllers understand; the first one wins.
func Classify(err error) error {
	if _, ok := errors.AsType[*cloud.Error](err); ok || err == nil || errors.Is(err, cloud.ErrNotFound) {
		return err
	}
	return classified(err)
}

func classified(err error) *cloud.Error {
	found := noAnswer
	for _, r := range rules {
		if r.matches(err) {
			found = r
			break
		}
	}
	answer := &cloud.Error{Kind: found.kind, Reason: found.reason, Message: found.message + detail(err), Err: quoted{err}}
	if found.meaning == taskFailed {
		answer.After = pause
	}
	return answer
}

// pause is how long to wait before the next try when a task failed: the cause seldom goes away within a second.
const pause = 30 * time.Second

// notBefore is an error for all machines of an account, which tries again by itself.
func notBefore(pause time.Duration, reason, err error) error {
	cloudErr, _ := errors.AsType[*cloud.Error](Classify(err))
	shared := *cloudErr
	shared.After, shared.Err = pause, quoted{fmt.Errorf("%w: %w", reason, err)}
	return &shared
}

// refused reports whether the vCenter rejects the user. Any other fault is one of a vCenter that is not quite there.
func refused(err error) bool {
	return Is[types.BaseInvalidLogin](err) || Is[types.BaseNoPermission](err)
}

// Bounds of what is shown of a text that a server sends.
const (
	maxDetail = 128
	maxCause  = 1024
)

// quoted is an error whose text may be a server's.
type quoted struct{ error }

// Error is for logs.
func (q quoted) Error() string { return cloud.Clean(q.error.Error(), maxCause) }

// Unwrap returns the error itself.
func (q quoted) Unwrap() error { return q.error }

// detail is the one thing in a fault that shows people what to change, and that is the same each time.
func detail(err error) string {
	if Is[*types.NotAuthenticated](err) {
		return ""
	}
	if f, ok := faultOf[types.BaseNoPermission](err); ok {
		return lacking(f.GetNoPermission())
	}
	if f, ok := faultOf[*types.NoDiskSpace](err); ok && f.Datastore != "" {
		return " (" + cloud.Clean(f.Datastore, maxDetail) + ")"
	}
	if f, ok := faultOf[types.BaseInvalidArgument](err); ok && f.GetInvalidArgument().InvalidProperty != "" {
		return " (" + cloud.Clean(f.GetInvalidArgument().InvalidProperty, maxDetail) + ")"
	}
	return ""
}

// lacking names the privilege that is missing, and the object on which it is. A root pool can have no permission of its own.
func lacking(f *types.NoPermission) string {
	privilege, object := f.PrivilegeId, f.Object
	if missing := f.MissingPrivileges; len(missing) > 0 && len(missing[0].PrivilegeIds) > 0 { // since vSphere 8.0
		privilege, object = missing[0].PrivilegeIds[0], &missing[0].Entity
	}
	switch {
	case privilege == "":
		return ""
	case object == nil:
		return " " + cloud.Clean(privilege, maxDetail)
	}
	text := fmt.Sprintf(" %s on %s", cloud.Clean(privilege, maxDetail), cloud.Clean(object.Type+" "+object.Value, maxDetail))
	if object.Type == "ResourcePool" {
		text += ", or on the cluster or host whose root pool it is"
	}
	return text
}

// faultOf finds a fault of type T in an error. T is a fault or, for it and its special cases, its interface.
func faultOf[T any](err error) (T, bool) {
	var found T
	_, ok := fault.As(err, &found)
	return found, ok
}

// Is reports whether an error has a fault of type T.
func Is[T any](err error) bool {
	_, ok := fault.As(err, new(T))
	return ok
}

// Hidden reports whether the account may not see something, while its session goes on.
func Hidden(err error) bool {
	return Is[types.BaseNoPermission](err) && !Is[*types.NotAuthenticated](err)
}

// Answered reports whether vCenter itself refused: nothing of the request was carried out.
func Answered(err error) bool { return Is[types.BaseMethodFault](err) }

// Untrusted reports whether the server's certificate is not the one that the Secret trusts.
func Untrusted(err error) bool {
	invalid, _ := errors.AsType[*tls.CertificateVerificationError](err)
	return invalid != nil || errors.Is(err, errOtherCertificate)
}

func matches(cause error) func(error) bool {
	return func(err error) bool { return errors.Is(err, cause) }
}
