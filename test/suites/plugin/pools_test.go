package plugin

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// pools is a file with a Cluster and as many pools of Windows machines, each with what a user of all of its fields writes: files,
// scripts, registries, users, firewall rules.
func pools(count int) string {
	var text strings.Builder
	text.WriteString(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: prod
spec:
  controlPlaneEndpoint: {host: 10.0.0.10, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: prod}
`)
	for i := range count {
		text.WriteString(strings.ReplaceAll(pool, "POOL", fmt.Sprintf("pool-%d", i+1)))
	}
	return text.String()
}

// vSphereLogin is what the Secret of a pool has for its vCenter.
const vSphereLogin = `  server: vcenter.example.com
  username: capwin@vsphere.local
  password: change-me
`

const pool = `---
apiVersion: v1
kind: Secret
metadata:
  name: POOL
stringData:
` + vSphereLogin + `  license: a-license-of-the-app
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachineTemplate
metadata:
  name: POOL
spec:
  template:
    spec:
      identityRef: {kind: Secret, name: POOL}
      vsphere:
        datacenter: dc0
        image: {template: windows-2022-efi-kube-v1.36.3}
        folder: nodes
        resourcePool: windows
        networkInterfaces: [{name: node, network: VM Network}]
        cpus: 4
        memoryMiB: 16384
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: WindowsBootstrapConfigTemplate
metadata:
  name: POOL
spec:
  template:
    spec:
      bootstrapDeadlineSeconds: 1500
      node:
        labels: {example.com/pool: POOL}
      windows:
        timeZone: UTC
        ntpServers: [time.example.com]
      containerd:
        registries:
        - {host: docker.io, mirrors: [{url: 'https://mirror.example.com'}]}
      custom:
        files:
        - {path: 'C:\app\license.txt', contentFrom: {secret: {name: POOL, key: license}}}
        preJoin: [{name: pre, content: exit 0}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: POOL
spec:
  clusterName: prod
  replicas: 3
  selector: {}
  template:
    spec:
      clusterName: prod
      version: v1.36.3
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsBootstrapConfigTemplate, name: POOL}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachineTemplate, name: POOL}
`

// topologyPools is a file with the class of the flavor windows on vSphere and a Cluster with as many pools of Windows machines.
// Each pool has variables of its own.
func topologyPools(t *testing.T, count int) string {
	t.Helper()
	class := expect.Got(os.ReadFile(root + "/templates/clusterclass-windows-vsphere.yaml"))(t)
	var text strings.Builder
	text.WriteString(strings.NewReplacer("${NAMESPACE}", "default", "HASH", "12345678").Replace(string(class)))
	text.WriteString("---\n" + topology)
	for i := range count {
		fmt.Fprintf(&text, `      - class: windows
        name: pool-%d
        replicas: 3
        variables:
          overrides:
          - name: windows
            value: {maxPods: %d, systemReservedMemory: 2Gi, kubeReservedMemory: 1465Mi}
`, i+1, 50+i)
	}
	return text.String()
}

const topology = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: prod
spec:
  topology:
    classRef: {name: windows-vsphere}
    version: v1.36.3
    controlPlane: {replicas: 3}
    variables:
    - name: vsphere
      value:
        server: vcenter.example.com
        thumbprint: AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB
        controlPlaneEndpointIP: 192.0.2.10
        datacenter: dc0
        datastore: ssd
        folder: nodes
        network: VM Network
        resourcePool: windows
        linuxTemplate: ubuntu-2404-kube-v1.36.3
        windowsTemplate: windows-2022-efi-kube-v1.36.3
        sshAuthorizedKey: ssh-rsa AAAA
    workers:
      machineDeployments:
`
