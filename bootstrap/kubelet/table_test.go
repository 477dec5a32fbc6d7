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

	"k8s.io/component-base/featuregate"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// tableVersion is what a kubelet says about its gates.
type tableVersion struct {
	minor uint64
	Gates map[string]string
	Needs map[string][]string
}

// tableVersions are the kubelets that the sources were read of: make test-kubelet reads them again.
func tableVersions(t *testing.T) []tableVersion {
	t.Helper()
	files, err := filepath.Glob("../../test/upstream/kubelet/versions/v1.*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no versions: %v", err)
	}
	var all []tableVersion
	for _, file := range files {
		var known tableVersion
		expect.OK(t, json.Unmarshal(expect.Got(os.ReadFile(file))(t), &known))
		known.minor = expect.Got(strconv.ParseUint(strings.Split(filepath.Base(file), ".")[1], 10, 64))(t)
		all = append(all, known)
	}
	return all
}

// gate is component-base's own, by which a kubelet panics.
func (v tableVersion) gate(t *testing.T) featuregate.MutableVersionedFeatureGate {
	t.Helper()
	gates, specs := featuregate.NewFeatureGate(), map[featuregate.Feature]featuregate.FeatureSpec{}
	for name, words := range v.Gates {
		specs[featuregate.Feature(name)] = featuregate.FeatureSpec{
			Default: strings.HasPrefix(words, "on"), LockToDefault: strings.HasSuffix(words, "locked"), PreRelease: featuregate.Beta,
		}
	}
	needs := map[featuregate.Feature][]featuregate.Feature{}
	for name, needed := range v.Needs {
		for _, one := range needed {
			needs[featuregate.Feature(name)] = append(needs[featuregate.Feature(name)], featuregate.Feature(one))
		}
	}
	expect.OK(t, gates.Add(specs))
	expect.OK(t, gates.AddDependencies(needs))
	return gates
}

// says are the sets of gates that are asked for: each gate alone, and each with what it needs, in all values.
func (v tableVersion) says() []map[string]bool {
	var all []map[string]bool
	for _, name := range slices.Sorted(maps.Keys(v.Gates)) {
		all = append(all, map[string]bool{name: true}, map[string]bool{name: false})
		for i := range 1 << (1 + len(v.Needs[name])) {
			said := map[string]bool{name: i&1 > 0}
			for at, needed := range v.Needs[name] {
				said[needed] = i>>(at+1)&1 > 0
			}
			all = append(all, said)
		}
	}
	return all
}

// The table of the code is the one that the kubelets' sources give, and what is refused is what a kubelet panics at.
func TestTableIsOfTheSources(t *testing.T) {
	asked, refused, byNeeds := 0, 0, 0
	for _, version := range tableVersions(t) {
		gate := version.gate(t)
		for _, said := range version.says() {
			var gates []bootstrapv1.FeatureGate
			for name, on := range said {
				state := map[bool]bootstrapv1.State{true: bootstrapv1.StateEnabled, false: bootstrapv1.StateDisabled}[on]
				gates = append(gates, bootstrapv1.FeatureGate{Name: name, State: state})
			}
			_, err := readGates(gates, version.minor)
			if panics := gate.DeepCopy().SetFromMap(said) != nil; panics != (err != nil) {
				t.Errorf("1.%d: %v: %v, though a kubelet panics: %v", version.minor, said, err, panics)
			}
			asked++
			if err != nil {
				refused++
			}
			if err != nil && strings.Contains(err.Error(), " depends on ") {
				byNeeds++
			}
		}
	}
	t.Logf("%d sets of gates asked for, %d refused, %d of them because of what a gate needs", asked, refused, byNeeds)
	if asked < 3000 || byNeeds < 150 {
		t.Error("they are too few to show anything")
	}
}

// What we enable ourselves comes after the user's gates were read: it must need nothing.
func TestOurOwnGateNeedsNothing(t *testing.T) {
	for pair := range kubeletNeeds {
		if strings.HasPrefix(pair, logQueryGate+" ") {
			t.Errorf("%s: read the gates again once it is enabled", pair)
		}
	}
}

// TestRemovedGates: what is said of later versions is about gates that the table's last version still has.
func TestRemovedGates(t *testing.T) {
	for name, gate := range removedGates {
		if gate.minor <= lastMinor || inMinor(kubeletGates[name], lastMinor) == unknownThere {
			t.Errorf("%s: the table says what v1.%d makes of it: remove it from the list", name, lastMinor)
		}
		expect.Same(t, name+" in the version before", false, slices.Contains(RemovedGates(gate.minor-1), name))
		expect.Same(t, name+" in its version", true, slices.Contains(RemovedGates(gate.minor), name))
	}
}
