package pods

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"text/template"

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
	Flanneld     = "flanneld"
	Peers        = "peers"
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
	for _, m := range []manifest{
		{File: "lab"},
		{File: "users"},
		{File: "antrea"},
		{File: "kube-proxy"},
		{File: "calico", Namespace: CalicoVXLAN, Backend: "vxlan"},
		{File: "calico", Namespace: CalicoBGP, Backend: "windows-bgp", BGP: true},
	} {
		m.Cluster = c
		text, err := m.text()
		if err == nil {
			err = apply(ctx, api, text)
		}
		if err != nil {
			return fmt.Errorf("apply %s: %w", m.File, err)
		}
	}
	return nil
}

// manifest is a file with what is filled in.
type manifest struct {
	Cluster

	File, Namespace, Backend string
	BGP                      bool
}

func (m manifest) text() ([]byte, error) {
	all, err := template.New("").Delims("<<", ">>").ParseFS(manifests, "manifests/"+m.File+".yaml")
	if err != nil {
		return nil, err
	}
	var filled bytes.Buffer
	err = all.ExecuteTemplate(&filled, m.File+".yaml", m)
	return filled.Bytes(), err
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
