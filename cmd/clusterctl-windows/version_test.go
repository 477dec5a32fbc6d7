package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestVersionForScripts: JSON and YAML have what the line has, by the names of clusterctl.
func TestVersionForScripts(t *testing.T) {
	line := call(t, "", "version").Out
	for format, read := range map[string]func([]byte, any) error{
		"json": json.Unmarshal, "yaml": func(data []byte, into any) error { return yaml.UnmarshalStrict(data, into) },
	} {
		got := call(t, "", "version", "-o", format)
		var programs map[string]map[string]string
		expect.OK(t, read([]byte(got.Out), &programs))
		ours := programs["clusterctl-windows"]
		if got.Code != exitDone || got.Err != "" || len(ours) != 3 {
			t.Errorf("%s: got %+v", format, got)
		}
		for _, name := range []string{"gitVersion", "goVersion", "platform"} {
			if ours[name] == "" || !strings.Contains(line, ours[name]) {
				t.Errorf("%s: %s is %q, and the line is %q", format, name, ours[name], line)
			}
		}
	}
}
