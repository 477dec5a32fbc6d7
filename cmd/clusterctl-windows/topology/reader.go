package topology

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// reader answers what Cluster API's code asks of the management cluster before there is anything of a topology: its class, and
// the contract of a kind.
type reader struct {
	files *objects.Set
	class *clusterv1.ClusterClass
}

// Get knows the class, and the labels of CustomResourceDefinitions.
func (r reader) Get(_ context.Context, key client.ObjectKey, target client.Object, _ ...client.GetOption) error {
	switch target := target.(type) {
	case *clusterv1.ClusterClass:
		if key == client.ObjectKeyFromObject(r.class) {
			r.class.DeepCopyInto(target)
			return nil
		}
	case *metav1.PartialObjectMetadata:
		target.Name, target.Labels = key.Name, r.contracts(key.Name)
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// List is for what there is only after the topology: nothing here.
func (r reader) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// contracts are the labels of a CRD that map its versions to contracts: those of the file, or each version of its objects by its
// own name, as all providers do that name a version like a contract.
func (r reader) contracts(name string) map[string]string {
	labels := map[string]string{}
	for _, object := range r.files.Items {
		if object.Kind == "CustomResourceDefinition" && object.Key.Name == name {
			if found, err := objects.Field[map[string]string](object, "metadata", "labels"); err == nil && found != nil {
				return found
			}
		}
		if kind := strings.TrimSuffix(object.Kind, "Template"); contract.CalculateCRDName(object.Version.Group, kind) == name {
			labels[clusterv1.GroupVersion.Group+"/"+object.Version.Version] = object.Version.Version
		}
	}
	return labels
}

// noWriter is the part of a client that nothing uses as long as no object of the topology is there and runtime extensions
// are off.
type noWriter struct{ client.Client }

// readOnly is a client of the files: Get and List are those of the reader.
type readOnly struct {
	noWriter
	reader
}

// noClusters is for connections to workload clusters, which are asked only about MachinePools that are there.
type noClusters struct{ clustercache.ClusterCache }
