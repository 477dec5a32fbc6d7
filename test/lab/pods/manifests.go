package pods

import (
	"bytes"
	"cmp"
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

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/addons"
)

//go:embed manifests
var manifests embed.FS

// The labels by which a node asks for DaemonSets, and what Daemons can be. Without the label, a node gets the CNI of the lab.
const (
	Daemons     = "lab.example.com/daemons"
	CalicoVXLAN = "calico-system"
	CalicoBGP   = "calico-bgp-system"
	Antrea      = "antrea"
	Flanneld    = "flanneld"
	Peers       = "peers"
	NoDaemons   = "none"
	SecondProxy = "lab.example.com/second-kube-proxy"
	IsWanted    = "wanted"
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
		{File: "rights"},
		{File: "lab"},
		{File: "users"},
		{File: "antrea"},
		{File: "kubeadm"},
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

// Addons gives a workload cluster what clusterctl windows addons prints for nodes with Calico, kube-proxy above all. Nodes that
// ask for it by their label get a second kube-proxy: the same, of users who do not leave out nodes with the service.
func (c Cluster) Addons(ctx context.Context) error {
	api, err := client.New(c.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("connect to workload cluster: %w", err)
	}
	calico := bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico}
	found, err := addons.For([]addons.Pool{{Version: c.Version, Network: calico}}, addons.Options{})
	if err != nil {
		return err
	}
	for _, one := range found.Objects {
		if err := applyOne(ctx, api, one.DeepCopy()); err != nil {
			return err
		}
		if one.GetKind() != "DaemonSet" {
			continue
		}
		if err := errors.Join(becomeSecond(one), applyOne(ctx, api, one)); err != nil {
			return err
		}
	}
	return nil
}

// CalicoForWindows gives a workload cluster what Calico's operator makes for all of its Windows nodes, with VXLAN.
func (c Cluster) CalicoForWindows(ctx context.Context, dns, services string) error {
	api, err := client.New(c.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("connect to workload cluster: %w", err)
	}
	for _, m := range []manifest{
		{File: "rights"},
		{File: "calico", Namespace: CalicoVXLAN, Backend: "vxlan", Everywhere: true, DNS: dns, Services: services},
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

func becomeSecond(set *unstructured.Unstructured) error {
	set.SetName(set.GetName() + "-second")
	labels, pod := map[string]string{"k8s-app": set.GetName()}, []string{"spec", "template", "spec"}
	unstructured.RemoveNestedField(set.Object, append(pod, "affinity")...)
	return errors.Join(
		unstructured.SetNestedStringMap(set.Object, labels, "spec", "selector", "matchLabels"),
		unstructured.SetNestedStringMap(set.Object, labels, "spec", "template", "metadata", "labels"),
		unstructured.SetNestedField(set.Object, IsWanted, append(pod, "nodeSelector", SecondProxy)...),
	)
}

// manifest is a file with what is filled in.
type manifest struct {
	Cluster

	File, Namespace, Backend string
	BGP                      bool
	// Everywhere is a cluster with one CNI: all Windows nodes have it.
	Everywhere bool
	// DNS and Services are the address of cluster DNS and the network of Services; kubeadm's when empty.
	DNS, Services string
}

func (m manifest) text() ([]byte, error) {
	all, err := template.New("").Delims("<<", ">>").ParseFS(manifests, "manifests/"+m.File+".yaml")
	if err != nil {
		return nil, err
	}
	m.DNS, m.Services = cmp.Or(m.DNS, "10.96.0.10"), cmp.Or(m.Services, "10.96.0.0/12")
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
			err = applyOne(ctx, api, object)
		}
		if err != nil {
			return err
		}
	}
}

func applyOne(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	apply := client.ApplyConfigurationFromUnstructured(object)
	if err := api.Apply(ctx, apply, client.FieldOwner("lab"), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
