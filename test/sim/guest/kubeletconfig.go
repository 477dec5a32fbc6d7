package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/merge"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
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
		return fmt.Errorf("this version of kubeadm only supports deploying clusters with the control plane version >= %s. "+
			"Current version: v%s", least, has)
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
		merge.Into(tree, map[string]any{"containerRuntimeEndpoint": j.config.criSocket})
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
		merge.Into(tree, patch)
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
