package rules

import (
	"net/http"
	"slices"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// partRules are those of what a VM's agent does: extensions and run commands.
var partRules = []Rule{
	{"extension's handler", func(r Request) *reply.Error {
		for _, field := range []string{"publisher", "type", "typeHandlerVersion"} {
			if r.Create && r.ID.Is("Microsoft.Compute/virtualMachines/extensions") && !doc.Has(r.Body, "properties", field) {
				return reply.InvalidParameter(field, "Required parameter '%s' is missing (null).", field)
			}
		}
		return nil
	}},
	{"run command's source", func(r Request) *reply.Error {
		if !r.Create || !r.ID.Is("Microsoft.Compute/virtualMachines/runCommands") {
			return nil
		}
		for _, field := range []string{"script", "scriptUri", "commandId"} {
			if doc.Has(r.Body, "properties", "source", field) {
				return nil
			}
		}
		return reply.New(http.StatusBadRequest, "InvalidParameter", "Required parameter 'source' is missing (null).").At("source")
	}},
}

// Part lists the rules of an extension's or a run command's body.
func Part() []Rule { return slices.Concat(front, partRules) }

var partAll = Part()

// CheckPart returns the first rule's refusal.
func CheckPart(r Request) *reply.Error { return check(partAll, r) }
