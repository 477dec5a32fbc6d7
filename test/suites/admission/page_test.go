package admission

import (
	"os"
	"regexp"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The API server accepts every example in docs/bootstrap.md.
func TestExamplesOfThePage(t *testing.T) {
	content := expect.Got(os.ReadFile("../../../docs/bootstrap.md"))(t)
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(content), -1)
	if len(examples) == 0 {
		t.Fatal("the page has no examples")
	}
	for _, example := range examples {
		made := newObject("WindowsBootstrapConfig")
		set(made.Object, "spec", parse(example[1]))
		if err := create(t, made); err != nil {
			t.Errorf("%v of:\n%s", err, example[1])
		}
	}
}
