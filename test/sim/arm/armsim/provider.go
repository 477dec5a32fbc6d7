package armsim

import (
	"net/http"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

func (in *Inside) unregistered(namespace string) bool {
	return slices.ContainsFunc(in.Faults.Unregistered, func(one string) bool { return doc.Same(one, namespace) })
}

// provider tells whether a subscription may use a resource provider [D resources/providers].
func (in *Inside) provider(q *request) (*answer, *reply.Error) {
	if q.Method != http.MethodGet {
		return nil, notAllowed(q)
	}
	state := "Registered"
	if in.unregistered(q.id.Provider) {
		state = "NotRegistered"
	}
	shown := doc.Object{
		"id": "/subscriptions/" + q.id.Subscription + "/providers/" + q.id.Provider, "namespace": q.id.Provider,
		"registrationState": state, "registrationPolicy": "RegistrationRequired",
	}
	if doc.Same(q.id.Provider, compute.Provider) { // as far as clients ask for the zones of regions
		shown["resourceTypes"] = doc.Objects(doc.Object{
			"resourceType": "virtualMachines", "locations": []any{"West Europe"},
			"zoneMappings": doc.Objects(doc.Object{"location": "West Europe", "zones": []any{"1", "2", "3"}}),
		})
	}
	return ok(shown), nil
}

// image shows an image, the definition of one in a gallery, or a version.
func (in *Inside) image(q *request) (*answer, *reply.Error) {
	if q.Method != http.MethodGet {
		return nil, notAllowed(q)
	}
	if q.action == "versions" && strings.Contains(strings.ToLower(q.id.Type()), "publishers") {
		return in.read(q)
	}
	if body := in.Compute.ShowImage(q.id, q.action == "versions"); body != nil {
		return ok(body), nil
	}
	return nil, reply.ResourceNotFound(q.id.Type(), strings.Join(q.id.Names, "/"), q.id.Group)
}
