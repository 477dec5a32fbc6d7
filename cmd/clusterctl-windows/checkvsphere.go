package main

import (
	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

func checkVSphereCommand(s streams) *cobra.Command {
	c := cloudCheck{cloud: vsphere.Provider{}.Name(), people: "the vCenter", s: s}
	return c.complete(&cobra.Command{
		Use: "vsphere -f FILE", Short: "compare a spec with its vCenter",
		Long: `Checks in the vCenter, before a machine is made, whether it accepts the account, has what the spec names, and gives the
account the rights that are needed, and whether the template fits. It changes nothing in the vCenter, and shows no secret. The
exit code is 1 if a machine of this spec cannot be made.
The login comes from the Secret that identityRef names, or else from VSPHERE_SERVER, VSPHERE_USERNAME, VSPHERE_PASSWORD and
VSPHERE_TLS_THUMBPRINT_SHA256.`,
		Example: `  PROGRAM check vsphere -f pool.yaml
  PROGRAM check vsphere -f pool.yaml --context management -n default
  PROGRAM check vsphere -f pool.yaml -f secret.yaml --machine prod-windows-1 -o json`,
	})
}
