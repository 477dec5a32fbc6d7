package version

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestLine(t *testing.T) {
	if want := regexp.MustCompile(`^manager \S+, go1\.\S+, \w+/\w+$`); !want.MatchString(Line("manager")) {
		t.Errorf("got %q", Line("manager"))
	}
	release = "v9.8.7"
	t.Cleanup(func() { release = "" })
	if got := Line("manager"); !strings.HasPrefix(got, "manager v9.8.7, go1.") {
		t.Errorf("got %q", got)
	}
}

// The linker says nothing of a variable that does not exist.
func TestAllWhoBuildSetTheRelease(t *testing.T) {
	const variable = "-X github.com/capwin/cluster-api-provider-windows/internal/version.release="
	for _, file := range []string{"Makefile", "Dockerfile", "hack/image/main.go"} {
		text := string(expect.Got(os.ReadFile("../../" + file))(t))
		if !strings.Contains(text, variable) || strings.Contains(text, "-X main.") {
			t.Errorf("%s does not set %s", file, variable)
		}
	}
}
