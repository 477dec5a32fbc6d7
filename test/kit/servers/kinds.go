package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// foreignKinds are definitions of another provider, of which the tests have nothing else: its manager and its webhooks are not
// there.
type foreignKinds struct {
	pinned
	// folder is where kustomize finds them in its source.
	folder string
	// provider is what its components have in a label.
	provider string
	// plurals are the kinds that are taken; all when empty.
	plurals []string
}

var capv = foreignKinds{
	pinned: pinned{
		path: "sigs.k8s.io/cluster-api-provider-vsphere", version: "v1.16.1",
		sum: "h1:6fN9Df5EBtxzI5546L4kzevCyE/wM9qWv8ZS+iAU9f8=",
	},
	folder: "config/default/crd", provider: "infrastructure-vsphere",
}

// capz leaves out managed clusters and machine pools, which our machines do not meet.
var capz = foreignKinds{
	pinned: pinned{
		path: "sigs.k8s.io/cluster-api-provider-azure", version: "v1.27.0",
		sum: "h1:5LvbNYX2RzsxFSlQuQiIz021PRmVg5RNHRMiOPSSUgM=",
	},
	folder: "config/crd", provider: "infrastructure-azure",
	plurals: []string{
		"azureclusteridentities", "azureclusters", "azureclustertemplates", "azuremachines", "azuremachinetemplates",
	},
}

// InstallCAPV installs the kinds of Cluster API Provider vSphere, as its own components do.
func InstallCAPV(ctx context.Context, m *Management) error { return capv.install(ctx, m) }

// InstallCAPZ installs the kinds of Cluster API Provider Azure that our machines and flavors meet, as its own components do.
func InstallCAPZ(ctx context.Context, m *Management) error {
	if m.guest != nil {
		return m.guest.Ask(ctx, PartCAPZ)
	}
	return capz.install(ctx, m)
}

// CAPZSource is the folder with the source of Cluster API Provider Azure, for values that ours must have, too.
func CAPZSource(ctx context.Context) (string, error) { return capz.source(ctx) }

func (k foreignKinds) install(ctx context.Context, m *Management) error {
	definitions, err := k.definitions(ctx)
	if err != nil {
		return fmt.Errorf("install kinds of %s: %w", k.provider, err)
	}
	api, err := m.client()
	if err != nil {
		return err
	}
	return apply(ctx, api, definitions)
}

func (k foreignKinds) definitions(ctx context.Context) ([]unstructured.Unstructured, error) {
	source, err := k.source(ctx)
	if err != nil {
		return nil, err
	}
	definitions, err := kustomized(filepath.Join(source, filepath.FromSlash(k.folder)))
	if err != nil {
		return nil, err
	}
	definitions = slices.DeleteFunc(definitions, func(o unstructured.Unstructured) bool {
		plural, _, _ := strings.Cut(o.GetName(), ".")
		return len(k.plurals) > 0 && !slices.Contains(k.plurals, plural)
	})
	if len(definitions) < max(len(k.plurals), 1) {
		return nil, fmt.Errorf("of the kinds %v there are %d", k.plurals, len(definitions))
	}
	for i := range definitions {
		k.adopt(definitions[i])
	}
	return definitions, nil
}

// adopt gives a definition what the components of its provider have, but for the webhook that converts between versions: these
// differ little enough for objects that are written in the newest.
func (k foreignKinds) adopt(definition unstructured.Unstructured) {
	labels := definition.GetLabels()
	labels["cluster.x-k8s.io/provider"] = k.provider
	definition.SetLabels(labels)
	unstructured.RemoveNestedField(definition.Object, "spec", "conversion")
	unstructured.RemoveNestedField(definition.Object, "metadata", "annotations", "cert-manager.io/inject-ca-from")
}

// createProvisioned makes an infrastructure object whose provider has done its work.
func createProvisioned(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	if err := createAll(ctx, api, object); err != nil {
		return err
	}
	return writeStatus(ctx, api, object, status)
}

// ForeignProvider is a provider of somebody else, in the version that the tests have.
type ForeignProvider struct {
	// Type and Name are clusterctl's for it.
	Type, Name, Version string
	// Metadata is the file of its release that says which contracts it keeps.
	Metadata []byte
}

// ForeignProviders are those that the flavors of whole clusters need.
func ForeignProviders(ctx context.Context) ([]ForeignProvider, error) {
	tools, err := findTools()
	if err != nil {
		return nil, err
	}
	core, err := tools.version(capiModule)
	if err != nil {
		return nil, err
	}
	source, err := tools.sourceOf(ctx, capiModule)
	if err != nil {
		return nil, err
	}
	folders := []string{source, source, source}
	all := []ForeignProvider{
		{Type: "CoreProvider", Name: "cluster-api", Version: core},
		{Type: "BootstrapProvider", Name: "kubeadm", Version: core},
		{Type: "ControlPlaneProvider", Name: "kubeadm", Version: core},
	}
	for _, one := range []struct {
		kind, name string
		pinned
	}{
		{"InfrastructureProvider", "vsphere", capv.pinned},
		{"InfrastructureProvider", "azure", capz.pinned},
		{"AddonProvider", "helm", caaph.pinned},
	} {
		folder, err := one.source(ctx)
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
		all = append(all, ForeignProvider{Type: one.kind, Name: one.name, Version: one.version})
	}
	for i := range all {
		if all[i].Metadata, err = os.ReadFile(filepath.Join(folders[i], "metadata.yaml")); err != nil {
			return nil, fmt.Errorf("read metadata of %s: %w", all[i].Name, err)
		}
	}
	return all, nil
}
