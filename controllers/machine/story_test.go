package machine

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// deadline gives the machine a config, with the default of 30 minutes when it is 0.
func deadline(seconds int32) func(*facts) {
	return func(f *facts) {
		f.config = &bootstrapv1.WindowsBootstrapConfig{Spec: bootstrapv1.WindowsBootstrapConfigSpec{BootstrapDeadlineSeconds: seconds}}
	}
}

// TestSentences has what a person reads, in whole sentences.
func TestSentences(t *testing.T) {
	const (
		progress = infrav1.BootstrapSucceededCondition
		ready    = infrav1.ReadyCondition
		boot     = infrav1.LastBootSucceededCondition
		silent   = "Bootstrap 2/5 kubelet, 12s of at most 30m; the guest has not reported since, but "
		console  = "; see the console of VM m-abc"
	)
	cases := map[string]struct {
		reason    string
		facts     *facts
		condition string
		want      string
	}{
		"at work": {
			"phase, step, elapsed and limit",
			world(deadline(0), told("Running", "4/11 network", `"step":"hns-network","elapsed":120`)),
			ready, "Bootstrap 4/11 network, step hns-network, 2m of at most 30m",
		},
		"at work, user data of another provider": {
			"the limit is not known",
			world(told("Running", "4/11 network", `"step":"hns-network","elapsed":125`)),
			ready, "Bootstrap 4/11 network, step hns-network, 2m5s",
		},
		"rebooting": {
			"down time is not counted, and looks like silence",
			world(deadline(3600), told("Rebooting", "2/11 windows", `"step":"feature","elapsed":50`)),
			progress, "Bootstrap 2/11 windows, step feature, rebooting, 50s of at most 1h",
		},
		"named failure": {
			"exit code, the name of the failure, the reason to look up",
			world(deadline(0), told("Failed", "9/11 join", `"reason":"ApiServerCaMismatch",
				"message":"the API server's certificate is not signed by this cluster's CA (kubeadm.exe ended with exit code 1)",
				"exitCode":1,"elapsed":180,"lastLines":["a","b"]`)),
			ready, `Bootstrap 9/11 join failed after 3m: exit 1, ` +
				`"the API server's certificate is not signed by this cluster's CA" (ApiServerCaMismatch)`,
		},
		"failure that has no name": {
			"the last line that is no stack",
			world(deadline(0), told("Failed", "9/11 join", `"reason":"JoinFailed",
				"message":"kubeadm.exe ended with exit code 1",
				"exitCode":1,"elapsed":3725,"lastLines":["could not do it",
				"k8s.io/kubernetes/cmd/kubeadm/app/discovery.For","\tk8s.io/kubernetes/cmd/kubeadm/app/discovery/discovery.go:41",
				"main.main","runtime.goexit"]`)),
			ready, `Bootstrap 9/11 join failed after 1h2m5s: exit 1, "could not do it" (JoinFailed)`,
		},
		"failure of a silent program": {
			"then its exit code is all that there is",
			world(told("Failed", "3/11 pre-join", `"reason":"PreJoinScriptFailed",
				"message":"cmd.exe ended with exit code -7","exitCode":-7,"elapsed":1,"lastLines":[""]`)),
			ready, `Bootstrap 3/11 pre-join failed after 1s: exit -7, "cmd.exe ended with exit code -7" (PreJoinScriptFailed)`,
		},
		"failure with quotes and paths": {
			"they are to be read, not to be parsed",
			world(told("Failed", "1/7 prepare", `"reason":"FilesFailed","message":"copy \"C:\\a b\": no","elapsed":1`)),
			ready, `Bootstrap 1/7 prepare failed after 1s: "copy 'C:\a b': no" (FilesFailed)`,
		},
		"failure without a program": {
			"there is no exit code",
			world(told("Failed", "9/11 join", `"reason":"BootstrapTimeout",
				"message":"the deadline of 1800 s has passed","elapsed":1800`)),
			ready, `Bootstrap 9/11 join failed after 30m: "the deadline of 1800 s has passed" (BootstrapTimeout)`,
		},
		"program that hangs": {
			"what was stopped is said",
			world(told("Failed", "9/11 join", `"reason":"ApiServerUnreachable",
				"message":"the API server does not answer (kubeadm.exe did not end within 900 s and was stopped)",
				"elapsed":950,"lastLines":["a"]`)),
			ready, `Bootstrap 9/11 join failed after 15m50s: ` +
				`"the API server does not answer (kubeadm.exe did not end within 900 s and was stopped)" (ApiServerUnreachable)`,
		},
		"done": {
			"how long it took", world(deadline(0), vm(cloud.Running, succeeded)),
			ready, "Bootstrap succeeded after 1m of at most 30m; Cluster API has not seen its Node yet",
		},
		"done, with a warning": {
			"what may fail is not hidden",
			world(deadline(0), told("Succeeded", "", `"elapsed":600,"warnings":["defender: no"]`), withNode),
			progress, `Bootstrap succeeded after 10m of at most 30m, with a warning: "defender: no"`,
		},
		"done, with warnings": {
			"the rest is in status.bootstrap.warnings",
			world(deadline(0), told("Succeeded", "", `"elapsed":600,"warnings":["a","b"]`), withNode),
			progress, `Bootstrap succeeded after 10m of at most 30m, with 2 warnings, the last: "b"`,
		},
		"joined": {"nothing is left to tell", world(deadline(0), vm(cloud.Running, succeeded), withNode), ready, ""},
		"joined, at work": {
			"scripts may follow the join", world(deadline(0), vm(cloud.Running, running), withNode),
			progress, "the Node has joined; Bootstrap 2/5 kubelet, 12s of at most 30m",
		},
		"node deleted": {
			"what to do comes last",
			world(vm(cloud.Running, succeeded), withNode, nodeHealthy(clusterv1.MachineNodeDeletedReason)),
			ready, "Node m-abc was deleted while its Machine still exists; delete Machine m to get a new node",
		},
		"no node": {
			"what to look at", world(deadline(0), vm(cloud.Running, succeeded), seen, later),
			ready, "Bootstrap succeeded after 1m of at most 30m, but Cluster API found no Node with providerID test://m-abc within 10m; " +
				"look for Node m-abc in the workload cluster and at its spec.providerID",
		},
		"silent": {
			"a start takes its time", world(vm(cloud.Running, "")),
			ready, "the guest has not reported yet; its VM or Windows may still be starting",
		},
		"not understood": {"it is no silence", world(vm(cloud.Running, "{")), ready, "the VM is running, but " + notUnderstood},
		"not understood any more": {
			"what was understood stands", world(was(running), deadline(0), vm(cloud.Running, `{"version":2}`), soon),
			progress, "Bootstrap 2/5 kubelet, 12s of at most 30m, but " + notUnderstood,
		},
		"not understood for all its time": {
			"the fault need not be in VMware Tools", world(was(""), deadline(0), later,
				vm(cloud.Running, `{"version":1,"state":"dancing"}`)),
			ready, "the guest has not reported within its limit of 30m and the 15m that Windows gets to start, but " +
				notUnderstood + console,
		},
		"overdue, not understood": {
			"nor for a VM that hangs", world(was(running), deadline(0), later, vm(cloud.Running, "[]")),
			ready, silent + notUnderstood + console,
		},
		"overdue, not understood, cloud away": {
			"what was said stands",
			world(was(running), deadline(0), later, vm(cloud.Running, "[]"), func(f *facts) { report(f, nil); f.vm, f.unread = nil, nil }),
			progress, silent + notUnderstood + console,
		},
		"start failed": {
			"step and reason of the guest", world(vm(cloud.Running, bootFailed)),
			boot, "at the last start of the node: hns-network: no address (NetworkNotReady)",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report(c.facts, nil)
			expect.Same(t, c.reason, c.want, conditions.Get(c.facts.windows, c.condition).Message)
		})
	}
}

// told has the guest of a running VM report.
func told(state, phase, fields string) func(*facts) {
	return vm(cloud.Running, reported(state, phase, fields))
}

// soon a guest is heard again.
func soon(f *facts) { f.now = f.now.Add(slowPace) }

func later(f *facts) { f.now = begin.Add(24 * time.Hour) }

// A report that is not understood is logged when people are told of it, once, and nothing that is long or not ASCII.
func TestLogUnread(t *testing.T) {
	var lines []string
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	f := world(was(running))
	long := `{"version":1,"state":"` + strings.Repeat("é", 300) + `"}`
	for _, said := range []string{running, long, long, "{", running, "{", "given up", "{", succeeded, "{"} {
		f.original = f.windows.DeepCopy()
		soon(f)
		if said == "given up" {
			deadline(0)(f)
			later(f)
			said = "{"
		}
		vm(cloud.Running, said)(f)
		report(f, nil)
		if f.unread != nil {
			logUnread(ctx, f)
		}
	}
	if len(lines) != 2 || !strings.Contains(lines[0], "report state") || len(lines[0]) > 400 ||
		!strings.Contains(lines[1], "unexpected end of JSON input") {
		t.Errorf("the log has %d lines: %q", len(lines), lines)
	}
}

func TestAllocatable(t *testing.T) {
	sized := func(f *facts) { f.windows.Spec.VSphere = &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384} }
	keeps := func(r bootstrapv1.Reservations) func(*facts) {
		return func(f *facts) { deadline(0)(f); f.config.Spec.Reservations = r }
	}
	reserved := keeps(bootstrapv1.Reservations{
		System:   bootstrapv1.Reserved{CPU: "1", Memory: "2Gi"},
		Kube:     bootstrapv1.Reserved{CPU: "500m", Memory: "1Gi"},
		Eviction: bootstrapv1.Eviction{MemoryAvailable: "512Mi"},
	})
	tooLittle := keeps(bootstrapv1.Reservations{System: bootstrapv1.Reserved{Memory: "1Mi"}})
	type amounts = map[corev1.ResourceName]string
	cases := map[string]struct {
		reason string
		facts  *facts
		want   amounts
	}{
		"no VM yet":    {"it is written together with the first word of the VM", world(sized, deadline(0)), nil},
		"other config": {"what another provider reserves is not known", world(sized, vm(cloud.Creating, "")), nil},
		"no size":      {"the template's is not known here", world(vm(cloud.Creating, ""), deadline(0)), amounts{"pods": "110"}},
		"the cloud's size": {
			"a size that has only a name is told by the cloud", world(vm(cloud.Creating, ""), reserved, func(f *facts) {
				f.vm.Size = cloud.Size{CPUs: 4, MemoryMiB: 16384}
			}),
			amounts{"cpu": "2500m", "memory": "12800Mi", "pods": "110"},
		},
		"explicit": {
			"the size less what is reserved", world(sized, reserved, vm(cloud.Creating, "")),
			amounts{"cpu": "2500m", "memory": "12800Mi", "pods": "110"},
		},
		"changed since": {
			"what nothing would be rendered of says nothing of the VM",
			world(sized, vm(cloud.Creating, ""), tooLittle), nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report(c.facts, phase.Wait(phase.VM, infrav1.ProvisioningReason, "cloning"))
			var got amounts
			for name, amount := range c.facts.windows.Status.Allocatable {
				if got == nil {
					got = amounts{}
				}
				got[name] = amount.String()
			}
			expect.Same(t, c.reason, c.want, got)
		})
	}
}

// The time of a condition is that of the look that changed it: overdue counts from it.
func TestConditionsHaveTheTimeOfTheLook(t *testing.T) {
	f := world(vm(cloud.Running, ""))
	report(f, nil)
	f.now = begin.Add(time.Hour)
	report(f, nil)
	if got := conditions.GetLastTransitionTime(f.windows, infrav1.VMRunningCondition); !got.Equal(&metav1.Time{Time: begin}) {
		t.Errorf("the VM runs since %s and not since %s", got, begin)
	}
}
