package pods

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/addons"
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
		all, err := m.objects()
		if err != nil {
			return err
		}
		for _, one := range all {
			if err := applyOne(ctx, api, one); err != nil {
				return err
			}
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
	found, err := addons.Build([]addons.Pool{{Version: c.Version, Network: calico}}, addons.Options{})
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

// CalicoNetwork is what the Windows nodes' Calico gets of its operator's Installation and of the cluster: the address of cluster
// DNS, the network of Services, and the size of packets, where it is given.
type CalicoNetwork struct {
	DNS, Services string
	MTU           int64
}

// CalicoForWindows gives a workload cluster what Calico's operator makes for all of its Windows nodes, with VXLAN.
func (c Cluster) CalicoForWindows(ctx context.Context, n CalicoNetwork) error {
	api, err := client.New(c.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("connect to workload cluster: %w", err)
	}
	rights, err := manifest{File: "rights"}.objects()
	if err != nil {
		return err
	}
	made, err := c.CalicoObjects(n)
	if err != nil {
		return err
	}
	for _, one := range slices.Concat(rights, made) {
		if err := applyOne(ctx, api, one); err != nil {
			return err
		}
	}
	return nil
}

// CalicoObjects are those of CalicoForWindows, as the lab has them.
func (c Cluster) CalicoObjects(n CalicoNetwork) ([]*unstructured.Unstructured, error) {
	return manifest{
		Cluster: c, CalicoNetwork: n, File: "calico", Namespace: CalicoVXLAN, Backend: "vxlan", Everywhere: true,
	}.objects()
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
	// CalicoNetwork has kubeadm's addresses when it has none.
	CalicoNetwork
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

// objects of the manifest, in its order.
func (m manifest) objects() (all []*unstructured.Unstructured, err error) {
	text, err := m.text()
	if err != nil {
		return nil, fmt.Errorf("fill in %s: %w", m.File, err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", m.File, err)
		}
		all = append(all, object)
	}
}

func applyOne(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	apply := client.ApplyConfigurationFromUnstructured(object)
	if err := api.Apply(ctx, apply, client.FieldOwner("lab"), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
