package fault

import (
	"net/http"
	"regexp"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// When to try again.
const (
	shortly   = 5 * time.Second // how long Azure works on an adapter
	brief     = 15 * time.Second
	minute    = time.Minute
	reserved  = 180 * time.Second // how long Azure keeps an adapter for a VM whose allocation failed
	slowly    = 5 * time.Minute
	quotaWait = 10 * time.Minute
	scarce    = time.Hour
)

// rows are the errors that we know. Rows with a text stand before those of the same code without.
var rows = []row{
	// NRP answers with 429, too, if two writes meet, or to a thing that it still works on (terraform #7986): nothing is throttled.
	{
		codes: []string{"referencedresourcenotprovisioned"}, text: regexp.MustCompile(`in updating state`), effect: Unready,
		pause: shortly,
	},
	{codes: []string{"referencedresourcenotprovisioned"}, pause: minute},
	{status: http.StatusTooManyRequests, codes: []string{"retryableerror"}, effect: Unready, pause: shortly},
	{status: http.StatusTooManyRequests, codes: []string{"retryableerrorduetoanotheroperation"}, effect: Unready, pause: brief},
	{
		status: http.StatusTooManyRequests, kind: cloud.Throttled, reason: infrav1.CloudThrottledReason, effect: Silences,
		pause: shortestWait, advice: "the controller waits as long as Azure asks",
	},
	{
		codes: []string{"toomanyrequests", "subscriptionrequeststhrottled"}, kind: cloud.Throttled,
		reason: infrav1.CloudThrottledReason, effect: Silences, pause: shortestWait,
		advice: "the controller waits as long as Azure asks",
	},

	{
		codes: []string{"resourcegroupnotfound"}, kind: cloud.Invalid, reason: infrav1.PlacementNotFoundReason,
		effect: GroupGone, pause: slowly, advice: "create the resource group, or correct it in a new WindowsMachineTemplate",
	},
	{
		codes: []string{"subscriptionnotfound", "invalidsubscriptionid", "invalidauthenticationtokentenant"}, kind: cloud.Denied,
		reason: infrav1.CredentialsRejectedReason, pause: slowly,
		advice: "check the subscription, and that the identity is of its tenant",
	},
	{
		status: http.StatusUnauthorized, kind: cloud.Denied, reason: infrav1.CredentialsRejectedReason, pause: slowly,
		advice: "correct the credentials",
	},
	{
		codes: []string{"authorizationfailed", "linkedauthorizationfailed", "linkedaccesscheckfailed", "disallowedoperation"},
		kind:  cloud.Denied, reason: infrav1.CredentialsRejectedReason, pause: slowly,
		advice: "give the identity the rights that docs/azure.md lists",
	},
	{
		codes: []string{"requestdisallowedbypolicy"}, kind: cloud.Exhausted, pause: slowly,
		advice: "change the spec so that the policy of the subscription allows it, or exempt the resource group from the policy",
	},
	{
		codes: []string{"scopelocked", "readonlydisabledsubscription"}, kind: cloud.Exhausted, pause: slowly,
		advice: "remove the lock of the resource group, or enable the subscription",
	},

	{
		codes: []string{"quotaexceeded", "resourcequotaexceeded"}, kind: cloud.Exhausted,
		reason: infrav1.CapacityExhaustedReason, effect: ClosesFamily, pause: quotaWait,
		advice: "ask for a larger quota in this region, or remove machines",
	},
	{
		codes: []string{"operationnotallowed"}, text: regexp.MustCompile(`exceed.*quota|quota.*exceed|lowprioritycores`),
		kind: cloud.Exhausted, reason: infrav1.CapacityExhaustedReason, effect: ClosesFamily, pause: quotaWait,
		advice: "ask for a larger quota in this region, or remove machines",
	},
	{
		codes: []string{"operationnotallowed", "invalidparameter"}, text: regexp.MustCompile(`smaller than`),
		kind: cloud.Invalid, reason: infrav1.SpecInvalidReason, pause: slowly,
		advice: "use a larger disk, or leave out its size, in a new WindowsMachineTemplate",
	},
	{
		codes: []string{"skunotavailable", "notavailableforsubscription"}, kind: cloud.Exhausted,
		reason: infrav1.CapacityExhaustedReason, effect: ClosesSize, pause: scarce,
		advice: "use another size, zone or location in a new WindowsMachineTemplate",
	},
	{
		codes: []string{
			"allocationfailed", "zonalallocationfailed", "overconstrainedallocationrequest",
			"overconstrainedzonalallocationrequest",
		},
		kind: cloud.Exhausted, reason: infrav1.CapacityExhaustedReason, effect: ClosesSize, pause: scarce,
		advice: "Azure has no room for this size now; wait, or use another size or zone in a new WindowsMachineTemplate",
	},

	{
		codes: []string{
			"imagenotfound", "platformimagenotfound", "galleryimagenotfound", "galleryimageversionnotfound",
			"communitygalleryimagenotfound",
		},
		kind: cloud.Invalid, reason: infrav1.TemplateNotFoundReason, pause: slowly,
		advice: "replicate the image to this location, or use another one in a new WindowsMachineTemplate",
	},
	{
		codes: []string{"vmmarketplaceinvalidinput", "marketplacepurchaseeligibilityfailed", "resourcepurchasevalidationfailed"},
		kind:  cloud.Invalid, reason: infrav1.SpecInvalidReason, pause: slowly,
		advice: "give the image the plan that its publisher requires, or none, and accept its terms",
	},
	{
		codes: []string{"subnetnotfound", "invalidresourcereference", "networksecuritygroupnotfound", "notfound"},
		kind:  cloud.Invalid, reason: infrav1.PlacementNotFoundReason, pause: slowly,
		advice: "create what is missing, or correct it in a new WindowsMachineTemplate",
	},
	{
		codes: []string{"failedidentityoperation", "identitynotfound"}, kind: cloud.Invalid,
		reason: infrav1.PlacementNotFoundReason, pause: slowly,
		advice: "create the identity, or correct spec.azure.identities in a new WindowsMachineTemplate",
	},
	{
		codes: []string{"subnetisfull"}, kind: cloud.Exhausted, reason: infrav1.CapacityExhaustedReason, pause: slowly,
		advice: "remove machines or use a larger subnet",
	},

	{
		codes: []string{"privateipaddressinuse"}, kind: cloud.Exhausted, reason: infrav1.SpecInvalidReason, pause: minute,
		advice: "remove what has the address, or give another privateAddress in a new WindowsMachineTemplate",
	},
	{
		codes: []string{"privateipaddressnotinsubnet"}, kind: cloud.Invalid, reason: infrav1.SpecInvalidReason, pause: slowly,
		advice: "give a privateAddress of the subnet in a new WindowsMachineTemplate",
	},
	{codes: []string{"nicinuse"}, kind: cloud.Exhausted, pause: slowly, advice: "detach the network interface from the other VM"},

	{
		codes: []string{"osprovisioningtimedout", "osprovisioningclienterror", "osprovisioninginternalerror"}, effect: Guest,
		pause: slowly, advice: "the guest may still finish; look at the boot diagnostics of the VM",
	},
	{
		codes: []string{
			"vmstarttimedout", "internalexecutionerror", "networkinginternaloperationerror", "internaloperationerror",
			"internalservererror",
		},
		pause: minute,
	},
	{codes: []string{"nicreservedforanothervm"}, pause: reserved},

	{
		status: http.StatusPreconditionFailed, reason: infrav1.NameTakenReason, effect: Taken, pause: brief,
		advice: "the controller checks whose VM it is",
	},
	{
		codes: []string{"preconditionfailed", "resourceexists"}, reason: infrav1.NameTakenReason, effect: Taken, pause: brief,
		advice: "the controller checks whose VM it is",
	},
	{
		codes: []string{
			"operationpreempted", "conflict", "anotheroperationinprogress", "retryableerrorduetoanotheroperation",
			"operationnotallowed", "resourcegroupbeingdeleted",
		},
		pause: brief,
	},

	{
		codes: []string{"couldnotfindmember", "unknownproperty", "invalidrequestcontent", "invalidrequestformat", "invalidparameter"},
		text:  regexp.MustCompile(`networkinterfaceconfigurations|networkapiversion`), effect: Inline, pause: shortestWait,
		advice: "the controller makes the adapter itself",
	},
	{
		codes: unknownKind, kind: cloud.Invalid, reason: infrav1.SpecInvalidReason, pause: slowly,
		advice: "use a location that has this kind of resource, and a cloud with the compute API of 2021-03-01 or later",
	},
	{
		codes: []string{
			"invalidparameter", "badrequest", "propertychangenotallowed", "invalidtemplate", "invalidrequestformat",
			"invalidrequestcontent", "couldnotfindmember", "locationnotavailableforresourcetype", "invalidresourcelocation",
		},
		kind: cloud.Invalid, reason: infrav1.SpecInvalidReason, pause: slowly,
		advice: "correct the spec in a new WindowsMachineTemplate and use that in the MachineDeployment, which then replaces its " +
			"machines",
	},
	{codes: []string{"resourcenotfound"}, effect: Gone, pause: brief},
	{status: http.StatusConflict, pause: brief},
	{
		status: http.StatusForbidden, kind: cloud.Denied, reason: infrav1.CredentialsRejectedReason, pause: slowly,
		advice: "give the identity the rights that docs/azure.md lists",
	},
}

// unknownKind are the codes of Azure for a kind of resource that is unknown there, or in this version.
var unknownKind = []string{
	"noregisteredproviderfound", "invalidresourcetype", "invalidresourcenamespace", "invalidapiversionparameter",
}

// noPlace are the codes of a 404 that is not about the resource itself (azure-powershell #11022 for the kinds).
var noPlace = append([]string{"resourcegroupnotfound", "subscriptionnotfound", "invalidsubscriptionid"}, unknownKind...)

// gone is a 404 for the resource that was asked for. Azure has several codes for it, and sometimes none: ResourceNotFound,
// NotFound, ParentResourceNotFound (azure-powershell #9449, azuredisk-csi-driver #2467, apcera/libretto #54).
var gone = row{effect: Gone, pause: brief}

// foreign is a 404 of a server between us and Azure.
var foreign = row{
	reason: infrav1.CloudUnreachableReason, pause: brief,
	advice: "this is not an answer of Azure; check the endpoint and the proxy of the management cluster",
}

// fallback are the rows of what we do not know, by the class of its status; zero is the end of an operation.
var fallback = map[int]row{
	http.StatusInternalServerError: {reason: infrav1.CloudUnreachableReason},
	http.StatusBadRequest: {
		kind: cloud.Exhausted, pause: slowly, advice: "correct what Azure names; the controller tries again slowly",
	},
	0: {pause: slowly, advice: "delete the Machine if it stays so, to get another VM"},
}
