package management

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/addons"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
)

// poolGroups are where an API server has Calico's pools. Without the first, Calico's API is definitions of its own.
var poolGroups = []string{"/apis/crd.projectcalico.org/v1", "/apis/projectcalico.org/v3"}

// readPools reads the pools of which pods get their addresses. There are none with host-local, which takes those of the Node's
// pod CIDR.
func (r *reading) readPools(ctx context.Context) (found addons.NodeAddresses, err error) {
	var installation struct {
		Spec addons.Installation `json:"spec"`
	}
	_, err = r.server.Get(ctx, installationPath, &installation)
	if err != nil && !apierrors.IsForbidden(err) || installation.Spec.CNI.IPAM.Type == "HostLocal" {
		return found, err
	}
	add := func(o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		bootstrap.IPPool
	},
	) error {
		o.Name = o.Metadata.Name
		found.Pools = append(found.Pools, o.IPPool)
		return nil
	}
	for _, group := range poolGroups {
		var ignored struct{}
		served, err := r.server.Get(ctx, group, &ignored) // which everybody may ask
		if served && err == nil {
			served, err = remote.List(ctx, r.server, group+"/ippools", nil, add)
		}
		if apierrors.IsForbidden(err) {
			return addons.NodeAddresses{Hidden: true}, nil
		}
		if served || err != nil {
			return found, err
		}
	}
	return found, nil
}

// pools reads them for the Windows Nodes of a cluster.
func (r *reading) pools(ctx context.Context) (err error) {
	r.addresses, err = r.readPools(ctx)
	return err
}
