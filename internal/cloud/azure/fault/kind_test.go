package fault

import (
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// TestUnknownKind: a 404 for one resource says that it is gone, unless Azure does not know its kind.
func TestUnknownKind(t *testing.T) {
	for code, want := range map[string]Effect{
		"": Gone, "NotFound": Gone, "InvalidResourceType": NoEffect, "InvalidResourceNamespace": NoEffect,
		"NoRegisteredProviderFound":  NoEffect,
		"INVALIDAPIVERSIONPARAMETER": NoEffect, "ResourceGroupNotFound": GroupGone,
	} {
		got := Judge(Answer{Status: 404, Code: code, Message: "m", ByID: true})
		if got.Effect != want || want == NoEffect && got.Error.Reason != infrav1.SpecInvalidReason {
			t.Errorf("%s: %+v", code, got)
		}
	}
}
