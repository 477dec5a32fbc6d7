package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// The release of Cluster API Provider Azure whose kinds the tests have. Only its definitions are used, none of its code.
const (
	capzModule  = "sigs.k8s.io/cluster-api-provider-azure"
	capzVersion = "v1.26.0"
)

// InstallCAPZ installs the kinds of Cluster API Provider Azure that our machines read, as its own components do.
func InstallCAPZ(ctx context.Context, m *Management) error {
	source, err := toolset{dir: os.TempDir()}.sourceOf(ctx, capzModule+"@"+capzVersion)
	if err != nil {
		return err
	}
	api, err := m.client()
	if err != nil {
		return err
	}
	var crds []unstructured.Unstructured
	for _, plural := range []string{"azureclusters", "azureclusteridentities"} {
		crd, err := capzKind(filepath.Join(source, "config", "crd", "bases", "infrastructure.cluster.x-k8s.io_"+plural+".yaml"))
		if err != nil {
			return err
		}
		crds = append(crds, crd)
	}
	return apply(ctx, api, crds)
}

// capzKind reads a definition, and labels it as config/crd/kustomization.yaml of that release does.
func capzKind(file string) (crd unstructured.Unstructured, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &crd.Object)
	}
	if err != nil {
		return crd, fmt.Errorf("read a kind of Cluster API Provider Azure: %w", err)
	}
	crd.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/provider": "infrastructure-azure"})
	return crd, nil
}

// createProvisioned makes an infrastructure object whose provider has done its work.
func createProvisioned(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	if err := createAll(ctx, api, object); err != nil {
		return err
	}
	return writeStatus(ctx, api, object, status)
}
