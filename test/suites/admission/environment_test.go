// Package admission tests the API on a real API server, with our CRDs and policies as the components install them: every rule
// and limit has an accepted and a refused case.
package admission

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

const (
	owner    = client.FieldOwner("admission-test")
	patience = time.Minute
)

// All tests share one API server, which tests of other packages use as a workload cluster. They only create objects, each with a
// name of its own.
var (
	api        client.Client
	kubectl    string
	kubeconfig string
	components = []string{"infrastructure", "bootstrap"}
	// objects are the rendered objects of both components.
	objects []*unstructured.Unstructured
	// definitions are the CRDs among the objects, by kind.
	definitions = map[string]*apiextensionsv1.CustomResourceDefinition{}
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "left out with -short: all of these tests start a real API server")
		return 0, nil
	}
	binaries, err := servers.Ensure(context.Background(), os.Stderr)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "admission")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := world.Bare(context.Background(), filepath.Join(dir, "server"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	config := rest.CopyConfig(server.Config)
	config.WarningHandler = rest.NoWarnings{} // which fields of a wrong object are unknown is in the answers, too
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		return 0, err
	}
	if api, err = client.New(config, client.Options{}); err != nil {
		return 0, err
	}
	kubectl, kubeconfig = binaries.Path("kubectl"), server.KubeconfigFile
	if err := install(); err != nil {
		return 0, fmt.Errorf("install components: %w", err)
	}
	return m.Run(), nil
}

// install applies all objects of both components, so that the API server checks RBAC rules and Deployments, too.
func install() error {
	ctx, cancel := wait.Within(context.Background(), patience)
	defer cancel()
	for _, component := range components {
		rendered, err := render(component)
		if err != nil {
			return err
		}
		for _, object := range rendered {
			objects = append(objects, object.DeepCopy())
			if object.GetKind() == "ValidatingAdmissionPolicy" && strings.HasSuffix(object.GetName(), "-bootstrap-"+sizesPolicy) {
				if err := storeLarge(ctx); err != nil {
					return err
				}
			}
			if err := apply(ctx, object); err != nil {
				return err
			}
		}
	}
	return policiesWork(ctx)
}

func render(component string) ([]*unstructured.Unstructured, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
		Run(filesys.MakeFsOnDisk(), filepath.Join("..", "..", "..", "config", component))
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", component, err)
	}
	var rendered []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		content, err := resource.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", component, err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(content); err != nil {
			return nil, fmt.Errorf("render %s: %w", component, err)
		}
		rendered = append(rendered, object)
	}
	return rendered, nil
}

func apply(ctx context.Context, object *unstructured.Unstructured) error {
	if err := api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), owner); err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if object.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return err
	}
	definitions[definition.Spec.Names.Kind] = definition
	return served(ctx, definition)
}

// served waits until objects of the kind can be listed.
func served(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": definition.Spec.Group + "/" + definition.Spec.Versions[0].Name,
		"kind":       definition.Spec.Names.ListKind,
	}}
	return wait.Poll(ctx, func(ctx context.Context) error { return api.List(ctx, list) })
}

// policiesWork waits until the API server enforces all policies, which takes a moment after they are created.
func policiesWork(ctx context.Context) error {
	for _, kind := range templateKinds {
		template := newObject(kind)
		if err := api.Create(ctx, template); err != nil {
			return err
		}
		set(template.Object, changedField[kind], int64(changedValue))
		err := wait.Poll(ctx, func(ctx context.Context) error {
			if api.Update(ctx, template.DeepCopy(), client.DryRunAll) == nil {
				return errors.New("the change is allowed")
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("wait for the policy of %s: %w", kind, err)
		}
	}
	return frozenConfigs(ctx)
}

func object(group, kind, content string) *unstructured.Unstructured {
	fields := parse(content)
	fields["apiVersion"], fields["kind"] = group+".cluster.x-k8s.io/v1beta1", kind
	made := &unstructured.Unstructured{Object: fields}
	made.SetNamespace(metav1.NamespaceDefault)
	made.SetGenerateName("case-")
	return made
}
