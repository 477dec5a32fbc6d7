package agree

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// name is that of a Machine, or of a MachineDeployment and its templates.
const name = "windows"

// pool is what every file has.
type pool struct{ cluster, windows, config, owner object }

// poolOf is the good pool of a cloud and a kind of owner.
func poolOf(cloud, owner string) pool {
	var p pool
	for text, into := range map[string]*object{clusterYAML: &p.cluster, windowsYAML[cloud]: &p.windows, configYAML: &p.config} {
		mustParse("pool", text, into)
	}
	if owner == machine {
		mustParse("pool", machineYAML, &p.owner)
		return p
	}
	mustParse("pool", deploymentYAML, &p.owner)
	for _, one := range []object{p.windows, p.config} {
		one["kind"] = one["kind"].(string) + "Template" //nolint:forcetypeassert // because it is a text above
		one["spec"] = object{"template": object{"spec": one["spec"]}}
	}
	return p
}

// specOf is the spec of a part, in a template, too.
func (p pool) specOf(part string) object {
	of := map[string]object{"windows": p.windows, "config": p.config}[part]
	spec, _ := of["spec"].(object)
	if template, ok := spec["template"].(object); ok {
		spec, _ = template["spec"].(object)
	}
	return spec
}

const clusterYAML = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: ` + world.ClusterName + `}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.244.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}, serviceDomain: cluster.local}
  controlPlaneEndpoint: {host: 10.0.0.10, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: ExternalCluster, name: ` + world.ClusterName + `}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: ExternalControlPlane, name: ` + world.ClusterName + `}`

var windowsYAML = map[string]string{
	onVSphere: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachine
metadata: {name: windows}
spec:
  identityRef: {kind: Secret, name: vcenter}
  vsphere:
    datacenter: ` + vcenter.Datacenter + `
    folder: ` + vcenter.Folder + `
    resourcePool: ` + vcenter.ResourcePool + `
    image: {template: ` + vcenter.Template + `}`,
	inAzure: `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachine
metadata: {name: windows}
spec:
  identityRef: {kind: Secret, name: azure}
  azure:
    subscriptionID: ` + armsim.Subscription + `
    resourceGroup: ` + armsim.Group + `
    location: ` + armsim.Location + `
    vmSize: Standard_D4s_v5
    image: {id: ` + armsim.GalleryImage + `/versions/1.36.3}
    networkInterfaces: [{name: node, subnet: {id: $SUBNET}}]`,
}

const configYAML = `
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: WindowsBootstrapConfig
metadata: {name: windows}
spec: {}`

const machineYAML = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: windows}
spec:
  clusterName: ` + world.ClusterName + `
  version: v1.36.3
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsBootstrapConfig, name: windows}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachine, name: windows}`

const deploymentYAML = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: windows}
spec:
  clusterName: ` + world.ClusterName + `
  replicas: 1
  template:
    spec:
      clusterName: ` + world.ClusterName + `
      version: v1.36.3
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsBootstrapConfigTemplate, name: windows}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachineTemplate, name: windows}`

// sources are a Secret and a ConfigMap, to which all files may refer.
func sources() []object {
	ca := authority()
	content := object{
		"script.ps1": "Write-Output hello", "limits.toml": "version = 3\n", "ca.crt": ca, "username": "ops", "password": "s3cret",
		"kubeconfig": kubeconfig(ca), "broken.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"app.conf": "a=b\n", "words": "hello",
	}
	return []object{
		{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "files"}, "stringData": content},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "files"}, "data": content},
	}
}

func kubeconfig(ca string) string {
	return `{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", ` +
		`"user": "a"}}], "users": [], "clusters": [{"name": "a", "cluster": {"server": "https://10.0.0.10:6443", ` +
		`"certificate-authority-data": "` + base64.StdEncoding.EncodeToString([]byte(ca)) + `"}}]}`
}

// authority is the certificate of a CA, as PEM. Each run has its own.
var authority = sync.OnceValue(func() string {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
})

// noise is a text that no compression makes shorter than two thirds.
var noise = sync.OnceValue(func() string {
	var text []byte
	for block := sha256.Sum256([]byte("noise")); len(text) < 20000; block = sha256.Sum256(block[:]) {
		text = append(text, block[:]...)
	}
	return base64.StdEncoding.EncodeToString(text)
})

// publicKey is that of nobody.
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7x1x8M3N8pEb1oQx4y1e7VxWk2uJvH6cN4tYpQmZ0a ops@example.com"

// filled puts longer values into a part of the corpus.
func filled(text string) string {
	certificate, err := json.Marshal(authority()) // a text of JSON is one of YAML
	if err != nil {
		panic(err)
	}
	const compute = "/subscriptions/" + armsim.Subscription + "/resourceGroups/" + armsim.Group + "/providers/Microsoft.Compute"
	return strings.NewReplacer(
		"$CERTIFICATE", string(certificate), "$KEY", publicKey, "$SUBSCRIPTION", armsim.Subscription, "$GUID", armsim.Subscription,
		"$SUBNET", armsim.SubnetID, "$FIREWALL", armsim.NSGID, "$SECURITY", armsim.ASGID, "$BACKEND", armsim.PoolID,
		"$IDENTITY", armsim.IdentityID, "$COMPUTE", compute, "$GALLERY", armsim.GalleryImage, "$GROUP", armsim.Group,
		"$NETWORK", armsim.NetworkGroup, "$LOCATION", armsim.Location, "$VNET", armsim.VNet, "$NODES", armsim.SubnetName,
		"$LONG", strings.Repeat("a", 64), "$SEVENTY", strings.Repeat("a", 70), "$NOISE", noise(),
	).Replace(text)
}
