package topology

import (
	"context"
	"fmt"
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
func (r reader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *clusterv1.ClusterClass:
		if key == client.ObjectKeyFromObject(r.class) {
			r.class.DeepCopyInto(into)
			return nil
		}
	case *metav1.PartialObjectMetadata:
		into.Name, into.Labels = key.Name, r.contracts(key.Name)
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// List is for what there is only after the topology: nothing here.
func (r reader) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// contracts are the labels of a CRD that say which of its versions follow which contract: those of the file, or each version of
// its objects by its own name, as it is with all providers that have a version of the name of a contract.
func (r reader) contracts(name string) map[string]string {
	labels := map[string]string{}
	for _, one := range r.files.All {
		if one.Kind == "CustomResourceDefinition" && one.Key.Name == name {
			if found, err := objects.Field[map[string]string](one, "metadata", "labels"); err == nil && found != nil {
				return *found
			}
		}
		if kind := strings.TrimSuffix(one.Kind, "Template"); contract.CalculateCRDName(one.Version.Group, kind) == name {
			labels[clusterv1.GroupVersion.Group+"/"+one.Version.Version] = one.Version.Version
		}
	}
	return labels
}

// noWriter is the part of a client that nothing uses as long as no object of the topology is there and runtime extensions
// are off.
type noWriter struct{ client.Client }

// readOnly is a client of the files.
type readOnly struct {
	noWriter
	reader
}

// Get and List are those of the files.
func (r readOnly) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if err := r.reader.Get(ctx, key, into, options...); err != nil {
		return fmt.Errorf("read from the files: %w", err)
	}
	return nil
}

// List finds nothing.
func (r readOnly) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.reader.List(ctx, list, options...)
}

// noClusters is for connections to workload clusters, which are asked only about MachinePools that are there.
type noClusters struct{ clustercache.ClusterCache }
