package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestOutput: programs get the same findings as people, and the exit code says the same.
func TestOutput(t *testing.T) {
	v := vcenter.New(t)
	input := strings.Replace(checkedPool(t), "template: "+vcenter.Template, "template: elsewhere", 1) + checkedLogin(v)
	check := func(format ...string) ended {
		got := call(t, input, append([]string{"check", "vsphere", "-f", "-"}, format...)...)
		if got.Code != exitRefused || !strings.Contains(got.Err, "cannot be made") {
			t.Fatalf("%v: exit code %d\n%s%s", format, got.Code, got.Out, got.Err)
		}
		return got
	}
	table := check()
	var fromJSON, fromYAML report.FindingList
	expect.OK(t, json.Unmarshal([]byte(check("-o", "json").Out), &fromJSON))
	expect.OK(t, yaml.UnmarshalStrict([]byte(check("--output=yaml").Out), &fromYAML))
	names := strings.Fields(check("-o", "name").Out)
	if fromJSON.Kind != "FindingList" || len(fromJSON.Items) < 5 || len(names) != len(fromJSON.Items) {
		t.Fatalf("%d findings and %d names in %s %s", len(fromJSON.Items), len(names), fromJSON.APIVersion, fromJSON.Kind)
	}
	failed := 0
	for i, one := range fromJSON.Items {
		// Some findings have a time in their text, so that only what they are about is the same in two calls.
		if same := fromYAML.Items[i]; one.Check != same.Check || one.Result != same.Result || one.Name != same.Name {
			t.Errorf("JSON has %+v, YAML %+v", one, same)
		}
		if want := "finding.windows.cluster.x-k8s.io/" + one.Name; names[i] != want || one.Name == "" {
			t.Errorf("the name of %q is %s, want %s", one.Check, names[i], want)
		}
		if !strings.Contains(table.Out, one.Check+" ") {
			t.Errorf("the table has no %s", one.Check)
		}
		if one.Result == "failed" {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d findings failed, want that of the template", failed)
	}
}
