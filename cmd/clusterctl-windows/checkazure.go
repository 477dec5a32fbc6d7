package main

import "github.com/spf13/cobra"

func checkAzureCommand(s streams) *cobra.Command {
	c := cloudCheck{cloud: "azure", people: "Azure", s: s}
	return c.complete(&cobra.Command{
		Use: "azure -f FILE", Short: "compare a spec with Azure",
		Long: `Asks Azure, before a machine is made: whether it lets the identity in, has what the spec names, and gives the identity
the rights that are needed, and whether the size fits. It changes nothing in Azure, and shows no secret. The exit code is 1 if a
machine of this spec cannot be made.
The login comes from the Secret that identityRef names, or else from AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET.
What a spec leaves to the AzureCluster is read from that, if FILE has it.`,
		Example: `  PROGRAM check azure -f pool.yaml
  PROGRAM check azure -f pool.yaml -f secret.yaml -o yaml`,
	})
}
