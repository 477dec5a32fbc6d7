package reply

import (
	"net/http"
	"strings"
)

// ResourceNotFound is ARM's answer to a resource that it does not know [V].
func ResourceNotFound(kind, name, group string) *Error {
	return New(http.StatusNotFound, "ResourceNotFound", "The Resource '%s/%s' under resource group '%s' was not found. "+
		"For more details please go to https://aka.ms/ARMResourceNotFoundFix", kind, name, group)
}

// ResourceGroupNotFound is a 404 as well [V]: it says nothing of the resource.
func ResourceGroupNotFound(group string) *Error {
	return New(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", group)
}

// ParentNotFound is the answer to a part of what does not exist [V].
func ParentNotFound(operation, kind, parent string) *Error {
	return New(http.StatusNotFound, "ParentResourceNotFound", "Failed to perform '%s' on resource(s) of type '%s', because the "+
		"parent resource '%s' could not be found.", operation, kind, parent)
}

// ExtensionsDisallowed is the answer of a VM without an agent [V].
func ExtensionsDisallowed() *Error {
	return New(http.StatusConflict, "OperationNotAllowed", "This operation cannot be performed when extension operations are "+
		"disallowed. To allow, please ensure VM Agent is installed on the VM and the osProfile.allowExtensionOperations property is "+
		"true.")
}

// SubscriptionNotFound is what a wrong tenant sees, too [V].
func SubscriptionNotFound(subscription string) *Error {
	return New(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", subscription)
}

// AuthorizationFailed names principal, action and scope [V].
func AuthorizationFailed(client, object, action, scope string) *Error {
	return New(http.StatusForbidden, "AuthorizationFailed", "The client '%s' with object id '%s' does not have authorization to "+
		"perform "+
		"action '%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.",
		client, object, action, scope)
}

// LinkedAuthorizationFailed is about a resource that the request names [V].
func LinkedAuthorizationFailed(client, object string, has, lacks [2]string) *Error {
	return New(http.StatusForbidden, "LinkedAuthorizationFailed", "The client '%s' with object id '%s' has permission to perform "+
		"action "+
		"'%s' on scope '%s'; however, it does not have permission to perform action(s) '%s' on the linked scope(s) '%s' "+
		"(respectively) "+
		"or the linked scope(s) are invalid.", client, object, has[0], has[1], lacks[0], lacks[1])
}

// InvalidParameter is compute's usual 400 [D].
func InvalidParameter(target, format string, args ...any) *Error {
	return New(http.StatusBadRequest, "InvalidParameter", format, args...).At(target)
}

// InvalidReference is NRP's answer to an id that leads nowhere [V].
func InvalidReference(id, by string) *Error {
	return New(http.StatusBadRequest, "InvalidResourceReference", "Resource %s referenced by resource %s was not found. Please "+
		"make sure "+
		"that the referenced resource exists, and that both resources are in the same region.", id, by)
}

// BeingDeleted is the answer to whatever is not the deletion [D].
func BeingDeleted(operation, vm string) *Error {
	return New(http.StatusConflict, "OperationNotAllowed", "Operation '%s' is not allowed on VM '%s' since the VM is marked for "+
		"deletion. "+
		"You can only retry the Delete operation (or wait for an ongoing one to complete).", operation, vm)
}

// Busy is the answer while another operation runs [D].
func Busy(operation, vm string) *Error {
	return New(http.StatusConflict, "OperationNotAllowed",
		"Operation '%s' is not allowed on VM '%s' since another operation is in progress.", operation, vm)
}

// Preempted is how an operation ends that another one overtook [D].
func Preempted() *Error {
	return New(http.StatusConflict, "OperationPreempted", "Operation execution has been preempted by a more recent operation.")
}

// PreconditionFailed is the answer to If-None-Match: * on an existing VM. Status and code are [I]; no text of a VM is on record.
func PreconditionFailed(vm string) *Error {
	return New(http.StatusPreconditionFailed, "PreconditionFailed",
		"The condition '*' in the If-None-Match header was not satisfied: the resource '%s' already exists.", vm)
}

// EtagMismatch is the answer to another If-Match [V cloud-provider-azure #9728].
func EtagMismatch(sent, is string) *Error {
	return New(http.StatusPreconditionFailed, "PreconditionFailed",
		"Etag provided in if-match header %s does not match etag %s of resource.", sent, is)
}

// Locked is a management lock [V].
func Locked(scope, operation, lock string) *Error {
	return New(http.StatusConflict, "ScopeLocked", "The scope '%s' cannot perform %s operation because following scope(s) are "+
		"locked: '%s'. "+
		"Please remove the lock and try again.", scope, operation, lock)
}

// Disallowed is Azure Policy [V].
func Disallowed(resource, assignment string) *Error {
	e := New(http.StatusForbidden, "RequestDisallowedByPolicy", "Resource '%s' was disallowed by policy. Policy identifiers: "+
		"'[{\"policyAssignment\":{\"name\":%q}}]'.", resource, assignment)
	return e.At(resource)
}

// NICReserved is NRP's answer for 180 seconds after a failed allocation [V karpenter-provider-azure].
func NICReserved(vm string) *Error {
	return New(http.StatusBadRequest, "NicReservedForAnotherVm", "Nic(s) in request is reserved for another Virtual Machine for "+
		"180 "+
		"seconds. Please provide another nic(s) or retry after 180 seconds. Reserved VM: %s", vm)
}

// NICInUse is NRP's answer to the deletion of a NIC of a VM [V].
func NICInUse(nic, vm string) *Error {
	return New(http.StatusBadRequest, "NicInUse", "Network Interface %s is used by existing resource %s. In order to delete the "+
		"network "+
		"interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.", nic, vm)
}

// NotProvisioned is NRP's answer to a request that names a resource which is not done (terraform #7986), or failed (aks-engine
// #336) [V].
func NotProvisioned(resource, by, state string) *Error {
	e := New(http.StatusBadRequest, "ReferencedResourceNotProvisioned", "Cannot proceed with operation because resource %s used by "+
		"resource %s is not in Succeeded state. Resource is in %s state and the last operation that updated/is updating the resource "+
		"is PutNicOperation.", resource, by, state)
	if state == "Failed" {
		return e
	}
	retry := New(http.StatusTooManyRequests, "RetryableError", "A retryable error occurred.")
	retry.Details = []Error{*e}
	return retry
}

// LockedByAnother is NRP's answer to a write of what another operation has locked: a 429 that is no throttling [D
// request-limits-and-throttling]. The sentence is [I].
func LockedByAnother(resource string) *Error {
	return New(http.StatusTooManyRequests, "RetryableErrorDueToAnotherOperation",
		"Another operation is updating resource %s. The call can be retried.", resource)
}

// DiskExists is the answer to a disk name that is taken [V CAPZ #755].
func DiskExists(disk, group string) *Error {
	return New(http.StatusConflict, "ConflictingUserInput", "Disk %s already exists in resource group %s. Only "+
		"CreateOption.Attach is "+
		"supported.", disk, strings.ToUpper(group)).At("/subscriptions")
}

// NotRegistered is what a subscription gets that may not use a resource provider [D].
func NotRegistered(namespace string) *Error {
	return New(http.StatusConflict, "MissingSubscriptionRegistration", "The subscription is not registered to use namespace '%s'. "+
		"See https://aka.ms/rps-not-found for how to register subscriptions.", namespace)
}

// QuotaExceeded is compute's answer to too many cores [V].
func QuotaExceeded(family, location string, limit, used, more int) *Error {
	return New(http.StatusConflict, "OperationNotAllowed", "Operation could not be completed as it results in exceeding approved "+
		"%s Cores "+
		"quota. Additional details - Deployment Model: Resource Manager, Location: %s, Current Limit: %d, Current Usage: %d, "+
		"Additional "+
		"Required: %d, (Minimum) New Limit Required: %d. Setup Alerts when Quota reaches threshold. Learn more at "+
		"https://aka.ms/quotamonitoringalerting .", family, location, limit, used, more, used+more)
}

// SKUNotAvailable is the answer to a size that is restricted, or a spot size that is sold out [V].
func SKUNotAvailable(size, location string) *Error {
	return New(http.StatusConflict, "SkuNotAvailable", "The requested VM size for resource 'Following SKUs have failed for "+
		"Capacity "+
		"Restrictions: %s' is currently not available in location '%s'. Please try another size or deploy to a different location or "+
		"different zone. See https://aka.ms/azureskunotavailable for details.", size, location)
}
