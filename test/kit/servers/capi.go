package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// CAPIOptions choose the parts of Cluster API.
type CAPIOptions struct {
	// CoreOnly leaves out the kubeadm providers, which worker nodes of ours do not need.
	CoreOnly bool
	// NewestOnly defines the API only in the version that is stored. While there is an older one, the API server has each
	// change of each object converted by a webhook, for those who may be reading it in that version.
	NewestOnly bool
}

// InstallCAPI puts Cluster API on a management cluster: its API with our ExternalControlPlane, its webhooks, and its managers,
// which run as plain processes until the cluster is stopped. When it returns, webhooks answer.
func InstallCAPI(ctx context.Context, m *Management, opts CAPIOptions) error {
	ctx, cancel := wait.Within(ctx, startLimit)
	defer cancel()
	chosen := providers
	if opts.CoreOnly {
		chosen = providers[:1] // core is the first
	}
	if err := installProviders(ctx, m, chosen, opts); err != nil {
		return fmt.Errorf("install cluster api: %w", err)
	}
	return nil
}

// withoutMigrations: the definitions are new, and nothing was written with older ones. Each migration would write the definition.
const withoutMigrations = "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields"

func installProviders(ctx context.Context, m *Management, chosen []provider, opts CAPIOptions) error {
	endpoint, err := newEndpoint(m.servers.dir)
	if err != nil {
		return err
	}
	objects, err := externalDefinitions()
	if err != nil {
		return err
	}
	var managers []server
	for _, p := range chosen {
		manager, own, err := m.prepare(m.binaries, p, endpoint)
		if err != nil {
			return err
		}
		manager.args = append(manager.args,
			// With its defaults it takes minutes to know thousands of machines.
			"--kube-api-qps=500",
			"--kube-api-burst=500",
			withoutMigrations,
		)
		managers, objects = append(managers, manager), append(objects, own...)
	}
	if opts.NewestOnly {
		if err := forgetOld(objects); err != nil {
			return err
		}
	}
	api, err := m.client()
	if err != nil {
		return err
	}
	if err := apply(ctx, api, objects); err != nil {
		return err
	}
	if err := m.servers.start(ctx, managers...); err != nil {
		return err
	}
	return webhooksAnswer(ctx, api)
}

// newEndpoint writes one serving certificate for managers, which are all on loopback, into a folder of this one.
func newEndpoint(dir string) (webhookEndpoint, error) {
	issuer, err := newAuthority("webhook-ca")
	if err != nil {
		return webhookEndpoint{}, err
	}
	serving, err := issuer.serving()
	if err != nil {
		return webhookEndpoint{}, err
	}
	certificates := filepath.Join(dir, "webhooks")
	if err := os.MkdirAll(certificates, 0o700); err != nil {
		return webhookEndpoint{}, fmt.Errorf("create folder of webhook certificates: %w", err)
	}
	return webhookEndpoint{ca: issuer.pem, certificates: certificates}, serving.write(certificates, "tls")
}

// prepare returns how to run a provider's manager, and its objects with webhooks that point at it.
func (m *Management) prepare(b Binaries, p provider, endpoint webhookEndpoint) (server, []unstructured.Unstructured, error) {
	rendered, err := b.manifest(p)
	if err != nil {
		return server{}, nil, err
	}
	manager, err := m.managerOf(p.name, b.Path(p.name), rendered, endpoint)
	return manager, rendered.Objects, err
}

// managerOf is how to run the program of a provider. The webhooks of the provider's objects point at it then.
func (m *Management) managerOf(name, program string, rendered manifest, endpoint webhookEndpoint) (server, error) {
	ports, err := freePorts(3)
	if err != nil {
		return server{}, err
	}
	webhooks, health, diagnostics := ports[0], ports[1], ports[2]
	if name == providers[0].name {
		m.CoreMetrics = "http://" + address(diagnostics) + "/metrics"
	}
	endpoint.url = "https://" + address(webhooks)
	if err := endpoint.patch(rendered.Objects); err != nil {
		return server{}, err
	}
	return server{
		name: name,
		path: program,
		// Later flags win over those of the Deployment.
		args: slices.Concat(rendered.Arguments, []string{
			"--leader-elect=false",
			"--kubeconfig=" + m.KubeconfigFile,
			"--webhook-cert-dir=" + endpoint.certificates,
			"--webhook-port=" + strconv.Itoa(webhooks),
			"--health-addr=" + address(health),
			"--diagnostics-address=" + address(diagnostics),
			"--insecure-diagnostics=true",
		}),
		ready: answersOK(healthClient, "http://"+address(health)+"/readyz"),
	}, nil
}

// apply creates or updates the objects and waits until the API server serves the new kinds.
func apply(ctx context.Context, api client.Client, objects []unstructured.Unstructured) error {
	var applies errgroup.Group
	// More at a time do not help: the API server is busy with each one's schema.
	applies.SetLimit(4)
	for i := range objects {
		applies.Go(func() error { return applyOne(ctx, api, &objects[i]) })
	}
	return applies.Wait()
}

func applyOne(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	wanted := object.DeepCopy()
	applied := client.ApplyConfigurationFromUnstructured(wanted)
	patient, cancel := wait.Within(ctx, wait.Patience)
	defer cancel()
	err := wait.Poll(patient, func(ctx context.Context) error {
		err := api.Apply(ctx, applied, client.FieldOwner("capwin-servers"), client.ForceOwnership)
		if err == nil || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) { // as of an API server on a busy machine
			return err
		}
		return wait.Final(err)
	})
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if object.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	return established(ctx, api, wanted)
}

// established waits until an API server serves what a definition defines, and says so to those who ask what there is: that comes
// later.
func established(ctx context.Context, api client.Client, crd *unstructured.Unstructured) error {
	return wait.Poll(ctx, func(ctx context.Context) error {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := api.Get(ctx, client.ObjectKeyFromObject(crd), &definition); err != nil {
			return err
		}
		if !apihelpers.IsCRDConditionTrue(&definition, apiextensionsv1.Established) {
			return errors.New("custom resource definition " + crd.GetName() + " is not established")
		}
		kind := schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}
		for _, version := range definition.Spec.Versions {
			if !version.Served {
				continue
			}
			if _, err := api.RESTMapper().RESTMapping(kind, version.Name); err != nil {
				return err
			}
		}
		return nil
	})
}
