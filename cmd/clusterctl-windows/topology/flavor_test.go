package topology

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// variables are what a user sets for the flavor windows.
var variables = map[string]string{
	"CLUSTER_NAME": "prod", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.36.3", "CONTROL_PLANE_MACHINE_COUNT": "1",
	"VSPHERE_SERVER": "vcenter.example.com", "VSPHERE_DATACENTER": "dc0", "VSPHERE_DATASTORE": "store", "VSPHERE_FOLDER": "nodes",
	"VSPHERE_NETWORK": "VM Network", "VSPHERE_RESOURCE_POOL": "windows", "VSPHERE_TEMPLATE": "ubuntu-2404-kube-v1.36.3",
	"VSPHERE_TLS_THUMBPRINT_SHA256": strings.TrimSuffix(strings.Repeat("AB:", 32), ":"), "CONTROL_PLANE_ENDPOINT_IP": "192.0.2.10",
	"VSPHERE_SSH_AUTHORIZED_KEY": "ssh-rsa AAAA", "VSPHERE_WINDOWS_TEMPLATE": "windows-2022-kube-v1.36.3",
	"AZURE_SUBSCRIPTION_ID": "00000000-0000-0000-0000-000000000000", "AZURE_LOCATION": "westeurope",
	"CLUSTER_IDENTITY_NAME": "azure", "WORKER_MACHINE_COUNT": "1",
	"AZURE_NODE_IDENTITY": "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/identities/providers/" +
		"Microsoft.ManagedIdentity/userAssignedIdentities/nodes",
	"AZURE_SSH_PUBLIC_KEY_B64": "c3NoLXJzYSBBQUFB",
}

// rendered is a template with the variables filled in, as clusterctl does it. test/suites/release has clusterctl itself do it.
func rendered(t *testing.T, file, cloud string) string {
	t.Helper()
	raw := expect.Got(os.ReadFile("../../../templates/" + file))(t)
	text := expect.Got(yamlprocessor.NewSimpleProcessor().Process(raw, func(name string) (string, error) {
		if name == "WINDOWS_CLOUD" {
			return cloud, nil
		}
		value, found := variables[name]
		if !found {
			return "", fmt.Errorf("%s is not set", name)
		}
		return value, nil
	}))(t)
	return strings.ReplaceAll(string(text), "HASH", "7c1915a9")
}

// class is the ClusterClass of a cloud with its templates.
func class(t *testing.T, cloud string) string {
	t.Helper()
	return rendered(t, "clusterclass-windows-"+cloud+".yaml", cloud)
}

// cluster is the Cluster of the flavor windows alone, in one document.
func cluster(t *testing.T, cloud string) string {
	t.Helper()
	for document := range strings.SplitSeq(rendered(t, "cluster-template-windows.yaml", cloud), "\n---\n") {
		if strings.Contains(document, "\nkind: Cluster\n") {
			return document + "\n"
		}
	}
	t.Fatal("the flavor has no Cluster")
	return ""
}

// files are a Cluster and its class, where the first text that stands there is another one, and so on.
func files(t *testing.T, cloud string, oldnew ...string) string {
	t.Helper()
	return edited(t, cluster(t, cloud)+"---\n"+class(t, cloud), oldnew...)
}

func edited(t *testing.T, text string, oldnew ...string) string {
	t.Helper()
	for ; len(oldnew) > 1; oldnew = oldnew[2:] {
		if !strings.Contains(text, oldnew[0]) {
			t.Fatalf("there is no %q in\n%s", oldnew[0], text)
		}
		text = strings.Replace(text, oldnew[0], oldnew[1], 1)
	}
	return text
}

// setOf are the objects of a text.
func setOf(t *testing.T, text string) *objects.Set {
	t.Helper()
	return expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t)
}
