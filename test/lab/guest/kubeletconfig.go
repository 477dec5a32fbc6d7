package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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
func readKubeletConfig(text []byte) (*kubeletv1.KubeletConfiguration, error) {
	config := &kubeletv1.KubeletConfiguration{}
	if err := decodeStrict(text, config); err != nil {
		return nil, fmt.Errorf("failed to decode the kubelet config: %w", err)
	}
	if config.APIVersion != "kubelet.config.k8s.io/v1beta1" || config.Kind != "KubeletConfiguration" {
		return nil, fmt.Errorf("no kind %q is registered for version %q", config.Kind, config.APIVersion)
	}
	setDefaults(config)
	return config, validate(config)
}

func setDefaults(c *kubeletv1.KubeletConfiguration) {
	if c.NodeLeaseDurationSeconds == 0 {
		c.NodeLeaseDurationSeconds = 40
	}
	if c.MaxPods == 0 {
		c.MaxPods = 110
	}
	if c.CgroupsPerQOS == nil {
		yes := true
		c.CgroupsPerQOS = &yes
	}
	if c.EnforceNodeAllocatable == nil {
		c.EnforceNodeAllocatable = []string{"pods"}
	}
	if c.EvictionHard == nil {
		c.EvictionHard = map[string]string{"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%"}
	}
}

// refusals are the rules by which a kubelet on Windows exits, each with its words.
var refusals = []func(c *kubeletv1.KubeletConfiguration) string{
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.SingleProcessOOMKill != nil, "singleProcessOOMKill is not supported on Windows")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.UserNamespaces != nil, "userNamespaces is not supported on Windows")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.NodeLeaseDurationSeconds < 0, "nodeLeaseDurationSeconds must be greater than 0")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.MaxPods < 0, fmt.Sprintf("maxPods (--max-pods) %d must not be a negative number", c.MaxPods))
	},
	refuseEnforcement,
	refuseReservations,
	refuseEviction,
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.ResolverConfig != nil && *c.ResolverConfig != "" && *c.ResolverConfig != "Host",
			"resolvConf must be \"\" or \"Host\" on Windows")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.ShutdownGracePeriodCriticalPods.Duration > c.ShutdownGracePeriod.Duration,
			"shutdownGracePeriodCriticalPods must be <= shutdownGracePeriod")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(len(c.ShutdownGracePeriodByPodPriority) > 0 && c.ShutdownGracePeriod.Duration > 0,
			"Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.MemorySwap.SwapBehavior == "LimitedSwap", "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.ImageServiceEndpoint != "" && !strings.HasPrefix(c.ImageServiceEndpoint, "npipe:"), "only support tcp and npipe endpoint")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(strings.HasPrefix(c.TLSCertFile, "/") || strings.HasPrefix(c.TLSPrivateKeyFile, "/"), "the certificate of the server is a file that is not there")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(c.ReservedSystemCPUs != "" || c.PodsPerCore != 0 || c.RegisterNode != nil && !*c.RegisterNode,
			"reservedSystemCPUs, podsPerCore and registerNode are not played, they belong to Linux nodes")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		managed := func(policy string) bool { return policy != "" && !strings.EqualFold(policy, "none") }
		return when(managed(c.CPUManagerPolicy) || managed(c.MemoryManagerPolicy) || managed(c.TopologyManagerPolicy),
			"cpuManagerPolicy, memoryManagerPolicy and topologyManagerPolicy need feature gate WindowsCPUAndMemoryAffinity")
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(len(c.FeatureGates) > 0, fmt.Sprintf("feature gates are not known to the lab's kubelet: %v", slices.Sorted(maps.Keys(c.FeatureGates))))
	},
	func(c *kubeletv1.KubeletConfiguration) string {
		return when(!strings.HasPrefix(c.ContainerRuntimeEndpoint, "npipe:"), "the container runtime endpoint address was not specified or empty, or is no named pipe")
	},
}

func validate(c *kubeletv1.KubeletConfiguration) error {
	for _, refusal := range refusals {
		if problem := refusal(c); problem != "" {
			return fmt.Errorf("invalid configuration: %s", problem)
		}
	}
	return nil
}

func when(wrong bool, problem string) string {
	if wrong {
		return problem
	}
	return ""
}

var enforcements = []string{"pods", "system-reserved", "kube-reserved", "system-reserved-compressible", "kube-reserved-compressible", "none"}

func refuseEnforcement(c *kubeletv1.KubeletConfiguration) string {
	for _, one := range c.EnforceNodeAllocatable {
		switch {
		case !slices.Contains(enforcements, one):
			return fmt.Sprintf("option %q specified for enforceNodeAllocatable (--enforce-node-allocatable)", one)
		case one == "none":
			return when(len(c.EnforceNodeAllocatable) > 1, "enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when \"none\" is specified")
		case strings.HasPrefix(one, "system-reserved") && c.SystemReservedCgroup == "", strings.HasPrefix(one, "kube-reserved") && c.KubeReservedCgroup == "":
			return fmt.Sprintf("a cgroup must be specified when %q included in enforceNodeAllocatable (--enforce-node-allocatable)", one)
		case !*c.CgroupsPerQOS:
			return fmt.Sprintf("cgroupsPerQOS (--cgroups-per-qos) must be set to true when %q contained in enforceNodeAllocatable (--enforce-node-allocatable)", one)
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
