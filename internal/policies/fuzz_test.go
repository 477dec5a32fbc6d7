package policies_test

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/odd"
)

// FuzzParams: whatever Nodes and objects a cluster shows, the params are bounded, what Param writes can be read again, and a
// policy says what it was told to spare.
func FuzzParams(f *testing.F) {
	odd.Fuzz(f, checkParams)
}

func checkParams(t *testing.T, source *odd.Source) {
	p := policies.Params{WindowsLabels: policies.WindowsLabels(source.Nodes(4), source.Nodes(3)), SparedKnown: source.Once(2)}
	p.RuntimeClasses = policies.WindowsClasses(source.Classes(), p.WindowsLabels)
	for range source.N(4) {
		p.Spared = append(p.Spared, policies.Ref{Kind: "DaemonSet", Namespace: source.Text(), Name: source.Text()})
	}
	written := policies.Param(p)
	read, err := policies.ReadParams(written)
	again := policies.Param(read)
	same := again.Data["windowsLabels"] == written.Data["windowsLabels"]
	if err != nil && len(p.Spared) == 0 || err == nil && !same {
		t.Errorf("%q is read as %q: %v", written.Data, again.Data, err)
	}
	told := policies.Told(policies.Mutating(), p)
	spared, found := policies.ToldSpared(told[0])
	if want, err := policies.ReadParams(policies.Param(policies.Params{Spared: p.Spared})); err == nil && len(p.Spared) > 0 &&
		(!found || !slices.Equal(want.Spared, spared)) {
		t.Errorf("%v is told, and %v (%v) is read", want.Spared, spared, found)
	}
	var object corev1.ConfigMap
	if json.Unmarshal(source.Object("configmaps"), &object) == nil {
		object.Data = map[string]string{"windowsLabels": source.Text(), "spared": source.Text() + "\n" + source.Text()}
		_, _ = policies.ReadParams(&object) // what cannot be read is an error
	}
	twisted := &unstructured.Unstructured{}
	if json.Unmarshal(source.JSON(told[0].Object), &twisted.Object) == nil {
		policies.ToldSpared(twisted)
		policies.NeedsParams(twisted)
		policies.Told([]*unstructured.Unstructured{twisted}, p)
	}
}
