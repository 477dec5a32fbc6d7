package request

import (
	"encoding/json"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
)

// object is a part of a body.
type object = map[string]any

// named are separate adapters in the request for their VM, which removes them when it goes.
func named(w Want) (refs []*armcompute.NetworkInterfaceReference) {
	for i := range w.Placement.SubnetIDs {
		refs = append(refs, &armcompute.NetworkInterfaceReference{
			ID: new(w.group().Adapter(AdapterName(w.Machine, i)).String()),
			Properties: &armcompute.NetworkInterfaceReferenceProperties{
				Primary: new(i == 0), DeleteOption: new(armcompute.DeleteOptionsDelete),
			},
		})
	}
	return refs
}

// Adapter is the body of the request that makes a separate adapter. Microsoft.Network has the same members as the request for a
// VM, but for what is about the VM, and an address of its own. It is only made before its VM, never changed.
func Adapter(w Want, i int) map[string]any {
	inline := adapter(w, i).Properties
	inline.Primary, inline.DeleteOption = nil, nil
	text, _ := json.Marshal(inline) // of texts and numbers
	var properties object
	_ = json.Unmarshal(text, &properties)
	if address := wantedAdapter(w.Machine, i).PrivateAddress; address != "" {
		first := properties["ipConfigurations"].([]any)[0].(object)["properties"].(object)
		first["privateIPAllocationMethod"], first["privateIPAddress"] = "Static", address
	}
	return object{"location": w.Placement.Location, "tags": tags(w, ""), "properties": properties}
}
