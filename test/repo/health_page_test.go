package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

type fields = map[string]any

// Every flavor and class has the MachineHealthCheck and the brake of docs/health.md, with which test/suites/health runs
// Cluster API's controllers.
func TestFlavorsHaveTheHealthCheck(t *testing.T) {
	page := expect.Got(os.ReadFile(filepath.Join(root, "docs", "health.md")))(t)
	blocks := strings.Split(string(page), "```yaml\n")
	check, deployment := yamlOf(t, blocks[1]), yamlOf(t, blocks[2])
	trigger := field(check, "spec", "remediation", "triggerIf")
	inFlight := field(deployment, "spec", "remediation", "maxInFlight")
	if trigger == nil || inFlight == nil {
		t.Fatalf("docs/health.md has the brake %v and the limit %v", trigger, inFlight)
	}
	want := fields{"checks": field(check, "spec", "checks"), "triggerIf": trigger, "maxInFlight": inFlight}

	files := expect.Got(filepath.Glob(filepath.Join(root, "templates", "*.yaml")))(t)
	for _, file := range files {
		if filepath.Base(file) == "cluster-template-windows.yaml" {
			continue // its pools have what the class says
		}
		expect.Same(t, "health check of the Windows pool of "+filepath.Base(file), want, healthOf(t, file))
	}
	if len(files) < 7 {
		t.Errorf("only %d templates", len(files))
	}
}

// healthOf is what a file has for its Windows pool, in the form of ClusterClass.
func healthOf(t *testing.T, file string) fields {
	t.Helper()
	got := fields{}
	for document := range strings.SplitSeq(string(expect.Got(os.ReadFile(file))(t)), "\n---\n") {
		object := yamlOf(t, document)
		switch object["kind"] {
		case "MachineHealthCheck":
			got["checks"], got["triggerIf"] = field(object, "spec", "checks"), field(object, "spec", "remediation", "triggerIf")
		case "MachineDeployment":
			if field(object, "spec", "template", "spec", "infrastructureRef", "kind") == "WindowsMachineTemplate" {
				got["maxInFlight"] = field(object, "spec", "remediation", "maxInFlight")
			}
		case "ClusterClass":
			pools, _ := field(object, "spec", "workers", "machineDeployments").([]any)
			for _, pool := range pools {
				if p := pool.(fields); p["class"] == "windows" {
					got["checks"] = field(p, "healthCheck", "checks")
					got["triggerIf"] = field(p, "healthCheck", "remediation", "triggerIf")
					got["maxInFlight"] = field(p, "healthCheck", "remediation", "maxInFlight")
				}
			}
		}
	}
	return got
}

func yamlOf(t *testing.T, text string) fields {
	t.Helper()
	text, _, _ = strings.Cut(text, "```\n")
	object := fields{}
	expect.OK(t, yaml.Unmarshal([]byte(text), &object))
	return object
}

func field(object fields, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return value
}
