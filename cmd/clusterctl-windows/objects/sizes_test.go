package objects

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	tooLargeConfiguration = " default/a: spec.kubelet.configuration has %d bytes, and at most 65536 are allowed; " +
		"remove what is not a field of a KubeletConfiguration"
	tooLargeSpec = " bytes, and at most 98304 are allowed; move the contents of files and scripts into Secrets or ConfigMaps, " +
		"and refer to them with contentFrom"
)

// withSpec is an object of a kind, in a template below spec.template.
func withSpec(t *testing.T, kind, group string, spec map[string]any) string {
	t.Helper()
	if strings.HasSuffix(kind, "Template") {
		spec = map[string]any{"template": map[string]any{"spec": spec}}
	}
	return fmt.Sprintf("apiVersion: %s.cluster.x-k8s.io/v1beta1\nkind: %s\nmetadata: {name: a}\nspec: %s\n", group, kind,
		expect.Got(json.Marshal(spec))(t))
}

func admitText(t *testing.T, text string) error {
	t.Helper()
	return expect.Got(readText(t, "x.yaml", text))(t).Admit()
}

// TestSizes has the cases of test/suites/admission, which asks an API server with the policy.
func TestSizes(t *testing.T) {
	const overhead = len(`{"field":""}`)
	filled := func(letter string, times int) map[string]any {
		return map[string]any{"field": strings.Repeat(letter, times)}
	}
	files := func(count int) map[string]any {
		var all []any
		for i := range count {
			all = append(all, map[string]any{"path": fmt.Sprintf(`C:\etc\%d`, i), "content": strings.Repeat("x", 32<<10)})
		}
		return map[string]any{"files": all}
	}
	for name, c := range map[string]struct {
		configuration, custom map[string]any
		refused               string
	}{
		"64 KiB":               {configuration: filled("x", 64<<10-overhead)},
		"a byte more":          {configuration: filled("x", 64<<10-overhead+1), refused: fmt.Sprintf(tooLargeConfiguration, 65537)},
		"600 KiB":              {configuration: filled("x", 600<<10), refused: fmt.Sprintf(tooLargeConfiguration, 600<<10+overhead)},
		"letters of two bytes": {configuration: filled("ü", 40<<10), refused: fmt.Sprintf(tooLargeConfiguration, 80<<10+overhead)},
		"files of 64 KiB":      {custom: files(2)},
		"files of 1,300 KiB":   {custom: files(40), refused: tooLargeSpec},
	} {
		spec := map[string]any{}
		if c.configuration != nil {
			spec["kubelet"] = map[string]any{"configuration": c.configuration}
		}
		if c.custom != nil {
			spec["custom"] = c.custom
		}
		for _, kind := range []string{"WindowsBootstrapConfig", "WindowsBootstrapConfigTemplate"} {
			expect.Says(t, kind+": "+name, admitText(t, withSpec(t, kind, "bootstrap", spec)), c.refused)
		}
	}
}

// TestTextBytes: what the policy formats is not quite JSON.
func TestTextBytes(t *testing.T) {
	for want, value := range map[string]any{
		`{}`: map[string]any{}, `[]`: []any{}, `null`: nil, `true`: true, `-7`: int64(-7), `1.500000`: 1.5, `"a\nü\""`: "a\nü\"",
		`{"a":1, "b":[1, 2, {"c":null}]}`: map[string]any{
			"a": int64(1), "b": []any{int64(1), int64(2), map[string]any{"c": nil}},
		},
	} {
		expect.Same(t, "bytes of "+want, len(want), textBytes(value))
	}
}

// TestPolicyOfSizes: the policy has the numbers and words of checkSizes.
func TestPolicyOfSizes(t *testing.T) {
	policy := strings.Join(strings.Fields(string(expect.Got(os.ReadFile("../../../config/policy/object_sizes.yaml"))(t))), " ")
	for _, part := range []string{
		fmt.Sprintf("variables.bytesOfConfiguration <= %d ", mostOfConfiguration),
		fmt.Sprintf("'spec.kubelet.configuration has ' + string(variables.bytesOfConfiguration) + ' bytes, and at most %d are "+
			"allowed; remove what is not a field of a KubeletConfiguration'", mostOfConfiguration),
		fmt.Sprintf("variables.bytesOfSpec <= %d ", mostOfSpec),
		fmt.Sprintf("'the spec has ' + string(variables.bytesOfSpec) + ' bytes, and at most %d are allowed; ' + "+
			"variables.advice", mostOfSpec),
		"'move the contents of files and scripts into Secrets or ConfigMaps, and refer to them with contentFrom' : " +
			"'use fewer or shorter values'",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy does not have: %s", part)
		}
	}
}
