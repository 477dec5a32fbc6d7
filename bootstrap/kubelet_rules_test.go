package bootstrap_test

import (
	"errors"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

const (
	argsField   = "WindowsBootstrapConfig spec.kubelet.extraArgs"
	gatesField  = "WindowsBootstrapConfig spec.kubelet.featureGates"
	configField = "WindowsBootstrapConfig spec.kubelet.configuration"
	logField    = "WindowsBootstrapConfig spec.kubelet.log"
	keptField   = "WindowsBootstrapConfig spec.reservations"
	pageField   = "WindowsBootstrapConfig spec.pageFile"
)

func kubeletArgs(args ...bootstrapv1.KubeletArg) func(*bootstrap.Input) {
	return withKubelet(bootstrapv1.Kubelet{ExtraArgs: args})
}

func kubeletGate(name string, state bootstrapv1.State) func(*bootstrap.Input) {
	return withKubelet(bootstrapv1.Kubelet{FeatureGates: []bootstrapv1.FeatureGate{{Name: name, State: state}}})
}

func kubeletConfig(text string) func(*bootstrap.Input) {
	return withKubelet(bootstrapv1.Kubelet{Configuration: raw(text)})
}

func kubeletLog(log bootstrapv1.KubeletLog) func(*bootstrap.Input) {
	return withKubelet(bootstrapv1.Kubelet{Log: log})
}

func system(memory string) func(*bootstrap.Input) {
	return withReservations(bootstrapv1.Reservations{System: bootstrapv1.Reserved{Memory: memory}})
}

// A kubelet that exits is a VM that was bought for nothing.
func TestKubeletRefusals(t *testing.T) {
	both := func(memory, kube string) func(*bootstrap.Input) {
		return withReservations(bootstrapv1.Reservations{
			System: bootstrapv1.Reserved{Memory: memory}, Kube: bootstrapv1.Reserved{Memory: kube},
		})
	}
	for _, test := range []struct {
		name, version string
		change        func(*bootstrap.Input)
		field, want   string
	}{
		{
			"ours", "", kubeletArgs(arg("hostname-override", "x")), argsField,
			"hostname-override is set by this provider: a node has the name of its computer; remove it",
		},
		{"has a field", "", kubeletArgs(arg("max-pods", "5")), argsField, "use spec.kubelet.maxPods"},
		{"labels", "", kubeletArgs(arg("node-labels", "a=b")), argsField, "use spec.node.labels"},
		{"removed", "", kubeletArgs(arg("network-plugin", "cni")), argsField, "the kubelet no longer has the flag network-plugin"},
		{
			"removed pause image", "", kubeletArgs(arg("pod-infra-container-image", "x")), argsField,
			"and would exit: use spec.containerd.pauseImage",
		},
		{
			"pause image where it is known", "v1.34.4", kubeletArgs(arg("pod-infra-container-image", "x")), argsField,
			"pod-infra-container-image does nothing on a Windows node",
		},
		{
			"gone in a later version", "v1.33.0", kubeletArgs(arg("register-schedulable", "false")), argsField,
			"later versions have no such flag: use spec.node.taints",
		},
		{
			"misspelt", "", kubeletArgs(arg("vmodul", "x")), argsField,
			`the kubelet of v1.36 has no flag "vmodul" and would exit (it is known in: none)`,
		},
		{"of the configuration", "", kubeletArgs(arg("event-burst", "5")), argsField, "use eventBurst in spec.kubelet.configuration"},
		{
			"of Linux", "", kubeletArgs(arg("runtime-cgroups", "/x")), argsField,
			"runtime-cgroups has no use on a Windows node; remove it",
		},
		{"twice", "", kubeletArgs(arg("vmodule", "a=1"), arg("vmodule", "a=2")), argsField, "vmodule is listed twice"},
		{
			"one address for all", "", kubeletArgs(arg("node-ip", "10.0.0.1")), argsField,
			`value "10.0.0.1" of node-ip is not valid; use 0.0.0.0 or ::`,
		},
		{
			"format", "", kubeletArgs(arg("logging-format", "xml")), argsField,
			`value "xml" of logging-format is not valid; use text or json`,
		},
		{"no value", "", kubeletArgs(bootstrapv1.KubeletArg{Name: "logging-format"}), argsField, `value "" of logging-format`},
		{"colon in a path", "", kubeletArgs(arg("image-credential-provider-config", `C:\a:b`)), argsField, `use a file such as C:\var`},
		{
			"quote in a path", "", kubeletArgs(arg("image-credential-provider-config", `C:\a" --v=9`)), argsField,
			`use a file such as C:\var`,
		},
		{"Linux path", "", kubeletArgs(arg("image-credential-provider-bin-dir", "/usr/bin")), argsField, `use a folder such as C:\var`},
		{
			"half a pair", "", kubeletArgs(arg("image-credential-provider-bin-dir", `C:\providers`)), argsField,
			"is set; use both or neither",
		},
		{
			"the other half", "", kubeletArgs(arg("image-credential-provider-config", `C:\providers.yaml`)), argsField,
			"is set; use both or neither",
		},

		{
			"unknown gate", "", kubeletGate("WinDRS", "Enabled"), gatesField,
			`the kubelet of v1.36 has no feature gate "WinDRS" and would not start`,
		},
		{
			"gate too new", "v1.31.0", kubeletGate("WindowsCPUAndMemoryAffinity", "Enabled"), gatesField,
			"(it is known in: 1.32 and later)",
		},
		{"gate too old", "v1.36.0", kubeletGate("CloudDualStackNodeIPs", "Enabled"), gatesField, "(it is known in: 1.30 to 1.31)"},
		{"locked on", "v1.34.0", kubeletGate("WinDSR", "Disabled"), gatesField, "WinDSR cannot be Disabled in v1.34: it is locked"},
		{"locked in a later version", "v1.38.0", kubeletGate("WinDSR", "Disabled"), gatesField, "WinDSR cannot be Disabled in v1.38"},
		{
			"gate gone in 1.37", "v1.37.1", kubeletGate("SidecarContainers", "Enabled"), gatesField,
			`the kubelet of v1.37 has no feature gate "SidecarContainers"`,
		},
		{"gate of 1.37", "v1.36.3", kubeletGate("DefaultPodSysctls", "Enabled"), gatesField, "(it is known in: 1.37 and later)"},
		{
			"log elsewhere", "", kubeletLog(bootstrapv1.KubeletLog{Directory: `D:\logs`}), logField + ".directory",
			`"D:\\logs" is not a plain path on drive C:`,
		},
		{
			"log among keys", "", kubeletLog(bootstrapv1.KubeletLog{Directory: `C:\etc\kubernetes\logs`}), logField + ".directory",
			"which is reserved for files of the bootstrap",
		},
		{
			"sysctls", "v1.37.1", kubeletConfig(`{"defaultPodSysctls": {"net.ipv4.tcp_syncookies": "1"}}`), configField,
			"defaultPodSysctls",
		},
		{"grace without its gate", "", withKubelet(bootstrapv1.Kubelet{
			FeatureGates:  []bootstrapv1.FeatureGate{{Name: "GracefulNodeShutdown", State: bootstrapv1.StateDisabled}},
			Configuration: raw(`{"shutdownGracePeriod": "90s"}`),
		}), configField, "shutdownGracePeriod needs the feature gate GracefulNodeShutdown"},
		{
			"socket for images", "", kubeletConfig(`{"imageServiceEndpoint": "npipe:////./pipe/x"}`), configField,
			"containerd listens on the same pipe",
		},
		{"no state", "", kubeletGate("WinDSR", ""), gatesField, `state "" of WinDSR is not valid; use Enabled or Disabled`},
		{"gate twice", "", withKubelet(bootstrapv1.Kubelet{FeatureGates: []bootstrapv1.FeatureGate{
			{Name: "WinDSR", State: "Enabled"}, {Name: "WinDSR", State: "Enabled"},
		}}), gatesField, "WinDSR is listed twice"},
		{"query without its gate", "v1.35.0", withKubelet(bootstrapv1.Kubelet{
			SystemLogQuery: "Enabled", FeatureGates: []bootstrapv1.FeatureGate{{Name: "NodeLogQuery", State: "Disabled"}},
		}), gatesField, "NodeLogQuery is Disabled, but spec.kubelet.systemLogQuery: Enabled needs it"},

		{"no object", "", kubeletConfig(`[]`), configField, "must be an object"},
		{"no JSON", "", kubeletConfig(`{`), configField, "must be an object"},
		{
			"field of ours", "", kubeletConfig(`{"providerID": "x"}`), configField,
			"providerID is set by this provider: it names the VM; remove it",
		},
		{"gates in the configuration", "", kubeletConfig(`{"featureGates": {}}`), configField, "use spec.kubelet.featureGates"},
		{
			"exits", "", kubeletConfig(`{"singleProcessOOMKill": false}`), configField,
			"singleProcessOOMKill: a kubelet on Windows exits when it is set; remove it",
		},
		{
			"exits too", "", kubeletConfig(`{"userNamespaces": {"idsPerPod": 65536}}`), configField,
			"userNamespaces: a kubelet on Windows exits",
		},
		{"no effect", "", kubeletConfig(`{"cgroupDriver": "systemd"}`), configField, "there are no cgroups on Windows; remove it"},
		{
			"affinity without its gate", "", kubeletConfig(`{"cpuManagerPolicy": "static"}`), configField,
			"cpuManagerPolicy needs the feature gate WindowsCPUAndMemoryAffinity",
		},
		{
			"unknown field", "", kubeletConfig(`{"containerLogMaxSiz": "1Mi"}`), configField,
			`has no field "containerLogMaxSiz" and would ignore it`,
		},
		{"field too new", "v1.30.0", kubeletConfig(`{"crashLoopBackOff": {}}`), configField, "(it is known in: 1.32 and later)"},
		{"unknown inner field", "", kubeletConfig(`{"logging": {"levels": 1}}`), configField, `unknown field "logging.levels"`},
		{
			"wrong type", "", kubeletConfig(`{"containerLogMaxFiles": "three"}`), configField,
			"the kubelet cannot read the configuration",
		},
		{"other case", "", kubeletConfig(`{"ContainerLogMaxFiles": 3}`), configField, "has no field"},
		{"one log file", "", kubeletConfig(`{"containerLogMaxFiles": 1}`), configField, "use 2 or more"},
		{"no log workers", "", kubeletConfig(`{"containerLogMaxWorkers": 0}`), configField, "use 1 or more"},
		{
			"image thresholds", "", kubeletConfig(`{"imageGCLowThresholdPercent": 90}`), configField,
			"the low one below the high one; use both",
		},
		{
			"parallel pulls", "", kubeletConfig(`{"maxParallelImagePulls": 5, "serializeImagePulls": true}`), configField,
			"not above 1 with serializeImagePulls: true",
		},
		{
			"grace periods", "", kubeletConfig(`{"shutdownGracePeriod": "10s", "shutdownGracePeriodCriticalPods": "20s"}`),
			configField, "use both, such as 60s and 20s",
		},
		{"grace shorter than ours", "", kubeletConfig(`{"shutdownGracePeriod": "10s"}`), configField, "use both, such as 60s and 20s"},
		{
			"grace twice", "",
			kubeletConfig(`{"shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 5}]}`), configField,
			"replaces the other two periods",
		},
		{"negative burst", "", kubeletConfig(`{"eventBurst": -1}`), configField, "use 0 or more"},
		{"hasty log monitor", "", kubeletConfig(`{"containerLogMonitorInterval": "1s"}`), configField, "use 10s"},
		{"DNS by name", "", kubeletConfig(`{"clusterDNS": ["dns.example.com"]}`), configField, "use clusterDNS: [10.96.0.10]"},
		{"odd domain", "", kubeletConfig(`{"clusterDomain": "cluster_local"}`), configField, "clusterDomain must be a domain"},
		{
			"image ages", "", kubeletConfig(`{"imageMaximumGCAge": "1m", "imageMinimumGCAge": "2m"}`), configField,
			"use both, such as 168h and 2m",
		},
		{"log format", "", kubeletConfig(`{"logging": {"format": "xml"}}`), configField, "use format: text or format: json"},
		{"gate said to be off", "v1.35.0", withKubelet(bootstrapv1.Kubelet{
			FeatureGates:  []bootstrapv1.FeatureGate{{Name: "ImageMaximumGCAge", State: "Disabled"}},
			Configuration: raw(`{"imageMaximumGCAge": "24h"}`),
		}), gatesField, "ImageMaximumGCAge cannot be Disabled in v1.35"},
		{
			"gate that is off", "v1.33.0", kubeletConfig(`{"crashLoopBackOff": {"maxContainerRestartPeriod": "10s"}}`), configField,
			"crashLoopBackOff needs the feature gate KubeletCrashLoopBackOffMax",
		},
		{"port", "", kubeletConfig(`{"port": 70000}`), configField, "use 1 to 65535"},
		{"lease", "", kubeletConfig(`{"nodeLeaseDurationSeconds": -1}`), configField, "use 40 or more"},
		{
			"soft eviction without time", "", kubeletConfig(`{"evictionSoft": {"memory.available": "1Gi"}}`), configField,
			"each with its time",
		},
		{"a fact", "", kubeletConfig(`{"evictionMinimumReclaim": {"fact": "cpus"}}`), configField, `a map has the key "fact"`},

		{
			"rotation in an old version", "v1.33.0", kubeletLog(bootstrapv1.KubeletLog{MaxSizeMiB: 5}), logField,
			"the kubelet of v1.33 does not rotate its log",
		},
		{"negative size", "", kubeletLog(bootstrapv1.KubeletLog{MaxSizeMiB: -5}), logField, "maxSizeMiB -5"},
		{
			"loud", "", kubeletLog(bootstrapv1.KubeletLog{Verbosity: new(int32(11))}), logField + ".verbosity",
			"11 is not valid; use 0 to 10",
		},
		{
			"provider", "", withKubelet(bootstrapv1.Kubelet{CloudProvider: "vsphere"}),
			"WindowsBootstrapConfig spec.kubelet.cloudProvider", `"vsphere" is not valid; use External or None`,
		},
		{
			"priority", "", withKubelet(bootstrapv1.Kubelet{PriorityClass: "Realtime"}),
			"WindowsBootstrapConfig spec.kubelet.priorityClass", "use AboveNormal, High or Normal",
		},
		{
			"start", "", withKubelet(bootstrapv1.Kubelet{Start: "Manual"}), "WindowsBootstrapConfig spec.kubelet.start",
			"use Automatic or AutomaticDelayed",
		},
		{
			"signer", "", withKubelet(bootstrapv1.Kubelet{ServerCertificates: "x"}),
			"WindowsBootstrapConfig spec.kubelet.serverCertificates", "use ClusterSigned or SelfSigned",
		},
		{
			"query", "", withKubelet(bootstrapv1.Kubelet{SystemLogQuery: "x"}), "WindowsBootstrapConfig spec.kubelet.systemLogQuery",
			"use Disabled or Enabled",
		},

		{"little memory", "", system("1Gi"), keptField, `system.memory "1Gi" and kube.memory "" keep 1Gi, less than the 2Gi`},
		{
			"little memory for both", "", both("1Gi", "1023Mi"), keptField,
			"reserve more, remove system.memory, or set lowMemory: IAcceptThatWindowsMayStall",
		},
		{
			"not these words", "", withReservations(bootstrapv1.Reservations{LowMemory: "Yes"}), keptField + ".lowMemory",
			`"Yes" is not valid; use IAcceptThatWindowsMayStall`,
		},
		{"memory in G", "", system("2G"), keptField + ".system.memory", `"2G" is not an amount; use Mi or Gi`},
		{
			"half a core", "", withReservations(bootstrapv1.Reservations{Kube: bootstrapv1.Reserved{CPU: "0.5"}}),
			keptField + ".kube.cpu", `"0.5" is not an amount; use cores such as 1`,
		},
		{
			"storage", "", withReservations(bootstrapv1.Reservations{Kube: bootstrapv1.Reserved{EphemeralStorage: "x"}}),
			keptField + ".kube.ephemeralStorage", "use Mi or Gi",
		},
		{
			"threshold", "", withReservations(bootstrapv1.Reservations{Eviction: bootstrapv1.Eviction{NodeFSAvailable: "100%"}}),
			keptField + ".eviction.nodefsAvailable", `"100%" is not an amount; use Mi, Gi or a percentage`,
		},
		{"all the memory", "", system("16Gi"), keptField, "leave no memory of the VM's 16384 MiB to pods"},
		{
			"all the cpu", "", withReservations(bootstrapv1.Reservations{System: bootstrapv1.Reserved{CPU: "4"}}), keptField,
			"leave no cpu of the VM's 4 cpus to pods",
		},

		{
			"no page file", "", withPageFile(bootstrapv1.PageFile{Policy: "None"}), pageField,
			`policy "None" is not valid; use Managed, Fixed or Image`,
		},
		{
			"fixed without size", "", withPageFile(bootstrapv1.PageFile{Policy: "Fixed"}), pageField,
			"sizeMiB 0 is not valid with policy Fixed; use 1024 to 1048576",
		},
		{
			"size without fixed", "", withPageFile(bootstrapv1.PageFile{Policy: "Managed", SizeMiB: 4096}), pageField,
			"set policy: Fixed, or remove sizeMiB",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := plainInput(t, test.change)
			if test.version != "" {
				in.Machine.Spec.Version = test.version
			}
			_, err := bootstrap.Render(in)
			var refused *bootstrap.InvalidError
			if !errors.As(err, &refused) || refused.Field != test.field || !strings.Contains(refused.Message, test.want) {
				t.Errorf("%v, want %s: %s", err, test.field, test.want)
			}
		})
	}
}

// What a kubelet takes must not be refused.
func TestKubeletTakes(t *testing.T) {
	credentials := kubeletArgs(arg("image-credential-provider-bin-dir", `C:\k\providers`),
		arg("image-credential-provider-config", `C:\k\providers.yaml`))
	for _, test := range []struct {
		name, version string
		change        func(*bootstrap.Input)
	}{
		{"family of addresses", "", kubeletArgs(arg("node-ip", "0.0.0.0"))},
		{"credentials in the oldest version", "v1.30.0", credentials},
		{"credentials in 1.34", "v1.34.4", credentials},
		{"locked gate as it is", "v1.36.0", kubeletGate("WinDSR", "Enabled")},
		{"gate before its lock", "v1.33.0", kubeletGate("WinDSR", "Disabled")},
		{"gate in a version to come", "v1.37.0", kubeletGate("WindowsCPUAndMemoryAffinity", "Disabled")},
		{"null takes the cluster's away", "", kubeletConfig(`{"tlsCipherSuites": null}`)},
		{"parallel pulls", "", kubeletConfig(`{"maxParallelImagePulls": 5}`)},
		{"no grace", "", kubeletConfig(`{"shutdownGracePeriod": "0s", "shutdownGracePeriodCriticalPods": "0s"}`)},
		{"exactly 2Gi", "", system("2048Mi")},
		{"little for Windows in words", "", withReservations(bootstrapv1.Reservations{
			System: bootstrapv1.Reserved{Memory: "512Mi"}, LowMemory: bootstrapv1.LowMemoryAccepted,
		})},
		{"quiet", "", kubeletLog(bootstrapv1.KubeletLog{Verbosity: new(int32(0))})},
		{"page file as it is", "", withPageFile(bootstrapv1.PageFile{Policy: bootstrapv1.PageFileImage})},
	} {
		in := plainInput(t, test.change)
		if test.version != "" {
			in.Machine.Spec.Version = test.version
		}
		if _, err := bootstrap.Render(in); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
