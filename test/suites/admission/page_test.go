package admission

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/pages"
)

// The API server accepts every example in docs/bootstrap.md.
func TestExamplesOfThePage(t *testing.T) {
	for _, example := range pages.YAML(t, "../../../docs/bootstrap.md") {
		made := newObject("WindowsBootstrapConfig")
		set(made.Object, "spec", parse(example))
		if err := create(t, made); err != nil {
			t.Errorf("%v of:\n%s", err, example)
		}
	}
}
