package guest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// downloadConfig reads, with the token's identity, what kubeadm init has left for nodes.
func (j *joining) downloadConfig(ctx context.Context, client kubernetes.Interface) ([]byte, error) {
	j.call.Print("[preflight] Reading configuration from the \"kubeadm-config\" ConfigMap in namespace \"kube-system\"...")
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	cluster, err := maps.Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("unable to fetch the kubeadm-config ConfigMap: failed to get config map: %w", err)
	}
	if err := versionFits(cluster.Data["ClusterConfiguration"], j.version); err != nil {
		return nil, err
	}
	found, err := maps.Get(ctx, "kubelet-config", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("unable to fetch the kubelet-config ConfigMap: failed to get config map: %w", err)
	}
	text, ok := found.Data["kubelet"]
	if !ok {
		return nil, fmt.Errorf("unexpected error when reading kubelet-config ConfigMap: kubelet key value pair missing")
	}
	return forWindows([]byte(text))
}

// versionFits: kubeadm serves control planes of its own minor version, the one before, and all later ones.
func versionFits(clusterConfiguration, kubeadm string) error {
	var cluster struct{ APIVersion, KubernetesVersion string }
	if err := yaml.Unmarshal([]byte(clusterConfiguration), &cluster); err != nil {
		return fmt.Errorf("failed to decode cluster configuration data: %w", err)
	}
	if cluster.APIVersion == kubeadmGroup+"v1beta4" && version.MustParseSemantic(kubeadm).LessThan(version.MajorMinor(1, 31)) {
		return fmt.Errorf("no kind %q is registered for version %q", "ClusterConfiguration", cluster.APIVersion)
	}
	has, err := version.ParseSemantic(cluster.KubernetesVersion)
	if err != nil {
		return fmt.Errorf("couldn't parse Kubernetes version %q: %w", cluster.KubernetesVersion, err)
	}
	if least := version.MustParseSemantic(kubeadm).SubtractMinor(1).WithPatch(0); has.LessThan(least) {
		return fmt.Errorf("this version of kubeadm only supports deploying clusters with the control plane version >= %s. Current version: v%s", least, has)
	}
	return nil
}

// forWindows is what kubeadm changes of a configuration that was made for Linux: no resolv.conf, paths with a drive.
func forWindows(text []byte) ([]byte, error) {
	var config kubeletv1.KubeletConfiguration
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("no kubelet component config found: %w", err)
	}
	none := ""
	config.ResolverConfig = &none
	for _, path := range []*string{&config.StaticPodPath, &config.Authentication.X509.ClientCAFile} {
		if strings.HasPrefix(*path, "/") {
			*path = "C:" + *path
		}
	}
	return yaml.Marshal(config)
}

// writeKubeletConfig applies the patches of the directory, then kubeadm's own for this node.
func (j *joining) writeKubeletConfig(config []byte) error {
	tree, err := toTree(config)
	if err != nil {
		return err
	}
	if j.config.patches != "" {
		if err := j.applyPatches(tree); err != nil {
			return fmt.Errorf("could not apply patches to the KubeletConfiguration: %w", err)
		}
	}
	flags := j.config.kubeletFlags
	if version.MustParseSemantic(j.version).AtLeast(version.MajorMinor(1, 34)) {
		mergePatch(tree, map[string]any{"containerRuntimeEndpoint": j.config.criSocket})
	} else {
		flags = append([]string{"--container-runtime-endpoint=" + j.config.criSocket}, flags...)
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return err
	}
	if err := j.machine.Put(kubeletConfigFile, text); err != nil {
		return fmt.Errorf("failed to write kubelet configuration to the file %q: %w", kubeletConfigFile, err)
	}
	j.call.Print("[kubelet-start] Writing kubelet configuration to file \"/var/lib/kubelet/config.yaml\"")
	environment := fmt.Sprintf("KUBELET_KUBEADM_ARGS=%q\n", strings.Join(flags, " "))
	return j.machine.Put(kubeletDir+`\kubeadm-flags.env`, []byte(environment))
}

var patchName = regexp.MustCompile(`^([a-z]+)([0-9a-zA-Z.-]*)(\+([a-z]+))?\.(yaml|json)$`)

func (j *joining) applyPatches(tree map[string]any) error {
	paths, err := j.machine.Match(strings.ReplaceAll(j.config.patches, "/", `\`) + `\*`)
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := windows.Base(path)
		parts := patchName.FindStringSubmatch(name)
		if len(parts) == 0 || parts[1] != "kubeletconfiguration" {
			return fmt.Errorf("unknown target in the name of the patch %q", name)
		}
		if parts[4] != "merge" {
			return fmt.Errorf("the lab's kubeadm applies merge patches only, not %q", name)
		}
		text, err := j.machine.ReadFile(path)
		if err != nil {
			return err
		}
		patch, err := toTree(text)
		if err != nil {
			return err
		}
		mergePatch(tree, patch)
		j.call.Print("[patches] Applied patch of type \"application/merge-patch+json\" to target \"kubeletconfiguration\"")
	}
	return nil
}

func toTree(text []byte) (map[string]any, error) {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	return tree, json.Unmarshal(data, &tree)
}

// mergePatch is RFC 7386.
func mergePatch(tree, patch map[string]any) {
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(tree, key)
		case map[string]any:
			below, ok := tree[key].(map[string]any)
			if !ok {
				below = map[string]any{}
				tree[key] = below
			}
			mergePatch(below, value)
		default:
			tree[key] = value
		}
	}
}

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
	return nil
}

// refusal is a rule by which a kubelet on Windows exits, with its words. The files of test/kubelet/testdata/refused are what a
// real one was asked.
type refusal struct {
	holds bool
	words string
}

func refusals(c *kubeletv1.KubeletConfiguration) []refusal {
	long, short := c.ShutdownGracePeriod.Duration, c.ShutdownGracePeriodCriticalPods.Duration
	managed := func(policy string) bool { return policy != "" && !strings.EqualFold(policy, "none") }
	return []refusal{
		{c.SingleProcessOOMKill != nil, "singleProcessOOMKill is not supported on Windows"},
		{c.UserNamespaces != nil, "userNamespaces is not supported on Windows"},
		{c.RunOnce, "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"},
		{c.NodeLeaseDurationSeconds < 0, "nodeLeaseDurationSeconds must be greater than 0"},
		{c.MaxPods < 0, fmt.Sprintf("maxPods (--max-pods) %d must not be a negative number", c.MaxPods)},
		{c.EventBurst < 0, fmt.Sprintf("eventBurst (--event-burst) %d must not be a negative number", c.EventBurst)},
		{c.Port < 1 || c.Port > 65535, fmt.Sprintf("port (--port) %d must be between 1 and 65535, inclusive", c.Port)},
		{*c.ContainerLogMaxFiles <= 1, "containerLogMaxFiles must be greater than 1"},
		{*c.ContainerLogMaxWorkers < 1, "containerLogMaxWorkers must be greater than or equal to 1"},
		{c.ContainerLogMonitorInterval.Seconds() < 3, "containerLogMonitorInterval must be greater than or equal to 3s"},
		{
			*c.ImageGCLowThresholdPercent >= *c.ImageGCHighThresholdPercent,
			"imageGCLowThresholdPercent (--image-gc-low-threshold) must be less than imageGCHighThresholdPercent",
		},
		{
			c.ImageMaximumGCAge.Duration > 0 && c.ImageMaximumGCAge.Duration <= c.ImageMinimumGCAge.Duration,
			"imageMaximumGCAge must be greater than imageMinimumGCAge",
		},
		{
			*c.SerializeImagePulls && c.MaxParallelImagePulls != nil && *c.MaxParallelImagePulls > 1,
			"maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false",
		},
		{c.Logging.Format != "" && c.Logging.Format != "text" && c.Logging.Format != "json", "unsupported log format"},
		{c.ShowHiddenMetricsForVersion != "", "showHiddenMetricsForVersion is not played: only one version fits"},
		{
			c.ResolverConfig != nil && *c.ResolverConfig != "" && *c.ResolverConfig != "Host",
			`resolvConf must be "" or "Host" on Windows`,
		},
		{short > long, "shutdownGracePeriodCriticalPods must be <= shutdownGracePeriod"},
		{
			len(c.ShutdownGracePeriodByPodPriority) > 0 && long > 0,
			"Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
		},
		{c.MemorySwap.SwapBehavior == "LimitedSwap", "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2"},
		{
			c.ImageServiceEndpoint != "" && !strings.HasPrefix(c.ImageServiceEndpoint, "npipe:"),
			"only support tcp and npipe endpoint",
		},
		{
			strings.HasPrefix(c.TLSCertFile, "/") || strings.HasPrefix(c.TLSPrivateKeyFile, "/"),
			"the certificate of the server is a file that is not there",
		},
		{
			c.ReservedSystemCPUs != "" || c.PodsPerCore != 0 || c.RegisterNode != nil && !*c.RegisterNode,
			"reservedSystemCPUs, podsPerCore and registerNode are not played, they belong to Linux nodes",
		},
		{
			(managed(c.CPUManagerPolicy) || managed(c.MemoryManagerPolicy) || managed(c.TopologyManagerPolicy)) &&
				!c.FeatureGates["WindowsCPUAndMemoryAffinity"],
			"cpuManagerPolicy, memoryManagerPolicy and topologyManagerPolicy need feature gate WindowsCPUAndMemoryAffinity",
		},
		{
			!strings.HasPrefix(c.ContainerRuntimeEndpoint, "npipe:"),
			"the container runtime endpoint address was not specified or empty, or is no named pipe",
		},
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
