package workload

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestNameOfLeftOut: the first bytes of an object that is too large say which one it is, as an API server writes them.
func TestNameOfLeftOut(t *testing.T) {
	const meta = `{"type":"DELETED","object":{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"name":"a",`
	long := strings.Repeat("x", 100)
	for text, want := range map[string]string{
		meta + `"namespace":"b","uid":"c","annotations":{"name":"` + long:                      "b/a",
		meta + `"uid":"c","annotations":{"` + long:                                             "/a",
		meta + `"generateName":"` + long:                                                       "",
		`{"type":"ADDED","object":{"metadata":{"annotations":{"name":"x","uid":"y"},"na`:       "",
		`{"type":"ADDED","object":{"spec":[{"metadata":{"name":"x","uid":"y"}},{"a":["` + long: "",
		`{"type":"ADDED","object":[{"metadata":{"name":"x","uid":"y"}}`:                        "",
		``: "", `{`: "", `]`: "",
	} {
		expect.Same(t, text, want, leftOut([]byte(text)).Of)
	}
	expect.Same(t, "gone", true, leftOut([]byte(meta)).Gone)
}
