package guest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What we say that a Node will offer must be what its kubelet then makes of the configuration that we render.
func TestAllocatableIsAsPredicted(t *testing.T) {
	t.Parallel()
	specs := map[string]bootstrapv1.WindowsBootstrapConfigSpec{
		"auto":      {},
		"many pods": {Kubelet: bootstrapv1.Kubelet{MaxPods: 250}},
		"explicit": {Reservations: bootstrapv1.Reservations{
			System:   bootstrapv1.Reserved{CPU: "1", Memory: "3Gi", EphemeralStorage: "10Gi"},
			Kube:     bootstrapv1.Reserved{CPU: "250m", Memory: "700Mi", EphemeralStorage: "2Gi"},
			Eviction: bootstrapv1.Eviction{MemoryAvailable: "5%", NodeFSAvailable: "7%"},
		}},
		"low": {Reservations: bootstrapv1.Reservations{
			System: bootstrapv1.Reserved{Memory: "512Mi"}, LowMemoryPolicy: bootstrapv1.LowMemoryAllow,
		}},
	}
	for name, spec := range specs {
		for _, size := range []bootstrap.Size{
			{CPUs: 2, MemoryMiB: 8192, DiskBytes: 40 << 30},
			{CPUs: 4, MemoryMiB: 16384, DiskBytes: 80 << 30},
			{CPUs: 7, MemoryMiB: 12292, DiskBytes: 127 << 30},
			{CPUs: 64, MemoryMiB: 262144, DiskBytes: 1<<40 - 1},
		} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				t.Parallel()
				want := expect.Got(bootstrap.Allocatable(spec, size))(t)
				config := kubeletConfigOf(t, spec, size)
				capacity := corev1.ResourceList{
					corev1.ResourceCPU:              *resource.NewQuantity(int64(size.CPUs), resource.DecimalSI),
					corev1.ResourceMemory:           *resource.NewQuantity(int64(size.MemoryMiB)<<20, resource.BinarySI),
					corev1.ResourceEphemeralStorage: *resource.NewQuantity(size.DiskBytes, resource.BinarySI),
					corev1.ResourcePods:             *resource.NewQuantity(int64(config.MaxPods), resource.DecimalSI),
				}
				got := allocatable(capacity, config)
				for resourceName, amount := range got {
					if predicted := want[resourceName]; predicted.Cmp(amount) != 0 {
						t.Errorf("%s: predicted %s, the kubelet says %s", resourceName, &predicted, &amount)
					}
				}
				if len(got) != len(want) {
					t.Errorf("predicted %v, the kubelet says %v", want, got)
				}
			})
		}
	}
}

// input is a machine on vSphere that bootstrap.Render takes, but for the CA of its cluster.
func input(name, version string, vm *infrav1.VSphereVM) bootstrap.Input {
	return bootstrap.Input{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "blue"},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.10", Port: 6443}},
		},
		Machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID("uid-" + name)},
			Spec:       clusterv1.MachineSpec{Version: version},
		},
		WindowsMachine: &infrav1.WindowsMachine{
			Spec:   infrav1.WindowsMachineSpec{ProviderID: "vsphere://" + name, VSphere: vm},
			Status: infrav1.WindowsMachineStatus{ComputerName: name},
		},
		Config: &bootstrapv1.WindowsBootstrapConfig{}, Token: "abcdef.0123456789abcdef",
	}
}

// kubeletConfigOf is what the kubelet of a machine reads: the patch of its plan on the least configuration.
func kubeletConfigOf(
	t *testing.T, spec bootstrapv1.WindowsBootstrapConfigSpec, size bootstrap.Size,
) *kubeletv1.KubeletConfiguration {
	t.Helper()
	ca := expect.Got(os.ReadFile("../../../bootstrap/testdata/ca.crt"))(t)
	vm := &infrav1.VSphereVM{}
	expect.OK(t, json.Unmarshal(fmt.Appendf(nil, `{"cpus": %d, "memoryMiB": %d}`, size.CPUs, size.MemoryMiB), vm))
	in := input("m", defaultVersion, vm)
	in.Config.Spec, in.ClusterCA = spec, ca
	userData := expect.Got(bootstrap.Render(in))(t)
	for _, phase := range userData.Plan().Phases {
		for _, step := range phase.Steps {
			file, ok := step.(*plan.File)
			if !ok || !strings.HasSuffix(file.Path.String(), "+merge.yaml") {
				continue
			}
			return expect.Got(readKubeletConfig(patched(t, goodKubelet, file.Text.String()), defaultVersion))(t)
		}
	}
	t.Fatal("no patch")
	return nil
}
