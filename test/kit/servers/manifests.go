package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// provider is one part of Cluster API: a program and the manifests in its module's source.
type provider struct {
	name   string
	config string
}

func (p provider) file() string { return p.name + ".json" }

// variables are the settings of Cluster API's manifests that differ from their defaults.
var variables = map[string]string{
	"CLUSTER_TOPOLOGY": "true",
	// With it an object is reconciled at most once a second, which tests would only wait for.
	"EXP_RECONCILER_RATE_LIMITING": "false",
}

// manifest is what a provider's manifests come down to when its manager runs as a plain process: the API it serves and the
// arguments of the manager. Its webhooks still point at a Service.
type manifest struct {
	Arguments []string                    `json:"arguments"`
	Objects   []unstructured.Unstructured `json:"objects"`
}

// appliedKinds are the kinds that Cluster API's managers need inside the cluster; they run outside, as cluster admin.
var appliedKinds = []string{
	"CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}

const deploymentKind = "Deployment"

// renderAll keeps every provider's manifest in the folder, so that a start needs neither kustomize nor the module's source.
func (s store) renderAll(ctx context.Context) error {
	source := ""
	for _, p := range providers {
		if s.has(p.file()) {
			continue
		}
		var err error
		if source == "" {
			if source, err = s.tools.sourceOf(ctx, capiModule); err != nil {
				return err
			}
		}
		s.say("rendering manifests of %s", p.name)
		if err = s.render(p, source); err != nil {
			return fmt.Errorf("render manifests of %s: %w", p.name, err)
		}
	}
	return nil
}

func (s store) render(p provider, source string) error {
	objects, err := kustomized(filepath.Join(source, filepath.FromSlash(p.config)))
	if err != nil {
		return err
	}
	rendered, err := reduce(objects)
	if err != nil {
		return err
	}
	content, err := json.Marshal(rendered)
	if err != nil {
		return err
	}
	return s.write(p.file(), content)
}

// kustomized runs kustomize on a folder.
func kustomized(folder string) ([]unstructured.Unstructured, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	objects := make([]unstructured.Unstructured, resources.Size())
	for i, resource := range resources.Resources() {
		text, err := resource.MarshalJSON()
		if err == nil {
			err = objects[i].UnmarshalJSON(text)
		}
		if err != nil {
			return nil, fmt.Errorf("build %s %s: %w", resource.GetKind(), resource.GetName(), err)
		}
	}
	return objects, nil
}

func reduce(objects []unstructured.Unstructured) (m manifest, err error) {
	for _, object := range objects {
		switch kind := object.GetKind(); {
		case slices.Contains(appliedKinds, kind):
			m.Objects = append(m.Objects, object)
		case kind == deploymentKind:
			if m.Arguments, err = managerArguments(object); err != nil {
				return manifest{}, err
			}
		}
	}
	return m, nil
}

// managerArguments are the arguments the provider's own Deployment gives its manager, with variables filled in.
func managerArguments(deployment unstructured.Unstructured) ([]string, error) {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return nil, fmt.Errorf("find manager in deployment %s: %w", deployment.GetName(), err)
	}
	container, _ := containers[0].(map[string]any)
	arguments, _, err := unstructured.NestedStringSlice(container, "args")
	if err != nil {
		return nil, fmt.Errorf("read arguments of deployment %s: %w", deployment.GetName(), err)
	}
	for i := range arguments {
		if arguments[i], err = substitute(arguments[i], variables); err != nil {
			return nil, fmt.Errorf("read arguments of deployment %s: %w", deployment.GetName(), err)
		}
	}
	return arguments, nil
}

func (b Binaries) manifest(p provider) (manifest, error) {
	var m manifest
	content, err := os.ReadFile(b.Path(p.file()))
	if err == nil {
		err = json.Unmarshal(content, &m)
	}
	if err != nil {
		return manifest{}, fmt.Errorf("read manifests of %s: %w", p.name, err)
	}
	return m, nil
}
