package lab

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

//go:embed pool.yaml
var poolYAML string

// Where the lab's cluster is.
const (
	Namespace   = "default"
	ClusterName = "demo"
)

// AzureSize is the first size of the VMs in Azure.
const AzureSize = "Standard_D4s_v5"

// Pool is a MachineDeployment of Windows machines with all that belongs to it.
type Pool struct {
	Name     string
	Replicas int32
	// Azure has its machines; the vCenter otherwise.
	Azure bool
	// Template is the vCenter's when empty.
	Template string
	// Config is of the machines' bootstrap; nil labels their nodes with the name of the pool and leaves the rest out.
	Config *bootstrapv1.WindowsBootstrapConfigSpec
	// NetworkInterfaces of the VMs as YAML; the template's when empty.
	NetworkInterfaces string
}

// Manifest is the pool's YAML, as a user would apply it.
func (l *Lab) Manifest(p Pool) ([]byte, error) {
	credentials := map[string]string{}
	for key, value := range l.VCenter.Credentials() {
		credentials[key] = base64.StdEncoding.EncodeToString(value)
	}
	if p.Template == "" {
		p.Template = vcenter.Template
	}
	var config []byte
	if p.Config != nil {
		var err error
		if config, err = json.Marshal(p.Config); err != nil {
			return nil, fmt.Errorf("render pool: %w", err)
		}
	}
	var text bytes.Buffer
	err := template.Must(template.New("pool").Parse(poolYAML)).Execute(&text, map[string]any{
		"Name": p.Name, "Namespace": Namespace, "Cluster": ClusterName, "Replicas": p.Replicas, "Version": l.Workload.Version,
		"Credentials": credentials, "Template": p.Template, "Config": string(config), "NetworkInterfaces": p.NetworkInterfaces,
		"Datacenter": vcenter.Datacenter, "ResourcePool": vcenter.ResourcePool, "Folder": vcenter.Folder,
		"Azure": p.Azure, "Size": AzureSize, "FallbackSize": "Standard_D4as_v5", "Image": armsim.ManagedImage,
	})
	if err != nil {
		return nil, fmt.Errorf("render pool: %w", err)
	}
	return text.Bytes(), nil
}

// Apply makes a pool, or brings it in line.
func (l *Lab) Apply(ctx context.Context, p Pool) error {
	objects, err := l.objects(p)
	if err != nil {
		return err
	}
	return l.apply(ctx, objects)
}

// ApplyMachine makes one Machine like those of the pool, which no MachineDeployment looks after: that is half of the work.
func (l *Lab) ApplyMachine(ctx context.Context, p Pool) error {
	objects, err := l.objects(p)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if template, ok, _ := unstructured.NestedMap(object.Object, "spec", "template", "spec"); ok {
			instantiate(object, p.Name, template)
		}
	}
	return l.apply(ctx, objects)
}

// instantiate turns a template into what would be made of it.
func instantiate(object *unstructured.Unstructured, pool string, spec map[string]any) {
	const mark = "Template"
	name := pool + "-0"
	for _, field := range [][]string{{"bootstrap", "configRef"}, {"infrastructureRef"}} {
		if ref, ok, _ := unstructured.NestedMap(spec, field...); ok {
			kind, _ := ref["kind"].(string)
			ref["kind"], ref["name"] = strings.TrimSuffix(kind, mark), name
			_ = unstructured.SetNestedMap(spec, ref, field...) // it was there
		}
	}
	object.Object["spec"] = spec
	object.SetName(name)
	object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: ClusterName, clusterv1.MachineDeploymentNameLabel: pool})
	object.SetKind(strings.TrimSuffix(strings.TrimSuffix(object.GetKind(), mark), "Deployment"))
}

func (l *Lab) objects(p Pool) ([]*unstructured.Unstructured, error) {
	manifest, err := l.Manifest(p)
	if err != nil {
		return nil, err
	}
	return decode(manifest)
}

func decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		objects = append(objects, object)
	}
}

func (l *Lab) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		apply := client.ApplyConfigurationFromUnstructured(object)
		if err := l.Client.Apply(ctx, apply, client.FieldOwner("lab"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// Scale changes the number of machines, as a change in Git would.
func (l *Lab) Scale(ctx context.Context, pool string, replicas int32) error {
	deployment := &clusterv1.MachineDeployment{}
	deployment.Namespace, deployment.Name = Namespace, pool
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := l.Client.Patch(ctx, deployment, patch); err != nil {
		return fmt.Errorf("scale pool %s: %w", pool, err)
	}
	return nil
}

// Remove removes a pool's machines. Its templates stay until the Cluster goes.
func (l *Lab) Remove(ctx context.Context, pool string) error {
	deployment := &clusterv1.MachineDeployment{}
	deployment.Namespace, deployment.Name = Namespace, pool
	if err := l.Client.Delete(ctx, deployment); err != nil {
		return fmt.Errorf("remove pool %s: %w", pool, err)
	}
	return nil
}

// RemoveCluster removes the Cluster. Cluster API leaves Nodes alone then: their cluster goes with them.
func (l *Lab) RemoveCluster(ctx context.Context) error {
	cluster := &clusterv1.Cluster{}
	cluster.Namespace, cluster.Name = Namespace, ClusterName
	if err := l.Client.Delete(ctx, cluster); err != nil {
		return fmt.Errorf("remove cluster: %w", err)
	}
	return nil
}
