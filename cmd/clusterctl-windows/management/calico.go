package management

import (
	"context"
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/addons"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
)

const installationPath = "/apis/operator.tigera.io/v1/installations/default"

// Calico reads which of the settings for Windows the Calico of a workload cluster has.
func Calico(ctx context.Context, server *remote.Server) (*addons.Calico, error) {
	found := &addons.Calico{}
	for _, read := range []func(context.Context, *remote.Server, *addons.Calico) error{
		readInstallation, readEndpoint, readIPAM, readIPPools,
	} {
		if err := read(ctx, server, found); err != nil {
			return nil, fmt.Errorf("the settings of Calico cannot be read from the cluster %s: %w", server, server.Reason(err))
		}
	}
	return found, nil
}

func readInstallation(ctx context.Context, server *remote.Server, found *addons.Calico) error {
	var object struct {
		Spec addons.Installation `json:"spec"`
	}
	ok, err := server.Get(ctx, installationPath, &object)
	if ok {
		found.Installation = &object.Spec
	}
	return err
}

func readIPPools(ctx context.Context, server *remote.Server, found *addons.Calico) error {
	pools, err := (&reading{server: server}).readPools(ctx)
	found.IPPools, found.PoolsHidden = pools.Pools, pools.Hidden
	return err
}

func readEndpoint(ctx context.Context, server *remote.Server, found *addons.Calico) error {
	var object struct {
		Data map[string]string `json:"data"`
	}
	_, err := server.Get(ctx, "/api/v1/namespaces/tigera-operator/configmaps/kubernetes-services-endpoint", &object)
	found.Endpoint = object.Data["KUBERNETES_SERVICE_HOST"] != "" && object.Data["KUBERNETES_SERVICE_PORT"] != ""
	return err
}

func readIPAM(ctx context.Context, server *remote.Server, found *addons.Calico) error {
	for i, kind := range addons.IPAMKinds {
		var ignored struct{}
		served, err := server.Get(ctx, kind.Group, &ignored)
		if err != nil {
			return err
		}
		if !served {
			continue
		}
		var object struct {
			Spec struct {
				StrictAffinity bool `json:"strictAffinity"`
			} `json:"spec"`
		}
		plural, _, _ := strings.Cut(kind.Resource, ".")
		found.OwnKinds = i > 0
		found.Configured, err = server.Get(ctx, kind.Group+"/"+plural+"/default", &object)
		found.StrictAffinity = object.Spec.StrictAffinity
		return err
	}
	return nil
}
