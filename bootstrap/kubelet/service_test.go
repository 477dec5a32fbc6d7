package kubelet

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// The command line that a check compares is the one that a service step writes.
func TestQuotesAsAServiceStep(t *testing.T) {
	for _, argument := range []string{
		"", "a", "a b", "a\tb", "a\nb", "a\vb", "a\fb", "a\rb", `a"b`, `a\"b`, `a\\" b\\`, `C:\logs\`, `C:\my logs\`,
		`"`, `\`, ` `, `$1 ${1}`,
		"a\u0085b", "a\u00a0b", "a\u2028b", "a\u3000b", "\u00e9 \u4e2d",
	} {
		expect.Same(t, argument, windows.JoinArguments([]string{argument}), quoted(argument))
	}
}
