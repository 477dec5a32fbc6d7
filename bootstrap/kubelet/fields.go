package kubelet

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	sigsjson "sigs.k8s.io/json"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const configurationField = "WindowsBootstrapConfig spec.kubelet.configuration"

// ownedFields are fields that we set, each with what the user can do instead.
var ownedFields = map[string]string{
	"apiVersion":               "remove it",
	"cgroupsPerQOS":            "there are no cgroups on Windows; remove it",
	"containerRuntimeEndpoint": "containerd listens on the same pipe in every image; remove it",
	"enableSystemLogHandler":   "use spec.kubelet.systemLogQuery",
	"enableSystemLogQuery":     "use spec.kubelet.systemLogQuery",
	"enforceNodeAllocatable":   "a kubelet on Windows enforces no reservations; remove it",
	"evictionHard":             "use spec.reservations.eviction",
	"featureGates":             "use spec.kubelet.featureGates",
	"imageServiceEndpoint":     "containerd listens on the same pipe in every image; remove it",
	"kind":                     "remove it",
	"kubeReserved":             "use spec.reservations.kube",
	"maxPods":                  "use spec.kubelet.maxPods",
	"podsPerCore":              "the reservations are computed from maxPods; use spec.kubelet.maxPods",
	"providerID":               "it names the VM; remove it",
	"registerNode":             "a node that does not register never joins; remove it",
	"registerWithTaints":       "use spec.node.taints",
	"resolvConf":               "Windows has no resolv.conf, so kubeadm clears the field; remove it",
	"serverTLSBootstrap":       "use spec.kubelet.serverCertificates",
	"staticPodPath":            "kubeadm adds the drive to the cluster's path; remove it",
	"systemReserved":           "use spec.reservations.system",
}

// How long pods have when Windows shuts down, and how much of that is for the critical ones.
const (
	shutdownGrace         = 60 * time.Second
	shutdownGraceCritical = 20 * time.Second
)

// unsupportedFields make a kubelet on Windows exit, or have no effect there, by the reason.
var unsupportedFields = byName(map[string]string{
	"a kubelet on Windows exits when it is set": "defaultPodSysctls singleProcessOOMKill userNamespaces",
	"a kubelet with runOnce exits":              "runOnce",
	"Windows has no sysctls":                    "allowedUnsafeSysctls protectKernelDefaults",
	"there are no cgroups on Windows": "cgroupDriver cgroupRoot failCgroupV1 kernelMemcgNotification kubeReservedCgroup " +
		"kubeletCgroups memoryReservationPolicy memoryThrottlingFactor qosReserved systemCgroups systemReservedCgroup",
	"Windows limits cpu by job objects":                       "cpuCFSQuota cpuCFSQuotaPeriod",
	"spec.windows.pageFile configures the page file":          "failSwapOn memorySwap",
	"the CNI decides it":                                      "hairpinMode",
	"log collectors expect C:\\var\\log\\pods":                "podLogsDir",
	"the kubelet exits if the value does not fit its version": "showHiddenMetricsForVersion",
	"there is no iptables on Windows":                         "iptablesDropBit iptablesMasqueradeBit makeIPTablesUtilChains",
	"without it the kubelet reserves no disk space":           "localStorageCapacityIsolation",
	"Windows has no such limit":                               "maxOpenFiles",
	"Windows has no OOM killer":                               "oomScoreAdj",
	"Windows does not limit the processes of a pod":           "podPidsLimit",
	"a kubelet on Windows keeps no CPUs for the system":       "reservedSystemCPUs",
	"Windows has no seccomp":                                  "seccompDefault",
})

// byName turns a table of texts, each with the names that it is about, into one by name.
func byName(table map[string]string) map[string]string {
	texts := map[string]string{}
	for text, names := range table {
		for name := range strings.FieldsSeq(names) {
			texts[name] = text
		}
	}
	return texts
}

// affinityGate lets a kubelet on Windows assign CPUs and memory by NUMA node.
const affinityGate = "WindowsCPUAndMemoryAffinity"

// neededGates are the gates without which a kubelet on Windows ignores a field or exits at it, with their fields.
var neededGates = byName(map[string]string{
	affinityGate: "cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod memoryManagerPolicy reservedMemory " +
		"topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope",
	"KubeletCrashLoopBackOffMax":             "crashLoopBackOff",
	"ImageMaximumGCAge":                      "imageMaximumGCAge",
	"KubeletEnsureSecretPulledImages":        "imagePullCredentialsVerificationPolicy preloadedImagesVerificationAllowlist",
	shutdownGate:                             "shutdownGracePeriod shutdownGracePeriodCriticalPods",
	"GracefulNodeShutdownBasedOnPodPriority": "shutdownGracePeriodByPodPriority",
	"KubeletTracing":                         "tracing",
})

// readConfiguration reads the user's fields of a KubeletConfiguration. It is stricter than the kubelet, which only
// logs an unknown field.
func readConfiguration(raw []byte, gates map[string]bool, minor uint64) (map[string]any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, step.Invalid(configurationField,
			"must be an object; use fields of a KubeletConfiguration, such as containerLogMaxSize: 20Mi")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := checkField(name, gates, minor); err != nil {
			return nil, err
		}
	}
	// Fields that we set and that the user may change.
	typed := kubeletv1.KubeletConfiguration{
		ShutdownGracePeriod:             metav1.Duration{Duration: shutdownGrace},
		ShutdownGracePeriodCriticalPods: metav1.Duration{Duration: shutdownGraceCritical},
	}
	problems, err := sigsjson.UnmarshalStrict(raw, &typed)
	if err != nil {
		return nil, unreadable(fields)
	}
	if len(problems) > 0 {
		return nil, step.Invalid(configurationField,
			"the kubelet would ignore a field: %v; use fields of the KubeletConfiguration of v1.%d", problems[0], minor)
	}
	if err := checkKeys(fields); err != nil {
		return nil, err
	}
	for _, rule := range fieldRules {
		if rule.wrong(&typed) {
			return nil, step.Invalid(configurationField, "%s; %s", rule.says, rule.write)
		}
	}
	return fields, nil
}

// checkKeys refuses a map that a node would not read as it is written: PowerShell ignores the case of keys, and a plan takes the
// key fact for a fact of the node.
func checkKeys(tree any) error {
	var children []any
	switch tree := tree.(type) {
	case map[string]any:
		seen := map[string]string{}
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			lower := strings.ToLower(key)
			if lower == "fact" {
				return step.Invalid(configurationField, "a map has the key %q, which is reserved for facts of the node; remove it", key)
			}
			if previous, twice := seen[lower]; twice {
				return step.Invalid(configurationField,
					"a map has the keys %q and %q, which are the same on Windows; remove one of them", previous, key)
			}
			seen[lower] = key
			children = append(children, tree[key])
		}
	case []any:
		children = tree
	}
	for _, child := range children {
		if err := checkKeys(child); err != nil {
			return err
		}
	}
	return nil
}

func checkField(name string, gates map[string]bool, minor uint64) error {
	if advice := ownedFields[name]; advice != "" {
		return step.Invalid(configurationField, "%s is set by this provider: %s", name, advice)
	}
	if reason := unsupportedFields[name]; reason != "" {
		return step.Invalid(configurationField, "%s: %s; remove it", name, reason)
	}
	if line := kubeletFields[name]; inMinor(line, minor) == unknownThere {
		return step.Invalid(configurationField,
			"the kubelet of v1.%d has no field %q and would ignore it%s", minor, name, unknownName(line))
	}
	if gate := neededGates[name]; gate != "" && !GateOn(gate, gates, minor) {
		return step.Invalid(configurationField,
			"%s needs the feature gate %s; enable it in spec.kubelet.featureGates, or remove the field",
			name, gate)
	}
	return nil
}

// fieldRules are the rules by which a kubelet refuses values; test/upstream/kubelet compares them with the kubelet's own
// validation. A field that the user leaves out is the cluster's, which its own kubelets accept.
var fieldRules = []struct {
	says, write string
	wrong       func(c *kubeletv1.KubeletConfiguration) bool
}{
	{
		"containerLogMaxFiles must be more than 1", "use 2 or more",
		func(c *kubeletv1.KubeletConfiguration) bool {
			return c.ContainerLogMaxFiles != nil && *c.ContainerLogMaxFiles < 2
		},
	},
	{
		"containerLogMaxWorkers must be 1 or more", "use 1 or more",
		func(c *kubeletv1.KubeletConfiguration) bool {
			return c.ContainerLogMaxWorkers != nil && *c.ContainerLogMaxWorkers < 1
		},
	},
	{
		"imageGCHighThresholdPercent and imageGCLowThresholdPercent must be percentages, the low one below the high one",
		"use both, such as 85 and 80",
		func(c *kubeletv1.KubeletConfiguration) bool {
			low, high := orElse(c.ImageGCLowThresholdPercent, 80), orElse(c.ImageGCHighThresholdPercent, 85)
			return low < 0 || high > 100 || low >= high
		},
	},
	{
		"maxParallelImagePulls must be 1 or more, and not above 1 with serializeImagePulls: true",
		"use 1 or more, and serializeImagePulls: false",
		func(c *kubeletv1.KubeletConfiguration) bool {
			pulls := orElse(c.MaxParallelImagePulls, 1)
			return pulls < 1 || pulls > 1 && c.SerializeImagePulls != nil && *c.SerializeImagePulls
		},
	},
	{
		"shutdownGracePeriod must be at least as long as shutdownGracePeriodCriticalPods, and neither may be between 0s and 1s",
		"use both, such as 60s and 20s",
		func(c *kubeletv1.KubeletConfiguration) bool {
			full, critical := c.ShutdownGracePeriod.Duration, c.ShutdownGracePeriodCriticalPods.Duration
			return critical > full || full < 0 || critical < 0 || full > 0 && full < time.Second || critical > 0 && critical < time.Second
		},
	},
	{
		"shutdownGracePeriodByPodPriority replaces the other two periods",
		"set shutdownGracePeriod and shutdownGracePeriodCriticalPods to 0s",
		func(c *kubeletv1.KubeletConfiguration) bool {
			return len(c.ShutdownGracePeriodByPodPriority) > 0 &&
				(c.ShutdownGracePeriod.Duration > 0 || c.ShutdownGracePeriodCriticalPods.Duration > 0)
		},
	},
	{
		"bursts and rates must not be negative", "use 0 or more, or remove them",
		func(c *kubeletv1.KubeletConfiguration) bool {
			return min(c.EventBurst, c.KubeAPIBurst, c.RegistryBurst, orElse(c.EventRecordQPS, 0), orElse(c.KubeAPIQPS, 0),
				orElse(c.RegistryPullQPS, 0)) < 0 || orElse(c.NodeStatusMaxImages, 0) < -1
		},
	},
	{
		"containerLogMonitorInterval must be 3s or more", "use 10s",
		func(c *kubeletv1.KubeletConfiguration) bool {
			return c.ContainerLogMonitorInterval != nil && c.ContainerLogMonitorInterval.Duration < 3*time.Second
		},
	},
	{
		"imageMaximumGCAge must be longer than imageMinimumGCAge, and neither may be negative", "use both, such as 168h and 2m",
		func(c *kubeletv1.KubeletConfiguration) bool {
			low, high := c.ImageMinimumGCAge.Duration, c.ImageMaximumGCAge.Duration
			return low < 0 || high < 0 || high > 0 && high <= low
		},
	},
	{
		"logging.format must be text or json, and logging.options needs alpha feature gates",
		"use format: text or format: json, and no options",
		func(c *kubeletv1.KubeletConfiguration) bool {
			return !slices.Contains([]string{"", "text", "json"}, c.Logging.Format) || !reflect.ValueOf(c.Logging.Options).IsZero()
		},
	},
	{
		"port, readOnlyPort and healthzPort must be valid ports", "use 1 to 65535",
		func(c *kubeletv1.KubeletConfiguration) bool {
			ports := []int32{c.Port, c.ReadOnlyPort, orElse(c.HealthzPort, 1)}
			return slices.Min(ports) < 0 || slices.Max(ports) > 65535
		},
	},
	{
		"clusterDNS must have addresses and clusterDomain must be a domain: the kubelet drops anything else, and Pods have no DNS",
		"use clusterDNS: [10.96.0.10] and clusterDomain: cluster.local, or remove them",
		func(c *kubeletv1.KubeletConfiguration) bool {
			noAddress := func(text string) bool { _, err := netip.ParseAddr(text); return err != nil }
			noDomain := c.ClusterDomain != "" && validation.IsDNS1123Subdomain(c.ClusterDomain) != nil
			return slices.ContainsFunc(c.ClusterDNS, noAddress) || noDomain
		},
	},
	{
		"nodeLeaseDurationSeconds must not be negative", "use 40 or more",
		func(c *kubeletv1.KubeletConfiguration) bool { return c.NodeLeaseDurationSeconds < 0 },
	},
	{
		"evictionSoft must name signals, each with its time in evictionSoftGracePeriod",
		"use memory.available, nodefs.available or imagefs.available in both",
		func(c *kubeletv1.KubeletConfiguration) bool {
			return !signalsOnly(c.EvictionSoft) || !samePlaces(c.EvictionSoft, c.EvictionSoftGracePeriod)
		},
	},
}

func orElse(value *int32, fallback int32) int32 {
	if value == nil {
		return fallback
	}
	return *value
}

// signals are those that a kubelet on Windows watches.
var signals = []string{"memory.available", "nodefs.available", "imagefs.available"}

func signalsOnly(thresholds map[string]string) bool {
	for name, threshold := range thresholds {
		if _, ok := freeStorage.canonical(strings.TrimSpace(threshold)); !ok || !slices.Contains(signals, name) {
			return false
		}
	}
	return true
}

func samePlaces(thresholds, periods map[string]string) bool {
	return slices.Equal(slices.Sorted(maps.Keys(thresholds)), slices.Sorted(maps.Keys(periods)))
}
