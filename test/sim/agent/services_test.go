package agent

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// A node without a program of its network, or with another version's, says so before it joins.
func TestNodeProgramIsMissing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ golden, missing, prints, reason, says string }{
		{"network-overlay-flannel", `C:\k\flanneld.exe`, "", "NodeProgramMissing", `C:\k\flanneld.exe of the service flanneld does`},
		{"network-overlay-flannel", `C:\k\nssm.exe`, "", "NodeProgramMissing", `C:\k\nssm.exe of the service flanneld does not exist`},
		{"network-azure-l2bridge-azurecni", `C:\k\kube-proxy.exe`, "", "NodeProgramMissing", `C:\k\kube-proxy.exe of the service`},
		{
			"network-azure-l2bridge-azurecni", "", "Kubernetes v1.35.9", "ImageVersionMismatch",
			"the image has kube-proxy 1.35, the Machine needs 1.36",
		},
		{"network-azure-l2bridge-azurecni", "", "no version", "ImageVersionMismatch", `C:\k\kube-proxy.exe does not print its version`},
	} {
		v := networkWorld(mustRead(t, test.golden))
		delete(v.World.Files, test.missing)
		for _, command := range v.World.Commands {
			if test.prints != "" && command.Argv[0] == `C:\k\kube-proxy.exe` {
				command.Out = test.prints
			}
		}
		report := lived(t, v).end()
		if report.Reason != test.reason || !strings.HasPrefix(report.Message, test.says) || report.Phase.Name != "kubelet" {
			t.Errorf("%s: %s in %s: %q, want %s %q", test.golden, report.Reason, report.Phase.Name, report.Message, test.reason, test.says)
		}
	}
}

// A node whose flanneld never finds its subnet has joined, and containerd does not call its network ready; kube-proxy, which
// would exit, does not run. Once the daemon has come, however late, both do.
func TestFlannelIsReadyWithItsDaemonAlone(t *testing.T) {
	t.Parallel()
	for _, golden := range []string{"network-overlay-flannel", "network-l2bridge-flannel"} {
		for _, comes := range []bool{false, true} {
			v := networkWorld(mustRead(t, golden))
			delete(v.World.Files, `C:\etc\cni\net.d\99-mine.conf`)
			s := newStage(t, v)
			if comes {
				s.cniComes(v.Plan)
			}
			s.live()
			if report := s.end(); report.State != plan.StateSucceeded {
				t.Fatalf("%s: %s %s", golden, report.Reason, report.Message)
			}
			if ready := cni.NotReady(s.Machine) == ""; ready != comes {
				t.Errorf("%s: flanneld comes %t, containerd calls the network ready %t", golden, comes, ready)
			}
			want := map[bool]string{true: windows.Running, false: windows.Stopped}[comes]
			if state := expect.Got(s.Machine.ServiceState("kube-proxy"))(t); state != want {
				t.Errorf("%s: flanneld comes %t, kube-proxy is %s", golden, comes, state)
			}
		}
	}
}
