package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// The flavor has the MachineHealthCheck of docs/health.md, with which test/controllers runs Cluster API's controller.
func TestFlavorHasTheHealthCheck(t *testing.T) {
	page := expect.Got(os.ReadFile(filepath.Join(root, "docs", "health.md")))(t)
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	recipe, _, _ := strings.Cut(rest, "```\n")
	flavor := expect.Got(os.ReadFile(filepath.Join(root, "templates", "cluster-template-windows-vsphere.yaml")))(t)
	objects := strings.Split(string(flavor), "\n---\n")

	var want, got clusterv1.MachineHealthCheck
	expect.OK(t, yaml.UnmarshalStrict([]byte(recipe), &want))
	expect.OK(t, yaml.UnmarshalStrict([]byte(objects[len(objects)-1]), &got))
	if want.Spec.Checks.NodeStartupTimeoutSeconds == nil {
		t.Error("docs/health.md has no MachineHealthCheck")
	}
	expect.Same(t, "checks of the flavor", want.Spec.Checks, got.Spec.Checks)
}
