package plugin

import (
	"strings"
	"testing"
)

// A class whose templates never end, or take all memory, does not take the computer with it.
func TestEndlessPatch(t *testing.T) {
	const written = "            Calico\n"
	text := topologyPools(t, 1)
	for _, endless := range []string{
		`{{ range until 2000000000 }}x{{ end }}`, `{{ repeat 4000000000 "x" }}`,
		`{{ range until 30000 }}{{ range until 30000 }}{{ printf "%100000d" 1 }}{{ end }}{{ end }}`,
	} {
		if !strings.Contains(text, written) {
			t.Fatal("the class has no such template")
		}
		file := inFile(t, "class.yaml", strings.Replace(text, written, "            "+endless+"\n", 1))
		got := run(t, "plan", "-f", file, "--machine", "prod-pool-1-1")
		const want = "the patches of its ClusterClass take more than 512 MiB; look for a loop in their templates"
		if got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: the program ended with %d and\n%s", endless, got.code, got.err)
		}
	}
}
