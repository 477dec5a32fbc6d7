package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// azurePool is a pool whose spec says all of its place.
func azurePool(t *testing.T) string {
	t.Helper()
	_, vSphere, _ := strings.Cut(readText(t, gitFile), "      identityRef:\n")
	vSphere, _, _ = strings.Cut(vSphere, "---\n")
	return changed(t, gitFile, "      identityRef:\n"+vSphere, `      identityRef: {kind: Secret, name: azure}
      azure:
        subscriptionID: `+armsim.Subscription+`
        resourceGroup: `+armsim.Group+`
        location: `+armsim.Location+`
        vmSize: Standard_D4s_v5
        image: {id: `+armsim.ManagedImage+`}
        networkInterfaces: [{name: node, subnet: {id: `+armsim.SubnetID+`}}]
`)
}

// azureCluster says of its place what the spec leaves out.
const azureCluster = `---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureCluster
metadata:
  name: blue
spec:
  subscriptionID: ` + armsim.Subscription + `
  resourceGroup: ` + armsim.Group + `
  location: ` + armsim.Location + `
  networkSpec:
    vnet: {name: ` + armsim.VNet + `, resourceGroup: ` + armsim.NetworkGroup + `}
    subnets: [{name: ` + armsim.SubnetName + `, role: node}]
`

// azureLogin is the Secret of a principal in the simulated Azure.
func azureLogin(sim *armsim.Cloud, proof string) string {
	text := "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: azure\nstringData:\n"
	for key, value := range map[string]string{
		"tenantID": armsim.Tenant, "clientID": armsim.ClientID, "clientSecret": proof, "caBundle": string(sim.CA()),
		"resourceManagerEndpoint": sim.Endpoint(), "authority": sim.Endpoint(), "audience": sim.Endpoint(),
	} {
		text += fmt.Sprintf("  %s: %q\n", key, value)
	}
	return text
}

func TestCheckAzure(t *testing.T) {
	sim := armsim.New(t)
	pool := azurePool(t)
	login := azureLogin(sim, armsim.Secret)
	inherits := strings.NewReplacer("        resourceGroup: "+armsim.Group+"\n", "",
		"        networkInterfaces: [{name: node, subnet: {id: "+armsim.SubnetID+"}}]\n", "").Replace(pool)
	for name, c := range map[string]struct {
		input string
		code  int
		says  []string
	}{
		"well": {pool + login, exitDone, []string{
			"CHECK RESULT WHAT WAS FOUND, AND WHAT TO DO login ok Azure accepts", "subnet 1 ok", "size Standard_D4s_v5 ok 4 CPUs",
			"quota for Standard_D4s_v5 ok 0 of", "provider Microsoft.Compute ok is registered",
			"image ok windows-2022 exists and is of generation V2",
		}},
		"with an AzureCluster": {
			inherits + azureCluster + login, exitDone, []string{"resource group ok " + armsim.Group, "subnet 1 ok"},
		},
		"without an AzureCluster": {inherits + login, exitRefused, []string{"credentials failed", "spec.azure."}},
		"no such size": {
			strings.Replace(pool, "Standard_D4s_v5", "Standard_D4s_v99", 1) + login, exitRefused,
			[]string{"size Standard_D4s_v99 failed the size Standard_D4s_v99 in westeurope is not offered"},
		},
		"a wrong proof": {pool + azureLogin(sim, "canary-1234"), exitRefused, []string{"login failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := call(t, c.input, "check", "azure", "-f", "-")
			assertTable(t, got, c.code, c.says, armsim.Secret, "canary-1234")
		})
	}
}

// TestCheckAzureAsThisComputer: without the proof of the machine's identity, Azure is asked as the computer, in the cloud of the
// command line.
func TestCheckAzureAsThisComputer(t *testing.T) {
	sim := armsim.New(t)
	for name, value := range map[string]string{
		"AZURE_TENANT_ID": armsim.Tenant, "AZURE_CLIENT_ID": armsim.ClientID, "AZURE_CLIENT_SECRET": armsim.Secret,
		"AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
	} {
		t.Setenv(name, value)
	}
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	lab := fmt.Sprintf("clouds:\n- {name: Lab, resourceManagerEndpoint: %q, authority: %[1]q, caBundle: %q}\n", sim.Endpoint(),
		sim.CA())
	expect.OK(t, os.WriteFile(file, []byte(lab), 0o600))
	got := call(t, azurePool(t), "check", "azure", "-f", "-", "--azure-cloud", "Lab", "--azure-clouds", file)
	assertTable(t, got, exitDone, []string{
		"identity warning checked as " + armsim.ClientID + ", not as the machine's identity",
		"kubectl get secret azure -n default -o yaml",
		"login ok Azure accepts the credentials for tenant " + armsim.Tenant,
	}, armsim.Secret)
	got = call(t, azurePool(t), "check", "azure", "-f", "-", "--azure-cloud", "Lab")
	if got.Code != exitRefused || !strings.Contains(got.Err, "--azure-cloud=Lab is not defined: use one of AzurePublicCloud") {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Out, got.Err)
	}
}
