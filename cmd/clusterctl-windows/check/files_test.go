package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// pool is a MachineDeployment with its templates, and what its spec says of Azure.
func pool(replicas int, azure string) string {
	return fmt.Sprintf(`apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: blue-windows}
spec:
  clusterName: blue
  replicas: %d
  selector: {}
  template:
    spec:
      clusterName: blue
      version: v1.36.3
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsBootstrapConfigTemplate, name: blue}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachineTemplate, name: blue}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: WindowsBootstrapConfigTemplate
metadata: {name: blue}
spec: {template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachineTemplate
metadata: {name: blue}
spec:
  template:
    spec:
%s`, replicas, azure)
}

// whole is a spec that says all of its place, with an identity or none.
func whole(identity string) string {
	return identity + `
      azure:
        subscriptionID: ` + armsim.Subscription + `
        resourceGroup: ` + armsim.Group + `
        location: ` + armsim.Location + `
        vmSize: Standard_D4s_v5
        image: {id: ` + armsim.ManagedImage + `}
        networkInterfaces: [{name: node, subnet: {id: ` + armsim.SubnetID + `}}]
`
}

const (
	aSecret     = "      identityRef: {kind: Secret, name: azure}"
	anIdentity  = "      identityRef: {kind: AzureClusterIdentity, name: nodes}"
	theirClient = "99999999-0000-4000-8000-000000000009"
	theirTenant = "88888888-0000-4000-8000-000000000008"
)

// clusterIdentity is an AzureClusterIdentity of a type, with the client and tenant of another team.
func clusterIdentity(kind, more string) string {
	return `---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: nodes}
spec:
  type: ` + kind + `
  clientID: ` + theirClient + `
  tenantID: ` + theirTenant + `
  allowedNamespaces: {}
` + more
}

func secret(name string, data map[string]string) string {
	text := "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\nstringData:\n"
	for key, value := range data {
		text += fmt.Sprintf("  %s: %q\n", key, value)
	}
	return text
}

// checkedIn is what a cloud's check finds for files; a refusal before the cloud is asked is a finding, too.
func checkedIn(t *testing.T, name, text string, options Options) []cloud.Finding {
	t.Helper()
	files := expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t)
	target, err := Gather(files, name, "", options)
	var found []cloud.Finding
	if err == nil {
		found, err = target.Run(t.Context(), nil)
	}
	if err != nil {
		return []cloud.Finding{{Check: "credentials", Result: cloud.CheckFailed, Text: err.Error()}}
	}
	return found
}

// bareComputer is an environment in which Azure's SDK finds nothing, and asks no service of a node whether it is there.
func bareComputer(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_USERNAME",
		"AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "IMDS_ENDPOINT",
		"AZURE_POD_IDENTITY_AUTHORITY_HOST", "AZURE_ADDITIONALLY_ALLOWED_TENANTS", "HTTPS_PROXY", "https_proxy",
	} {
		t.Setenv(name, "")
		expect.OK(t, os.Unsetenv(name)) // the SDK tells empty variables from none; t.Setenv brings them back
	}
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
}

// asApp has the computer be an app, by a client secret.
func asApp(t *testing.T) {
	t.Helper()
	bareComputer(t)
	t.Setenv("AZURE_TENANT_ID", armsim.Tenant)
	t.Setenv("AZURE_CLIENT_ID", armsim.ClientID)
	t.Setenv("AZURE_CLIENT_SECRET", armsim.Secret)
}

// cloudsFile describes clouds as the manager's file does.
func cloudsFile(t *testing.T, entries ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	expect.OK(t, os.WriteFile(file, []byte("clouds:\n"+strings.Join(entries, "")), 0o600))
	return file
}

func cloudEntry(name, endpoint string, ca []byte) string {
	return fmt.Sprintf("- name: %s\n  resourceManagerEndpoint: %s\n  authority: %[2]s\n  caBundle: |\n    %[3]s\n", name, endpoint,
		strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n    "))
}

// labOptions name the simulated Azure.
func labOptions(t *testing.T, sim *armsim.Cloud) Options {
	t.Helper()
	return Options{AzureCloud: "Lab", AzureClouds: cloudsFile(t, cloudEntry("Lab", sim.Endpoint(), sim.CA()))}
}
