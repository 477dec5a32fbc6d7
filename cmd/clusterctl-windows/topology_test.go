package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A shell offers the pools of a topology, too, and nothing of a topology that cannot be expanded.
func TestCompletesPoolsOfTopologies(t *testing.T) {
	class := string(expect.Got(os.ReadFile("../../templates/clusterclass-windows-azure.yaml"))(t))
	const cluster = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: prod}
spec:
  topology:
    classRef: {name: windows-azure}
    version: v1.36.3
    workers: {machineDeployments: [{class: windows, name: windows}, {class: linux, name: linux}, {class: windows, name: build}]}
    variables:
    - name: azure
      value:
        subscriptionID: 00000000-0000-0000-0000-000000000000
        location: westeurope
        identity: azure
        nodeIdentity: nodes
        controlPlaneSize: Standard_D2s_v5
        linuxSize: Standard_D2s_v5
        sshPublicKey: c3NoLXJzYSBBQUFB
        windowsSize: Standard_D4s_v5
---
`
	for text, want := range map[string][]string{
		cluster + strings.NewReplacer("${NAMESPACE}", "default", "HASH", "1").Replace(class): {"prod-build-1", "prod-windows-1"},
		cluster: nil,
	} {
		file := filepath.Join(t.TempDir(), "cluster.yaml")
		expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
		files := fileFlags{files: []string{file}}
		expect.Same(t, "machines", want, files.machines())
	}
}
