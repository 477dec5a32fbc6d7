package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managementCluster reads the UID of the cluster in which the manager runs, which is that of its namespace kube-system. It stands
// on what the manager makes in a cloud, so that two managers that share a place there know what is whose.
func managementCluster(ctx context.Context, live client.Reader) (types.UID, error) {
	namespace := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	if err := live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &namespace); err != nil {
		return "", fmt.Errorf("read the UID of the management cluster, which marks what the manager makes: %w", err)
	}
	return namespace.UID, nil
}
