package kubelet

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// The table of the code is the one that the kubelets' sources give: make test-kubelet reads them again.
func TestTableIsOfTheSources(t *testing.T) {
	files, err := filepath.Glob("../../test/kubelet/versions/v1.*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no versions: %v", err)
	}
	asked := 0
	for _, file := range files {
		content := expect.Got(os.ReadFile(file))(t)
		var known struct{ Gates map[string]string }
		expect.OK(t, json.Unmarshal(content, &known))
		version := strings.TrimSuffix(filepath.Base(file), ".json")
		minor := expect.Got(strconv.ParseUint(strings.Split(version, ".")[1], 10, 64))(t)
		for _, name := range slices.Sorted(maps.Keys(known.Gates)) {
			for _, state := range []bootstrapv1.State{bootstrapv1.StateEnabled, bootstrapv1.StateDisabled} {
				opposite := map[bootstrapv1.State]string{bootstrapv1.StateEnabled: "off locked", bootstrapv1.StateDisabled: "on locked"}
				_, err := readGates([]bootstrapv1.FeatureGate{{Name: name, State: state}}, minor)
				if refused := known.Gates[name] == opposite[state]; refused != (err != nil) {
					t.Errorf("%s: %s %s: %v, though the kubelet's is %s", version, name, state, err, known.Gates[name])
				}
				asked++
			}
		}
	}
	t.Logf("%d gates asked for", asked)
}
