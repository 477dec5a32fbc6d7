package guest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
)

// readKubeletConfig decodes strictly, puts in the defaults that matter here and refuses what a kubelet on Windows refuses.
func readKubeletConfig(text []byte, kubernetes string) (*kubeletv1.KubeletConfiguration, error) {
	config := &kubeletv1.KubeletConfiguration{}
	if err := decodeStrict(text, config); err != nil {
		return nil, fmt.Errorf("failed to decode the kubelet config: %w", err)
	}
	if config.APIVersion != "kubelet.config.k8s.io/v1beta1" || config.Kind != "KubeletConfiguration" {
		return nil, fmt.Errorf("no kind %q is registered for version %q", config.Kind, config.APIVersion)
	}
	if err := checkGates(config.FeatureGates, kubernetes); err != nil {
		return nil, err
	}
	setDefaults(config)
	return config, validate(config)
}

func setDefaults(c *kubeletv1.KubeletConfiguration) {
	c.NodeLeaseDurationSeconds = cmp.Or(c.NodeLeaseDurationSeconds, 40)
	c.MaxPods = cmp.Or(c.MaxPods, 110)
	c.Port = cmp.Or(c.Port, 10250)
	c.ContainerLogMonitorInterval = cmp.Or(c.ContainerLogMonitorInterval, &metav1.Duration{Duration: 10 * time.Second})
	c.ContainerLogMaxFiles = cmp.Or(c.ContainerLogMaxFiles, new(int32(5)))
	c.ContainerLogMaxWorkers = cmp.Or(c.ContainerLogMaxWorkers, new(int32(1)))
	c.ImageGCLowThresholdPercent = cmp.Or(c.ImageGCLowThresholdPercent, new(int32(80)))
	c.ImageGCHighThresholdPercent = cmp.Or(c.ImageGCHighThresholdPercent, new(int32(85)))
	c.CgroupsPerQOS = cmp.Or(c.CgroupsPerQOS, new(true))
	c.SerializeImagePulls = cmp.Or(c.SerializeImagePulls, new(c.MaxParallelImagePulls == nil || *c.MaxParallelImagePulls < 2))
	if c.EnforceNodeAllocatable == nil {
		c.EnforceNodeAllocatable = []string{"pods"}
	}
	if c.EvictionHard == nil {
		c.EvictionHard = map[string]string{"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%"}
	}
}

// checkGates: a kubelet panics at a gate that it does not know, or that it does not let change.
func checkGates(gates map[string]bool, kubernetes string) error {
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		on := gates[name]
		switch letter := inKubelet("gate "+name, kubernetes); {
		case letter == unknownThere:
			return fmt.Errorf("unrecognized feature gate: %s", name)
		case letter == lockedOn && !on, letter == lockedOff && on:
			return fmt.Errorf("cannot set feature gate %s to %t, feature is locked to %t", name, on, !on)
		}
	}
	return checkNeeds(gates, kubernetes)
}

// checkNeeds: since 1.35 a kubelet panics if a gate is on and one that it needs is off; k8s.io/component-base/featuregate has the
// words.
func checkNeeds(gates map[string]bool, kubernetes string) error {
	isOn := func(gate string) bool {
		if wanted, said := gates[gate]; said {
			return wanted
		}
		letter := inKubelet("gate "+gate, kubernetes)
		return letter == on || letter == lockedOn
	}
	for _, need := range needs() {
		words := strings.Fields(need)
		if inKubelet(need, kubernetes) != unknownThere && isOn(words[1]) && !isOn(words[2]) {
			return fmt.Errorf("%s is enabled, but depends on features that are disabled: [%s]", words[1], words[2])
		}
	}
	return nil
}

// refusal is a rule by which a kubelet on Windows exits, with its words. The files of test/upstream/kubelet/testdata/refused are
// what a real one was asked.
type refusal struct {
	holds bool
	words string
}

func when(holds bool, words string) refusal { return refusal{holds, words} }

//nolint:gocyclo // because it is a list of rules, one on a line
func refusals(c *kubeletv1.KubeletConfiguration) []refusal {
	long, short := c.ShutdownGracePeriod.Duration, c.ShutdownGracePeriodCriticalPods.Duration
	managed := func(policy string) bool { return policy != "" && !strings.EqualFold(policy, "none") }
	return []refusal{
		when(c.SingleProcessOOMKill != nil, "singleProcessOOMKill is not supported on Windows"),
		when(c.UserNamespaces != nil, "userNamespaces is not supported on Windows"),
		when(c.RunOnce, "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"),
		when(c.NodeLeaseDurationSeconds < 0, "nodeLeaseDurationSeconds must be greater than 0"),
		when(c.MaxPods < 0, fmt.Sprintf("maxPods (--max-pods) %d must not be a negative number", c.MaxPods)),
		when(c.EventBurst < 0, fmt.Sprintf("eventBurst (--event-burst) %d must not be a negative number", c.EventBurst)),
		when(c.Port < 1 || c.Port > 65535, fmt.Sprintf("port (--port) %d must be between 1 and 65535, inclusive", c.Port)),
		when(*c.ContainerLogMaxFiles <= 1, "containerLogMaxFiles must be greater than 1"),
		when(*c.ContainerLogMaxWorkers < 1, "containerLogMaxWorkers must be greater than or equal to 1"),
		when(c.ContainerLogMonitorInterval.Seconds() < 3, "containerLogMonitorInterval must be greater than or equal to 3s"),
		when(*c.ImageGCLowThresholdPercent >= *c.ImageGCHighThresholdPercent,
			"imageGCLowThresholdPercent (--image-gc-low-threshold) must be less than imageGCHighThresholdPercent"),
		when(c.ImageMaximumGCAge.Duration > 0 && c.ImageMaximumGCAge.Duration <= c.ImageMinimumGCAge.Duration,
			"imageMaximumGCAge must be greater than imageMinimumGCAge"),
		when(*c.SerializeImagePulls && c.MaxParallelImagePulls != nil && *c.MaxParallelImagePulls > 1,
			"maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false"),
		when(c.Logging.Format != "" && c.Logging.Format != "text" && c.Logging.Format != "json", "unsupported log format"),
		when(c.ShowHiddenMetricsForVersion != "", "showHiddenMetricsForVersion is not played: only one version fits"),
		when(c.ResolverConfig != nil && *c.ResolverConfig != "" && *c.ResolverConfig != "Host",
			`resolvConf must be "" or "Host" on Windows`),
		when(short > long, "shutdownGracePeriodCriticalPods must be <= shutdownGracePeriod"),
		when(len(c.ShutdownGracePeriodByPodPriority) > 0 && long > 0,
			"Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time"),
		when(c.MemorySwap.SwapBehavior == "LimitedSwap",
			"swap feature is enabled and LimitedSwap but it is only supported with cgroupv2"),
		when(c.ImageServiceEndpoint != "" && !strings.HasPrefix(c.ImageServiceEndpoint, "npipe:"),
			"only support tcp and npipe endpoint"),
		when(strings.HasPrefix(c.TLSCertFile, "/") || strings.HasPrefix(c.TLSPrivateKeyFile, "/"),
			"the certificate of the server is a file that is not there"),
		when(c.ReservedSystemCPUs != "" || c.PodsPerCore != 0 || c.RegisterNode != nil && !*c.RegisterNode,
			"reservedSystemCPUs, podsPerCore and registerNode are not played, they belong to Linux nodes"),
		when((managed(c.CPUManagerPolicy) || managed(c.MemoryManagerPolicy) || managed(c.TopologyManagerPolicy)) &&
			!c.FeatureGates["WindowsCPUAndMemoryAffinity"],
			"cpuManagerPolicy, memoryManagerPolicy and topologyManagerPolicy need feature gate WindowsCPUAndMemoryAffinity"),
		when(!strings.HasPrefix(c.ContainerRuntimeEndpoint, "npipe:"),
			"the container runtime endpoint address was not specified or empty, or is not a named pipe"),
	}
}

func validate(c *kubeletv1.KubeletConfiguration) error {
	problems := []string{refuseEnforcement(c), refuseReservations(c), refuseEviction(c)}
	for _, r := range refusals(c) {
		if r.holds {
			problems = append(problems, r.words)
		}
	}
	for _, problem := range problems {
		if problem != "" {
			return fmt.Errorf("invalid configuration: %s", problem)
		}
	}
	return nil
}

var enforcements = []string{
	"pods", "system-reserved", "kube-reserved", "system-reserved-compressible", "kube-reserved-compressible", "none",
}

func refuseEnforcement(c *kubeletv1.KubeletConfiguration) string {
	const flag = "enforceNodeAllocatable (--enforce-node-allocatable)"
	for _, one := range c.EnforceNodeAllocatable {
		system, kube := strings.HasPrefix(one, "system-reserved"), strings.HasPrefix(one, "kube-reserved")
		switch {
		case !slices.Contains(enforcements, one):
			return fmt.Sprintf("option %q specified for %s", one, flag)
		case one == "none" && len(c.EnforceNodeAllocatable) > 1:
			return flag + " may not contain additional enforcements when \"none\" is specified"
		case one == "none":
			return ""
		case system && c.SystemReservedCgroup == "", kube && c.KubeReservedCgroup == "":
			return fmt.Sprintf("a cgroup must be specified when %q included in %s", one, flag)
		case !*c.CgroupsPerQOS:
			return fmt.Sprintf("cgroupsPerQOS (--cgroups-per-qos) must be set to true when %q contained in %s", one, flag)
		}
	}
	return ""
}

func refuseReservations(c *kubeletv1.KubeletConfiguration) string {
	for _, reserved := range []map[string]string{c.SystemReserved, c.KubeReserved} {
		for name, text := range reserved {
			if !slices.Contains([]string{"cpu", "memory", "ephemeral-storage", "pid"}, name) {
				return fmt.Sprintf("cannot reserve %q resource", name)
			}
			if _, err := quantity(text); err != nil {
				return fmt.Sprintf("%s: %v", name, err)
			}
		}
	}
	return ""
}

var signals = []string{
	"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
	"containerfs.available", "containerfs.inodesFree", "pid.available",
}

func refuseEviction(c *kubeletv1.KubeletConfiguration) string {
	for signal, value := range c.EvictionHard {
		if !slices.Contains(signals, signal) {
			return fmt.Sprintf("unsupported eviction signal: %q", signal)
		}
		if _, err := threshold(value, 100); err != nil {
			return fmt.Sprintf("%s: %v", signal, err)
		}
	}
	return ""
}
