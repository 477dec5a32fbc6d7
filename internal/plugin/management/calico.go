package management

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/addons"
)

const installationPath = "/apis/operator.tigera.io/v1/installations/default"

// Calico says what a workload cluster's Calico has of the settings for Windows.
func Calico(ctx context.Context, config *rest.Config) (*addons.Calico, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := connect(config)
	if err != nil {
		return nil, err
	}
	found := &addons.Calico{}
	for _, read := range []func(context.Context, *rest.RESTClient, *addons.Calico) error{
		readInstallation, readEndpoint, readIPAM, readIPPools,
	} {
		if err := read(ctx, client, found); err != nil {
			return nil, fmt.Errorf("the settings of Calico cannot be read from the cluster %s: %w", shown(config.Host), reason(err))
		}
	}
	return found, nil
}

// read decodes what is at a path, and says whether it is there.
func read(ctx context.Context, client *rest.RESTClient, path string, into any) (there bool, err error) {
	data, err := content(client.Get().AbsPath(path).Do(ctx))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(data, into)
}

func readInstallation(ctx context.Context, client *rest.RESTClient, found *addons.Calico) error {
	var object struct {
		Spec addons.Installation `json:"spec"`
	}
	there, err := read(ctx, client, installationPath, &object)
	if there {
		found.Installation = &object.Spec
	}
	return err
}

func readIPPools(ctx context.Context, client *rest.RESTClient, found *addons.Calico) error {
	pools, err := (&reading{client: client}).readPools(ctx)
	found.IPPools, found.PoolsHidden = pools.Pools, pools.Hidden
	return err
}

func readEndpoint(ctx context.Context, client *rest.RESTClient, found *addons.Calico) error {
	var object struct {
		Data map[string]string `json:"data"`
	}
	_, err := read(ctx, client, "/api/v1/namespaces/tigera-operator/configmaps/kubernetes-services-endpoint", &object)
	found.Endpoint = object.Data["KUBERNETES_SERVICE_HOST"] != "" && object.Data["KUBERNETES_SERVICE_PORT"] != ""
	return err
}

func readIPAM(ctx context.Context, client *rest.RESTClient, found *addons.Calico) error {
	for i, kind := range addons.IPAMKinds {
		var ignored struct{}
		served, err := read(ctx, client, kind.Group, &ignored)
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
		found.Configured, err = read(ctx, client, kind.Group+"/"+plural+"/default", &object)
		found.StrictAffinity = object.Spec.StrictAffinity
		return err
	}
	return nil
}
