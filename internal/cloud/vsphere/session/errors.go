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

// rule is what an error of vCenter means for us.
type rule struct {
	matches func(error) bool
	kind    cloud.Kind
	reason  string
	message string
}

// rules are tried in order: a fault that is a special case of another stands before it. The message of a fault that names
// a privilege or a property gets that name appended.
var rules = []rule{
	{
		Is[types.BaseInvalidLogin], cloud.Denied, infrav1.CredentialsRejectedReason,
		"the vCenter rejects the user name or password: correct them in the Secret with the credentials",
	},
	{
		Is[*types.NotAuthenticated], cloud.Transient, infrav1.CloudUnreachableReason,
		"the vCenter ended the session; the controller logs in again",
	},
	{
		Is[types.BaseNoPermission], cloud.Denied, infrav1.CredentialsRejectedReason,
		"the vCenter account lacks a privilege: give its role the privilege",
	},
	{
		Untrusted, cloud.Denied, infrav1.CredentialsRejectedReason,
		"the server's certificate is not the one that the Secret with the credentials trusts, so nothing was sent to it: " +
			"correct server, ca.crt or thumbprint",
	},

	{
		matches(ErrNoRoom), cloud.Transient, infrav1.CloudUnreachableReason,
		"what is kept of the vCenters and workload clusters of the machine's namespace leaves no room for the vCenter's answer; the " +
			"controller tries again; the operator may allow more clusters, and room with them, by the manager's flag --tenants",
	},
	{
		matches(ErrTooLarge), cloud.Transient, infrav1.CloudUnreachableReason,
		"the vCenter's answer is larger than any that a call of ours needs, so it was not read: check the server in the Secret with " +
			"the credentials; the controller tries again",
	},
	{
		matches(ErrForeign), cloud.Transient, infrav1.CloudUnreachableReason,
		"the server's answer is not one of a vCenter: check the server in the Secret with the credentials; the controller tries again",
	},

	{
		Is[types.BaseInsufficientResourcesFault], cloud.Exhausted, infrav1.CapacityExhaustedReason,
		"vSphere has no room for the VM: free resources or choose another resource pool; the controller tries again",
	},
	{
		Is[*types.NoDiskSpace], cloud.Exhausted, infrav1.CapacityExhaustedReason,
		"the datastore has no room for the VM: free space or choose another datastore; the controller tries again",
	},
	{
		Is[types.BaseNotEnoughLicenses], cloud.Exhausted, infrav1.CapacityExhaustedReason,
		"vSphere has no license left for the VM; the controller tries again",
	},
	{
		Is[*types.NoCompatibleHost], cloud.Exhausted, infrav1.CapacityExhaustedReason,
		"no host of the cluster can run the VM; the controller tries again",
	},
	{
		Is[*types.NoActiveHostInCluster], cloud.Exhausted, infrav1.CapacityExhaustedReason,
		"no host of the cluster is up; the controller tries again",
	},

	{
		Is[*types.DuplicateName], cloud.Invalid, infrav1.NameTakenReason,
		"the folder already has an object with the VM's name that this provider did not make; the controller leaves it alone",
	},
	{
		Is[*types.ManagedObjectNotFound], cloud.Transient, infrav1.CloudUnreachableReason,
		"something that the VM needs was removed from the vCenter while it was in use; the controller looks it up again",
	},

	{
		Is[types.BaseInvalidState], cloud.Transient, infrav1.CloudUnreachableReason,
		"the VM, its template or its host is in a state that does not allow this; the controller tries again",
	},
	{
		Is[types.BaseTaskInProgress], cloud.Transient, infrav1.CloudUnreachableReason,
		"vSphere is busy with the VM or its template; the controller tries again",
	},
	{
		Is[types.BaseHostCommunication], cloud.Transient, infrav1.CloudUnreachableReason,
		"the vCenter cannot reach the VM's host; the controller tries again",
	},
	{
		Is[types.BaseTimedout], cloud.Transient, infrav1.CloudUnreachableReason,
		"vSphere took too long; the controller tries again",
	},
	{
		Is[*types.RequestCanceled], cloud.Transient, infrav1.CloudUnreachableReason,
		"the task was cancelled in the vCenter; the controller tries again",
	},
	{
		Is[*types.ConcurrentAccess], cloud.Transient, infrav1.CloudUnreachableReason,
		"another client changed the VM at the same time; the controller tries again",
	},
	{
		Is[types.BaseInvalidDatastore], cloud.Transient, infrav1.CloudUnreachableReason,
		"the datastore cannot be used at the moment; the controller tries again",
	},

	{
		// ESXi's answer to most of what fails: a file that is locked, a swap file that finds no room, a device that is away.
		Is[*types.GenericVmConfigFault], cloud.Transient, infrav1.CloudTaskFailedReason,
		"vSphere could not make or start the VM; the controller tries again",
	},
	{
		Is[types.BaseCannotAccessVmComponent], cloud.Transient, infrav1.CloudTaskFailedReason,
		"a host cannot reach a disk or network of the VM: bring it back, or choose another place; the controller tries again",
	},
	{
		Is[types.BaseFileFault], cloud.Transient, infrav1.CloudTaskFailedReason,
		"vSphere cannot use a file of the VM or of its template; the controller tries again",
	},

	{
		Is[types.BaseVmConfigFault], cloud.Invalid, infrav1.SpecInvalidReason,
		"vSphere cannot make a VM of this spec from this template: correct the spec",
	},
	{
		Is[types.BaseInvalidArgument], cloud.Invalid, infrav1.SpecInvalidReason,
		"vSphere rejects a value of the spec: correct it",
	},
	{
		Is[types.BaseNotSupported], cloud.Invalid, infrav1.SpecInvalidReason,
		"vSphere does not support a setting of the spec: change it",
	},
	{
		Is[types.BaseMigrationFault], cloud.Invalid, infrav1.SpecInvalidReason,
		"the template cannot be cloned to this place: choose another resource pool, datastore or network",
	},

	{
		Is[types.BaseMethodFault], cloud.Transient, infrav1.CloudUnreachableReason,
		"the vCenter answers with an unknown fault; the controller tries again",
	},
}

// unreachable is what remains: no answer, or none that is vCenter's.
var unreachable = rule{
	nil, cloud.Transient, infrav1.CloudUnreachableReason,
	"the vCenter does not answer; the controller tries again",
}

// Classify turns any error of a call or task into one that the controllers understand; the first one wins.
func Classify(err error) error {
	if err == nil || errors.Is(err, cloud.ErrNotFound) {
		return err
	}
	if _, ok := errors.AsType[*cloud.Error](err); ok {
		return err
	}
	found := unreachable
	for _, r := range rules {
		if r.matches(err) {
			found = r
			break
		}
	}
	answer := &cloud.Error{Kind: found.kind, Reason: found.reason, Message: found.message + detail(err), Err: quoted{err}}
	if found.reason == infrav1.CloudTaskFailedReason {
		answer.After = pause
	}
	return answer
}

// pause is how long to wait before the next try when a task failed: the cause seldom goes away within a second.
const pause = 30 * time.Second

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
	_, ok := faultOf[T](err)
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
