package addons

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// Releases are the names of the releases of Windows Server.
var Releases = []string{"2019", "2022", "23h2", "2025"}

// builds are their numbers, as the kubelet writes them into the label of its Node.
var builds = map[string]string{"2019": "10.0.17763", "2022": "10.0.20348", "23h2": "10.0.25398", "2025": "10.0.26100"}

// The handlers of containerd on Windows. The one for Hyper-V is there if the config of the nodes has containerd.hyperVIsolation.
const (
	processHandler = "runhcs-wcow-process"
	hyperVHandler  = "runhcs-wcow-hypervisor"
)

// defaultTaints are those of a Node whose config has no spec.node.taints (docs/decisions/005-windows-taint.md).
var defaultTaints = []bootstrapv1.NodeTaint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}}

func (p Pool) taints() []bootstrapv1.NodeTaint {
	if p.Taints == nil {
		return defaultTaints
	}
	return *p.Taints
}

func (p Pool) taintNames() string {
	var names []string
	for _, taint := range p.taints() {
		names = append(names, fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect))
	}
	return list(names)
}

// runtimeClasses let a pod say with its runtimeClassName alone that it is for nodes of a release.
func runtimeClasses(pools []Pool, options Options) (classes []runtime.Object, err error) {
	if err := disagree("the list of taints", pools, Pool.taintNames); err != nil {
		return nil, err
	}
	hyperV := slices.ContainsFunc(pools, func(p Pool) bool { return p.HyperV })
	if options.HyperV && !hyperV {
		return nil, fmt.Errorf("%s: spec.containerd.hyperVIsolation is not Enabled, so no node starts the pods of --hyper-v; set "+
			"it, or leave the flag out", pools[0].name())
	}
	for _, release := range Releases {
		if len(options.Releases) > 0 && !slices.Contains(options.Releases, release) {
			continue
		}
		classes = append(classes, runtimeClass("windows-"+release, processHandler, release, pools))
		if hyperV {
			classes = append(classes, runtimeClass("windows-"+release+"-hyperv", hyperVHandler, release, pools))
		}
	}
	return classes, nil
}

// runtimeClass selects the nodes of a release, and tolerates the taints that all pools have.
func runtimeClass(name, handler, release string, pools []Pool) *nodev1.RuntimeClass {
	class := &nodev1.RuntimeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: handler,
		Scheduling: &nodev1.Scheduling{
			NodeSelector: map[string]string{corev1.LabelOSStable: "windows", corev1.LabelWindowsBuild: builds[release]},
		},
	}
	for _, taint := range pools[0].taints() {
		class.Scheduling.Tolerations = append(class.Scheduling.Tolerations, corev1.Toleration{
			Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect,
		})
	}
	return class
}
