package bootstrap_test

import (
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// at is a machine of this version with these changes.
func at(version string, changes ...change) change { return all(ofVersion(version), all(changes...)) }

// Parts of a spec, in YAML.

func kubelet(text string) change { return spec("kubelet: {" + text + "}") }

func reserved(text string) change { return spec("reservations: {" + text + "}") }

// withArg and withGate add one to those that are there.

func withArg(name, value string) change {
	return func(in *bootstrap.Input) {
		arg := bootstrapv1.KubeletArg{Name: name, Value: &value}
		in.Config.Spec.Kubelet.ExtraArgs = append(in.Config.Spec.Kubelet.ExtraArgs, arg)
	}
}

func withGate(name string, state bootstrapv1.State) change {
	return func(in *bootstrap.Input) {
		gate := bootstrapv1.FeatureGate{Name: name, State: state}
		in.Config.Spec.Kubelet.FeatureGates = append(in.Config.Spec.Kubelet.FeatureGates, gate)
	}
}

func withConfig(text string) change {
	return func(in *bootstrap.Input) { in.Config.Spec.Kubelet.Configuration.Raw = []byte(text) }
}

// A kubelet that exits is a VM that was bought for nothing.
func TestKubeletRefusals(t *testing.T) {
	const args, gates, config = "kubelet.extraArgs", "kubelet.featureGates", "kubelet.configuration"
	const logs, kept = "kubelet.log", "reservations"
	const winDSR = `{name: WinDSR, state: Enabled}`
	refuse(t, []mistake{
		{
			"ours", args, withArg("hostname-override", "x"),
			"hostname-override is set by this provider: a node has the name of its computer; remove it",
		},
		{"has a field", args, withArg("max-pods", "5"), "use spec.kubelet.maxPods"},
		{"labels", args, withArg("node-labels", "a=b"), "use spec.node.labels"},
		{"removed", args, withArg("network-plugin", "cni"), "the kubelet no longer has the flag network-plugin"},
		{
			"removed pause image", args, withArg("pod-infra-container-image", "x"),
			"and would exit: use spec.containerd.pauseImage",
		},
		{
			"pause image where it is known", args, at("v1.34.4", withArg("pod-infra-container-image", "x")),
			"pod-infra-container-image does nothing on a Windows node",
		},
		{
			"gone in a later version", args, at("v1.33.0", withArg("register-schedulable", "false")),
			"later versions have no such flag: use spec.node.taints",
		},
		{
			"misspelt", args, withArg("vmodul", "x"),
			`the kubelet of v1.36 has no flag "vmodul" and would exit; no version from 1.30 to 1.37 has it: correct the name`,
		},
		{"of the configuration", args, withArg("event-burst", "5"), "use eventBurst in spec.kubelet.configuration"},
		{"of Linux", args, withArg("runtime-cgroups", "/x"), "runtime-cgroups has no effect on a Windows node; remove it"},
		{"twice", args, all(withArg("vmodule", "a=1"), withArg("vmodule", "a=2")), "vmodule is listed twice"},
		{"one address for all", args, withArg("node-ip", "10.0.0.1"), `value "10.0.0.1" of node-ip is not valid; use 0.0.0.0 or ::`},
		{"format", args, withArg("logging-format", "xml"), `value "xml" of logging-format is not valid; use text or json`},
		{"no value", args, kubelet(`extraArgs: [{name: logging-format}]`), `value "" of logging-format`},
		{"colon in a path", args, withArg("image-credential-provider-config", `C:\a:b`), `use a file such as C:\var`},
		{"quote in a path", args, withArg("image-credential-provider-config", `C:\a" --v=9`), `use a file such as C:\var`},
		{"Linux path", args, withArg("image-credential-provider-bin-dir", "/usr/bin"), `use a folder such as C:\var`},
		{"half a pair", args, withArg("image-credential-provider-bin-dir", `C:\providers`), "is set; use both or neither"},
		{"the other half", args, withArg("image-credential-provider-config", `C:\providers.yaml`), "is set; use both or neither"},

		{"unknown gate", gates, withGate("WinDRS", "Enabled"), `the kubelet of v1.36 has no feature gate "WinDRS" and would not start`},
		{"unknown in the oldest", gates, at("v1.30.0", withGate("WinDRS", "Enabled")), "the kubelet of v1.30 has no feature gate"},
		{"gate too new", gates, at("v1.31.0", withGate("WindowsCPUAndMemoryAffinity", "Enabled")), "(it exists in: 1.32 and later)"},
		{"gate too old", gates, at("v1.36.0", withGate("CloudDualStackNodeIPs", "Enabled")), "(it exists in: 1.30 to 1.31)"},
		{"locked on", gates, at("v1.34.0", withGate("WinDSR", "Disabled")), "WinDSR cannot be Disabled in v1.34: it is locked"},
		{
			"locked in a later version", gates, at("v1.38.0", withGate("CPUManagerPolicyOptions", "Disabled")),
			"CPUManagerPolicyOptions cannot be Disabled in v1.38",
		},
		{
			"DSR's, removed in 1.38", gates, at("v1.38.0-alpha.1", withGate("WinDSR", "Enabled")),
			"the kubelet of v1.38 no longer has the feature gate WinDSR and would not start; remove it: " +
				"spec.network.kubeProxy.dsr alone decides about direct server return",
		},
		{"removed, where it was locked", gates, at("v1.39.2", withGate("WinDSR", "Disabled")), "the kubelet of v1.39 no longer has"},
		{
			"VXLAN's, removed in 1.38", gates, at("v1.38.0", withGate("WinOverlay", "Enabled")),
			"the kubelet of v1.38 no longer has the feature gate WinOverlay and would not start; remove it: VXLANs need no gate",
		},
		{
			"gate gone in 1.37", gates, at("v1.37.1", withGate("SidecarContainers", "Enabled")),
			`the kubelet of v1.37 has no feature gate "SidecarContainers"`,
		},
		{
			"gate that another one needs", gates, withGate("GracefulNodeShutdown", "Disabled"),
			"GracefulNodeShutdown is Disabled, but in v1.36 GracefulNodeShutdownBasedOnPodPriority is on by default and depends on it, " +
				"and the kubelet would not start; set GracefulNodeShutdownBasedOnPodPriority to Disabled as well, " +
				"or remove GracefulNodeShutdown",
		},
		{
			"gate without what it needs", gates, withGate("ClusterTrustBundleProjection", "Enabled"),
			"ClusterTrustBundleProjection is Enabled, but in v1.36 it depends on ClusterTrustBundle, which is off, and the kubelet " +
				"would not start; set ClusterTrustBundle to Enabled as well, or remove ClusterTrustBundleProjection",
		},
		{"gate of 1.37", gates, at("v1.36.3", withGate("DefaultPodSysctls", "Enabled")), "(it exists in: 1.37 and later)"},
		{"log elsewhere", logs + ".directory", kubelet(`log: {directory: 'D:\logs'}`), `"D:\\logs" is not a plain path on drive C:`},
		{"log not in ASCII", logs + ".directory", kubelet(`log: {directory: 'C:\für alle'}`), "is not printable ASCII without percent"},
		{"log in a variable", logs + ".directory", kubelet(`log: {directory: 'C:\%OS%\a'}`), "use a name such as C:\\logs\\kubelet"},
		{
			"argument in a variable", args, kubelet(`extraArgs: [{name: image-credential-provider-bin-dir, value: 'C:\%OS%'}]`),
			"is not printable ASCII without double quotes, percent signs",
		},
		{"log among keys", logs + ".directory", kubelet(`log: {directory: 'C:\etc\kubernetes\logs'}`), "is reserved for the bootstrap"},
		{"sysctls", config, at("v1.37.1", withConfig(`{"defaultPodSysctls": {"net.ipv4.tcp_syncookies": "1"}}`)), "defaultPodSysctls"},
		{
			"grace without its gate", config,
			at("v1.34.4", withGate("GracefulNodeShutdown", "Disabled"), withConfig(`{"shutdownGracePeriod": "90s"}`)),
			"shutdownGracePeriod needs the feature gate GracefulNodeShutdown",
		},
		{"socket for images", config, withConfig(`{"imageServiceEndpoint": "npipe:////./pipe/x"}`), "listens on the same pipe"},
		{"no state", gates, withGate("WinDSR", ""), `state "" of WinDSR is not valid; use Enabled or Disabled`},
		{"gate twice", gates, kubelet(`featureGates: [` + winDSR + `, ` + winDSR + `]`), "WinDSR is listed twice"},
		{
			"query without its gate", gates, at("v1.35.0", kubelet(`systemLogQuery: Enabled`), withGate("NodeLogQuery", "Disabled")),
			"NodeLogQuery is Disabled, but spec.kubelet.systemLogQuery: Enabled needs it",
		},

		{"no object", config, withConfig(`[]`), "must be an object"},
		{"no JSON", config, withConfig(`{`), "must be an object"},
		{"field of ours", config, withConfig(`{"providerID": "x"}`), "providerID is set by this provider: it names the VM; remove it"},
		{"gates in the configuration", config, withConfig(`{"featureGates": {}}`), "use spec.kubelet.featureGates"},
		{
			"exits", config, withConfig(`{"singleProcessOOMKill": false}`),
			"singleProcessOOMKill: a kubelet on Windows exits when it is set; remove it",
		},
		{"exits too", config, withConfig(`{"userNamespaces": {"idsPerPod": 65536}}`), "userNamespaces: a kubelet on Windows exits"},
		{"no effect", config, withConfig(`{"cgroupDriver": "systemd"}`), "there are no cgroups on Windows; remove it"},
		{
			"affinity without its gate", config, withConfig(`{"cpuManagerPolicy": "static"}`),
			"cpuManagerPolicy needs the feature gate WindowsCPUAndMemoryAffinity",
		},
		{"unknown field", config, withConfig(`{"containerLogMaxSiz": "1Mi"}`), `has no field "containerLogMaxSiz" and would ignore it`},
		{"field too new", config, at("v1.30.0", withConfig(`{"crashLoopBackOff": {}}`)), "(it exists in: 1.32 and later)"},
		{"unknown inner field", config, withConfig(`{"logging": {"levels": 1}}`), `unknown field "logging.levels"`},
		{
			"text for a number", config, withConfig(`{"containerLogMaxFiles": "three"}`),
			"the kubelet cannot read containerLogMaxFiles: it must be a number, without quotes",
		},
		{
			"number for a text", config, withConfig(`{"containerLogMaxSize": 5}`),
			"the kubelet cannot read containerLogMaxSize: it must be a text; put it in quotes",
		},
		{
			"number for a duration", config, withConfig(`{"streamingConnectionIdleTimeout": 5}`),
			"the kubelet cannot read streamingConnectionIdleTimeout: it must be a duration in quotes, such as 30s",
		},
		{
			"no duration", config, withConfig(`{"streamingConnectionIdleTimeout": "5x"}`),
			"the kubelet cannot read streamingConnectionIdleTimeout: it must be a duration in quotes, such as 30s",
		},
		{
			"list for a text", config, withConfig(`{"clusterDomain": ["a"]}`),
			"the kubelet cannot read clusterDomain: it must be a text; put it in quotes",
		},
		{
			"text for a list", config, withConfig(`{"clusterDNS": "10.96.0.10"}`), "the kubelet cannot read clusterDNS: it must be a list",
		},
		{
			"deep inside", config, withConfig(`{"logging": {"verbosity": "high"}}`),
			"the kubelet cannot read logging.verbosity: it must be a number, without quotes",
		},
		{
			"text for true", config, withConfig(`{"serializeImagePulls": "true"}`),
			"the kubelet cannot read serializeImagePulls: it must be true or false, without quotes",
		},
		{"other case", config, withConfig(`{"ContainerLogMaxFiles": 3}`), "has no field"},
		{"one log file", config, withConfig(`{"containerLogMaxFiles": 1}`), "use 2 or more"},
		{"no log workers", config, withConfig(`{"containerLogMaxWorkers": 0}`), "use 1 or more"},
		{"image thresholds", config, withConfig(`{"imageGCLowThresholdPercent": 90}`), "the low one below the high one; use both"},
		{
			"parallel pulls", config, withConfig(`{"maxParallelImagePulls": 5, "serializeImagePulls": true}`),
			"not above 1 with serializeImagePulls: true",
		},
		{
			"grace periods", config, withConfig(`{"shutdownGracePeriod": "10s", "shutdownGracePeriodCriticalPods": "20s"}`),
			"use both, such as 60s and 20s",
		},
		{"grace shorter than ours", config, withConfig(`{"shutdownGracePeriod": "10s"}`), "use both, such as 60s and 20s"},
		{
			"grace twice", config, withConfig(`{"shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 5}]}`),
			"replaces the other two periods",
		},
		{"negative burst", config, withConfig(`{"eventBurst": -1}`), "use 0 or more"},
		{"hasty log monitor", config, withConfig(`{"containerLogMonitorInterval": "1s"}`), "use 10s"},
		{"DNS by name", config, withConfig(`{"clusterDNS": ["dns.example.com"]}`), "use clusterDNS: [10.96.0.10]"},
		{"odd domain", config, withConfig(`{"clusterDomain": "cluster_local"}`), "clusterDomain must be a domain"},
		{"image ages", config, withConfig(`{"imageMaximumGCAge": "1m", "imageMinimumGCAge": "2m"}`), "use both, such as 168h and 2m"},
		{"log format", config, withConfig(`{"logging": {"format": "xml"}}`), "use format: text or format: json"},
		{
			"gate said to be off", gates,
			at("v1.35.0", withGate("ImageMaximumGCAge", "Disabled"), withConfig(`{"imageMaximumGCAge": "24h"}`)),
			"ImageMaximumGCAge cannot be Disabled in v1.35",
		},
		{
			"gate that is off", config, at("v1.33.0", withConfig(`{"crashLoopBackOff": {"maxContainerRestartPeriod": "10s"}}`)),
			"crashLoopBackOff needs the feature gate KubeletCrashLoopBackOffMax",
		},
		{"port", config, withConfig(`{"port": 70000}`), "use 1 to 65535"},
		{"lease", config, withConfig(`{"nodeLeaseDurationSeconds": -1}`), "use 40 or more"},
		{"soft eviction without time", config, withConfig(`{"evictionSoft": {"memory.available": "1Gi"}}`), "each with its time"},
		{"a fact", config, withConfig(`{"evictionMinimumReclaim": {"fact": "cpus"}}`), `a map has the key "fact"`},

		{
			"rotation in an old version", logs, at("v1.33.0", kubelet(`log: {maxSizeMiB: 5}`)),
			"the kubelet of v1.33 does not rotate its log",
		},
		{"negative size", logs, kubelet(`log: {maxSizeMiB: -5}`), "maxSizeMiB -5"},
		{"loud", logs + ".verbosity", kubelet(`log: {verbosity: 11}`), "11 is not valid; use 0 to 10"},
		{"provider", "kubelet.cloudProvider", kubelet(`cloudProvider: vsphere`), `"vsphere" is not valid; use External or None`},
		{"priority", "kubelet.priorityClass", kubelet(`priorityClass: Realtime`), "use AboveNormal, High or Normal"},
		{"start", "kubelet.start", kubelet(`start: Manual`), "use Automatic or AutomaticDelayed"},
		{"signer", "kubelet.serverCertificates", kubelet(`serverCertificates: x`), "use ClusterSigned or SelfSigned"},
		{"query", "kubelet.systemLogQuery", kubelet(`systemLogQuery: x`), "use Disabled or Enabled"},

		{
			"little memory", kept, reserved(`system: {memory: 1Gi}`),
			`system.memory "1Gi" and kube.memory "" keep 1Gi, less than the 2Gi`,
		},
		{
			"little memory for both", kept, reserved(`system: {memory: 1Gi}, kube: {memory: 1023Mi}`),
			"reserve more, remove system.memory, or set lowMemoryPolicy: Allow",
		},
		{"not this word", kept + ".lowMemoryPolicy", reserved(`lowMemoryPolicy: 'Yes'`), `"Yes" is not valid; use Allow`},
		{"memory in GB", kept + ".system.memory", reserved(`system: {memory: 2GB}`), `"2GB" is not an amount; use 1Mi to 24Ti`},
		{"two bytes of memory", kept + ".system.memory", reserved(`system: {memory: 2}`), `"2" is not an amount`},
		{"too much memory", kept + ".kube.memory", reserved(`kube: {memory: 25Ti}`), `"25Ti" is not an amount`},
		{"cpu in words", kept + ".kube.cpu", reserved(`kube: {cpu: two}`), `"two" is not an amount; use cores such as 2`},
		{"less than no cpu", kept + ".kube.cpu", reserved(`kube: {cpu: -1}`), `"-1" is not an amount`},
		{"storage", kept + ".kube.ephemeralStorage", reserved(`kube: {ephemeralStorage: x}`), "use 1Mi to 64Ti"},
		{
			"threshold", kept + ".eviction.nodefsAvailable", reserved(`eviction: {nodefsAvailable: 100%}`),
			`"100%" is not an amount; use one such as 10Gi, or a percentage`,
		},
		{"all the memory", kept, reserved(`system: {memory: 16Gi}`), "leave no memory of the VM's 16384 MiB to pods"},
		{"all the cpu", kept, reserved(`system: {cpu: '4'}`), "leave no cpu of the VM's 4 cpus to pods"},

		{
			"no page file", "windows.pageFile", ofWindows(`pageFile: {policy: None}`),
			`policy "None" is not valid; use Managed, Fixed or Image`,
		},
		{
			"fixed without size", "windows.pageFile", ofWindows(`pageFile: {policy: Fixed}`),
			"sizeMiB 0 is not valid with policy Fixed; use 1024 to 1048576",
		},
		{
			"size without fixed", "windows.pageFile", ofWindows(`pageFile: {policy: Managed, sizeMiB: 4096}`),
			"set policy: Fixed, or remove sizeMiB",
		},
	})
}

// What a kubelet takes must not be refused.
func TestKubeletTakes(t *testing.T) {
	credentials := all(withArg("image-credential-provider-bin-dir", `C:\k\providers`),
		withArg("image-credential-provider-config", `C:\k\providers.yaml`))
	for _, test := range []struct {
		name   string
		change change
	}{
		{"family of addresses", withArg("node-ip", "0.0.0.0")},
		{"credentials in the oldest version", at("v1.30.0", credentials)},
		{"credentials in 1.34", at("v1.34.4", credentials)},
		{"locked gate as it is", at("v1.36.0", withGate("WinDSR", "Enabled"))},
		{
			"gate with what it needs",
			all(withGate("ClusterTrustBundleProjection", "Enabled"), withGate("ClusterTrustBundle", "Enabled")),
		},
		{"gates before they need others", at("v1.34.4", withGate("GracefulNodeShutdown", "Disabled"))},
		{"gate before its lock", at("v1.33.0", withGate("WinDSR", "Disabled"))},
		{"gate in a version to come", at("v1.37.0", withGate("WindowsCPUAndMemoryAffinity", "Disabled"))},
		{"null takes the cluster's away", withConfig(`{"tlsCipherSuites": null}`)},
		{"parallel pulls", withConfig(`{"maxParallelImagePulls": 5}`)},
		{"no grace", withConfig(`{"shutdownGracePeriod": "0s", "shutdownGracePeriodCriticalPods": "0s"}`)},
		{"exactly 2Gi", reserved(`system: {memory: 2048Mi}`)},
		{"little for Windows", reserved(`system: {memory: 512Mi}, lowMemoryPolicy: Allow`)},
		{"quiet", kubelet(`log: {verbosity: 0}`)},
		{"page file as it is", ofWindows(`pageFile: {policy: Image}`)},
	} {
		_, err := bootstrap.Render(plainInput(t, test.change))
		expect.Says(t, test.name, err, "")
	}
}
