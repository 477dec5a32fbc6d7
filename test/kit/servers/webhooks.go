package servers

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// webhooksAnswer waits until the API server asks Cluster API's webhooks and gets answers. It offers a Cluster that the schema
// allows and only the webhook refuses; being refused is the proof.
func webhooksAnswer(ctx context.Context, api client.Client) error {
	err := wait.Poll(ctx, func(ctx context.Context) error {
		err := api.Create(ctx, unacceptable(), client.DryRunAll)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return nil
		}
		if err == nil {
			return errors.New("the webhook of clusters is not asked yet")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for webhooks: %w", err)
	}
	return nil
}

// webhooksGone waits until the API server asks no webhook about what one would refuse.
func webhooksGone(ctx context.Context, api client.Client) error {
	err := wait.Poll(ctx, func(ctx context.Context) error { return api.Create(ctx, unacceptable(), client.DryRunAll) })
	if err != nil {
		return fmt.Errorf("wait until no webhook is asked: %w", err)
	}
	return nil
}

func unacceptable() *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "unacceptable", Namespace: metav1.NamespaceDefault}}
	cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"not-a-network"}
	return cluster
}
