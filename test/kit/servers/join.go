package servers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// JoinOptions name the Cluster under which Cluster API sees a workload cluster.
type JoinOptions struct {
	Namespace string
	Name      string
	// Initialized is what most tests want. Without it Cluster API waits for the control plane until MarkInitialized.
	Initialized bool
	// Infrastructure of the Cluster, with its status; an ExternalCluster when nil.
	Infrastructure *unstructured.Unstructured
}

// JoinAsCluster shows a workload cluster to Cluster API: a Cluster with its endpoint, an ExternalControlPlane, an
// ExternalCluster, and the Secrets with the kubeconfig and the authority, all in one namespace, which is made if it is missing.
// Workers may then be added to the Cluster as to any other.
func JoinAsCluster(ctx context.Context, m *Management, w *Workload, opts JoinOptions) error {
	key := types.NamespacedName{Namespace: opts.Namespace, Name: opts.Name}
	api, err := m.client()
	if err != nil {
		return err
	}
	if err := join(ctx, api, w, key, opts.Infrastructure); err != nil {
		return fmt.Errorf("join cluster %s: %w", key, err)
	}
	if !opts.Initialized {
		return nil
	}
	return MarkInitialized(ctx, m, key)
}

// join writes what the Cluster refers to before the Cluster, so that Cluster API never has to look twice.
func join(
	ctx context.Context, api client.Client, w *Workload, key types.NamespacedName, infrastructure *unstructured.Unstructured,
) error {
	err := createAll(ctx, api,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}},
		clusterSecret(key, "kubeconfig", map[string][]byte{"value": w.Kubeconfig}),
		// Workers need no more than the certificate; the key stays with the cluster.
		clusterSecret(key, "ca", map[string][]byte{corev1.TLSCertKey: w.CA}),
	)
	if err != nil {
		return err
	}
	if err := createExternalControlPlane(ctx, api, key, w.Version); err != nil {
		return err
	}
	cluster := newCluster(key, w)
	if infrastructure == nil {
		err = createExternalCluster(ctx, api, key)
	} else {
		of := infrastructure.GroupVersionKind()
		cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: of.Group, Kind: of.Kind, Name: infrastructure.GetName(),
		}
		err = createProvisioned(ctx, api, infrastructure)
	}
	if err != nil {
		return err
	}
	return createAll(ctx, api, cluster)
}

func createAll(ctx context.Context, api client.Client, objects ...client.Object) error {
	for _, object := range objects {
		if err := api.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

func newCluster(key types.NamespacedName, w *Workload) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods:          clusterv1.NetworkRanges{CIDRBlocks: []string{podNetwork}},
				Services:      clusterv1.NetworkRanges{CIDRBlocks: []string{serviceNetwork}},
				ServiceDomain: "cluster.local",
			},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: w.Host, Port: int32(w.Port)}, //nolint:gosec // because a port fits
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: ExternalCluster.Group, Kind: ExternalCluster.Kind, Name: key.Name,
			},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: ExternalControlPlane.Group, Kind: ExternalControlPlane.Kind, Name: key.Name,
			},
		},
	}
}

func clusterSecret(key types.NamespacedName, purpose string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace,
			Name:      key.Name + "-" + purpose,
			Labels:    map[string]string{clusterv1.ClusterNameLabel: key.Name},
		},
		Type: clusterv1.ClusterSecretType,
		Data: data,
	}
}

// client knows the kinds this package writes.
func (m *Management) client() (client.Client, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), clusterv1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("make client of management cluster: %w", err)
	}
	api, err := client.New(m.Config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client of management cluster: %w", err)
	}
	return api, nil
}
