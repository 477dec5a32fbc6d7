package pods

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed manifests
var manifests embed.FS

// The labels by which a node asks for DaemonSets, and what Daemons can be. Without the label, a node gets the CNI of the lab.
const (
	Daemons      = "lab.example.com/daemons"
	CalicoVXLAN  = "calico-system"
	CalicoBGP    = "calico-bgp-system"
	Antrea       = "antrea"
	NoDaemons    = "none"
	KubeProxy    = "lab.example.com/kube-proxy"
	KubeProxyPod = "pods"
)

// Cluster is what a workload cluster's manifests must know of it.
type Cluster struct {
	Config  *rest.Config
	Host    string
	Port    int
	Version string
}

// Apply gives a workload cluster the DaemonSets that its users would apply.
func (c Cluster) Apply(ctx context.Context) error {
	api, err := client.New(c.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("connect to workload cluster: %w", err)
	}
	for _, m := range []struct{ file, namespace, backend string }{
		{"lab", "", ""},
		{"calico", CalicoVXLAN, "vxlan"},
		{"calico", CalicoBGP, "windows-bgp"},
		{"antrea", "", ""},
		{"kube-proxy", "", ""},
	} {
		text, err := manifests.ReadFile("manifests/" + m.file + ".yaml")
		if err != nil {
			return err
		}
		filled := strings.NewReplacer("%NAMESPACE%", m.namespace, "%BACKEND%", m.backend, "%HOST%", c.Host,
			"%PORT%", strconv.Itoa(c.Port), "%VERSION%", c.Version).Replace(string(text))
		if err := apply(ctx, api, []byte(filled)); err != nil {
			return fmt.Errorf("apply %s: %w", m.file, err)
		}
	}
	return nil
}

func apply(ctx context.Context, api client.Client, text []byte) error {
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			apply := client.ApplyConfigurationFromUnstructured(object)
			err = api.Apply(ctx, apply, client.FieldOwner("lab"), client.ForceOwnership)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}
