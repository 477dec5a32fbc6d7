package policies_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

func TestParam(t *testing.T) {
	p := policies.Params{
		WindowsLabels:  map[string][]string{"pool": {"win", "win-2"}, "example.com/gpu": {policies.Any}, "empty": {""}},
		RuntimeClasses: []string{"win2022", "legacy"},
		Spared: []policies.Ref{
			{Kind: "StatefulSet", Namespace: "b", Name: "db"}, {Kind: "DaemonSet", Namespace: "a", Name: "agent"},
		},
		SparedKnown: true,
	}
	object := policies.Param(p)
	expect.Same(t, "data", map[string]string{
		"windowsLabels":  "empty=\nexample.com/gpu=*\npool=win\npool=win-2",
		"runtimeClasses": "legacy\nwin2022",
		"spared":         "DaemonSet/a/agent\nStatefulSet/b/db",
	}, object.Data)
	expect.Same(t, "key", "kube-system/capwin-linux-first", object.Namespace+"/"+object.Name)
	read := expect.Got(policies.ReadParams(object))(t)
	expect.Same(t, "labels", p.WindowsLabels, read.WindowsLabels)
	expect.Same(t, "once more", object, policies.Param(read))
}

func TestEmptyParam(t *testing.T) {
	object := policies.Param(policies.Params{})
	read := expect.Got(policies.ReadParams(object))(t)
	if len(read.WindowsLabels)+len(read.RuntimeClasses)+len(read.Spared) > 0 {
		t.Errorf("an empty param has %+v", read)
	}
	expect.Got(policies.ReadParams(&corev1.ConfigMap{}))(t)
	expect.Same(t, "spared is known", false, read.SparedKnown)
	read = expect.Got(policies.ReadParams(policies.Param(policies.Params{SparedKnown: true})))(t)
	expect.Same(t, "that none is spared is known", true, read.SparedKnown)
}

func TestWrongParams(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{"windowsLabels", "pool=win\npool", `data.windowsLabels has the line "pool", want KEY=VALUE of a label`},
		{"windowsLabels", "=win", `data.windowsLabels has the line "=win"`},
		{"spared", "DaemonSet/agent", `data.spared has the line "DaemonSet/agent", want KIND/NAMESPACE/NAME of a workload`},
		{"spared", "DaemonSet//agent", `data.spared has the line "DaemonSet//agent"`},
	} {
		object := policies.Param(policies.Params{})
		object.Data[c.key] = c.text
		expect.Says(t, c.text, expect.ErrorOf(policies.ReadParams(object)), "ConfigMap kube-system/capwin-linux-first: "+c.want)
	}
}

func TestWindowsLabels(t *testing.T) {
	node := func(labels map[string]string) placement.Node { return placement.Node{Labels: labels} }
	win := node(map[string]string{
		corev1.LabelOSStable: "windows", "beta.kubernetes.io/os": "windows", corev1.LabelWindowsBuild: "10.0.20348",
		corev1.LabelHostname: "win-0", corev1.LabelArchStable: "amd64", corev1.LabelTopologyZone: "1",
		"pool": "win", "gpu": "", "team": "a",
	})
	for _, c := range []struct {
		name           string
		windows, linux []placement.Node
		want           map[string][]string
	}{
		{"no Windows Node", nil, []placement.Node{win}, map[string][]string{}},
		{
			"a key that Linux Nodes have",
			[]placement.Node{win},
			[]placement.Node{node(map[string]string{"pool": "a", "team": "a"})},
			map[string][]string{"pool": {"win"}, "gpu": {policies.Any}},
		},
		{
			"an empty value",
			[]placement.Node{win},
			[]placement.Node{node(map[string]string{"gpu": "large", "pool": "", "team": ""})},
			map[string][]string{"pool": {"win"}, "gpu": {""}, "team": {"a"}},
		},
		{
			"no Linux Node yet",
			[]placement.Node{win},
			nil,
			map[string][]string{"pool": {policies.Any}, "gpu": {policies.Any}, "team": {policies.Any}},
		},
		{
			"values that nobody knows yet",
			[]placement.Node{{Unknown: []string{corev1.LabelTopologyZone, corev1.LabelWindowsBuild, "rack"}}},
			[]placement.Node{node(map[string]string{"rack": "1"})},
			map[string][]string{"rack": {policies.Any}},
		},
	} {
		expect.Same(t, c.name, c.want, policies.WindowsLabels(c.windows, c.linux))
	}
}

// A label that each Node has with a value of its own does not make the param grow with them, and neither do many labels.
func TestManyLabels(t *testing.T) {
	linux := []placement.Node{{Labels: map[string]string{"id": "linux-0"}}}
	var windows []placement.Node
	for i := range 5000 {
		windows = append(windows, placement.Node{Labels: map[string]string{"id": fmt.Sprintf("win-%d", i)}})
	}
	expect.Same(t, "a label with many values", map[string][]string{"id": {policies.Any}}, policies.WindowsLabels(windows, linux))
	expect.Same(t, "one with some", 100, len(policies.WindowsLabels(windows[:100], linux)["id"]))
	for i := range windows {
		windows[i].Labels[fmt.Sprintf("id-%d", i)] = ""
	}
	expect.Same(t, "many labels", map[string][]string{policies.Any: {policies.Any}}, policies.WindowsLabels(windows, linux))
}

func TestWindowsClasses(t *testing.T) {
	class := func(name string, selector map[string]string) nodev1.RuntimeClass {
		return nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Scheduling: &nodev1.Scheduling{NodeSelector: selector},
		}
	}
	classes := []nodev1.RuntimeClass{
		class("server", map[string]string{corev1.LabelOSStable: "windows"}),
		class("old", map[string]string{"beta.kubernetes.io/os": "windows"}),
		class("build", map[string]string{corev1.LabelWindowsBuild: "10.0.20348"}), class("pool", map[string]string{"pool": "win"}),
		class("gpu", map[string]string{"gpu": "any"}), class("one", map[string]string{corev1.LabelHostname: "win-0"}),
		class("linux", map[string]string{corev1.LabelOSStable: "linux"}), class("other", map[string]string{"pool": "a"}),
		class("nothing", nil),
		{ObjectMeta: metav1.ObjectMeta{Name: "plain"}},
	}
	labels := map[string][]string{"pool": {"win"}, "gpu": {policies.Any}}
	expect.Same(t, "for Windows", []string{"build", "gpu", "old", "one", "pool", "server"}, policies.WindowsClasses(classes, labels))
	expect.Same(t, "if any label may be", []string{"build", "gpu", "old", "one", "other", "pool", "server"},
		policies.WindowsClasses(classes, map[string][]string{policies.Any: {policies.Any}}))
}

// TestTooMuchToRead: who may write the param can have it be larger than Param makes it. It is not read.
func TestTooMuchToRead(t *testing.T) {
	for key, line := range map[string]string{"windowsLabels": "a=b\n", "spared": "DaemonSet/a/b\n"} {
		object := policies.Param(policies.Params{})
		object.Data[key] = strings.Repeat(line, 10_000)
		err := expect.ErrorOf(policies.ReadParams(object))
		expect.Says(t, key, err, "data."+key)
		if len(err.Error()) > 1000 {
			t.Errorf("the error of %s has %d bytes", key, len(err.Error()))
		}
	}
}
