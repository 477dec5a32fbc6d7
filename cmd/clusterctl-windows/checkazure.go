package main

import (
	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
)

func checkAzureCommand(s streams) *cobra.Command {
	c := cloudCheck{cloud: azure.Provider{}.Name(), people: "Azure", s: s}
	cmd := c.complete(&cobra.Command{
		Use: "azure -f FILE", Short: "compare a spec with Azure",
		Long: `Checks in Azure, before a machine is made, whether it accepts the identity, has what the spec names, and gives the
identity the rights that are needed, and whether the size fits. It changes nothing in Azure, and shows no secret. The exit code is
1 if a machine of this spec cannot be made.
The login comes from the Secret that identityRef names, or from the AzureClusterIdentity of the machine or of the AzureCluster,
if FILE has its Secret. For every other identity the check logs in as this computer, with the variables AZURE_*, its managed
identity, or who is logged in with az login, and the table shows which. Nothing from FILE decides which cloud is called: it is
that of --azure-cloud, or of AZURE_AUTHORITY_HOST, or the public one.
What a spec leaves to the AzureCluster is read from that, if FILE has it.`,
		Example: `  PROGRAM check azure -f pool.yaml
  PROGRAM check azure -f pool.yaml -f secret.yaml -o yaml`,
	})
	cmd.Flags().StringVar(&c.options.AzureCloud, "azure-cloud", "",
		"`NAME` of the cloud for this computer's own identity, such as AzureUSGovernmentCloud")
	cmd.Flags().StringVar(&c.options.AzureClouds, "azure-clouds", "", "`FILE` with clouds to name, as that of the manager")
	return cmd
}
