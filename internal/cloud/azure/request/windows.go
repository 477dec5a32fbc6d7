package request

import (
	"cmp"
	"encoding/base64"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// admin is the account that Azure demands. Its password is kept nowhere.
const admin = "capwin"

// system is Windows' part. Windows does not update itself unless the spec asks for it: nodes are replaced.
func system(w Want) *armcompute.OSProfile {
	spec := w.Machine.Spec.Azure
	mode := cmp.Or(spec.Windows.PatchMode, infrav1.AzurePatchManual)
	return &armcompute.OSProfile{
		ComputerName:             &w.Machine.Name,
		AdminUsername:            new(admin),
		AdminPassword:            &w.Password,
		CustomData:               new(base64.StdEncoding.EncodeToString(w.UserData)),
		AllowExtensionOperations: enabled(spec.ExtensionOperations),
		WindowsConfiguration: &armcompute.WindowsConfiguration{
			ProvisionVMAgent:       new(true),
			EnableAutomaticUpdates: new(mode != infrav1.AzurePatchManual),
			TimeZone:               optional(spec.Windows.TimeZone),
			PatchSettings: &armcompute.PatchSettings{
				PatchMode:         new(armcompute.WindowsVMGuestPatchMode(mode)),
				AssessmentMode:    optional(armcompute.WindowsPatchAssessmentMode(spec.Windows.AssessmentMode)),
				EnableHotpatching: enabled(spec.Windows.Hotpatch),
			},
		},
	}
}
