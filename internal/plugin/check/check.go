// Package check compares a spec with its cloud, before a machine of it is made.
package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/preview"
)

// checked is a cloud that a spec can be compared with.
type checked struct {
	name, people string
	provider     cloud.Provider
	has          func(infrav1.WindowsMachineSpec) bool
	// keys are those of the Secret with the login. Of these, variables give some when the files do not have the Secret. Flavors and
	// docs/install.md use the same. There is no flag for a password, because other users of a computer see the arguments of its
	// programs.
	keys      []string
	variables []struct{ key, name string }
	inspect   func(ctx context.Context, t *Target) ([]cloud.Finding, error)
}

var clouds = []checked{
	{
		name: "vsphere", people: "vCenter", provider: vsphere.Provider{},
		has:  func(spec infrav1.WindowsMachineSpec) bool { return spec.VSphere != nil },
		keys: []string{"server", "username", "password", "thumbprint", "ca.crt"},
		variables: []struct{ key, name string }{
			{"server", "VSPHERE_SERVER"},
			{"username", "VSPHERE_USERNAME"},
			{"password", "VSPHERE_PASSWORD"},
			{"thumbprint", "VSPHERE_TLS_THUMBPRINT_SHA256"},
		},
		inspect: func(ctx context.Context, t *Target) ([]cloud.Finding, error) {
			return vsphere.Inspect(ctx, t.login, *t.machine.Windows.Spec.VSphere)
		},
	},
	{
		name: "azure", people: "Azure", provider: azure.Provider{},
		has: func(spec infrav1.WindowsMachineSpec) bool { return spec.Azure != nil },
		keys: []string{
			"tenantID", "clientID", "clientSecret", "certificate", "cloud", "resourceManagerEndpoint", "authority", "audience",
			"caBundle", "storageSuffix", "computeAPIVersion",
		},
		variables: []struct{ key, name string }{
			{"tenantID", "AZURE_TENANT_ID"},
			{"clientID", "AZURE_CLIENT_ID"},
			{"clientSecret", "AZURE_CLIENT_SECRET"},
		},
		inspect: func(ctx context.Context, t *Target) ([]cloud.Finding, error) {
			return azure.Provider{}.Inspect(ctx, t.login, t.machine.Windows.Spec.Azure, t.azureCluster)
		},
	},
}

func cloudNamed(name string) checked {
	return clouds[slices.IndexFunc(clouds, func(c checked) bool { return c.name == name })]
}

// Target is a machine, and what its cloud is asked with.
type Target struct {
	machine *preview.Machine
	cloud   checked
	// login is a secret.
	login map[string][]byte
	// azureCluster says what a spec for Azure leaves out; nil if the files have none.
	azureCluster *unstructured.Unstructured
}

// Gather collects what a check needs: the WindowsMachine, and the login. A file with a pool has all of it. The name may be empty
// if the files have only one machine or pool.
func Gather(o *objects.Set, cloudName, name string) (*Target, error) {
	if err := o.Admit(); err != nil {
		return nil, err
	}
	name, err := nameToCheck(o, name)
	if err != nil {
		return nil, err
	}
	m, err := preview.Find(o, name)
	if err != nil {
		return nil, err
	}
	t := &Target{machine: m, cloud: cloudNamed(cloudName)}
	if !t.cloud.has(m.Windows.Spec) {
		return nil, fmt.Errorf("WindowsMachine %s/%s has no spec.%s, so there is no %s to check", m.Owner.Namespace, m.Windows.Name,
			t.cloud.name, t.cloud.people)
	}
	if err := t.cloud.provider.Check(m.Windows); err != nil {
		return nil, fmt.Errorf("WindowsMachine %s/%s: %w", m.Owner.Namespace, m.Windows.Name, err)
	}
	if m.Windows.Spec.Azure != nil {
		if t.azureCluster, err = findAzureCluster(o, m.Owner.Namespace); err != nil {
			return nil, err
		}
	}
	t.login, err = findLogin(o, m, t.cloud)
	return t, err
}

// findAzureCluster returns the only AzureCluster of the namespace, or nil.
func findAzureCluster(o *objects.Set, namespace string) (*unstructured.Unstructured, error) {
	var found *unstructured.Unstructured
	kind := azure.Provider{}.Inherits()
	for _, one := range o.All {
		if one.Version.WithKind(one.Kind).GroupKind() != kind || one.Key.Namespace != namespace {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s has several AzureClusters in namespace %s: keep the one of the machine's Cluster", o.Source,
				namespace)
		}
		found = &unstructured.Unstructured{}
		if err := found.UnmarshalJSON(one.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", one, err)
		}
	}
	return found, nil
}

// nameToCheck is the name that was given, or else that of the only machine, or of one that the only MachineDeployment would make.
func nameToCheck(o *objects.Set, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	deployments, err := preview.Deployments(o)
	if err != nil {
		return "", err
	}
	switch machines := o.OfKind("Machine"); {
	case len(machines) == 1:
		return machines[0].Key.String(), nil
	case len(machines) == 0 && len(deployments) == 1:
		return deployments[0].Namespace + "/" + deployments[0].Name + "-1", nil
	}
	return "", fmt.Errorf("--machine NAME is missing: %s must have one Machine, or one MachineDeployment of Windows machines, "+
		"to do without", o.Source)
}

// findLogin returns the data of the Secret that the spec refers to, or else what the variables say.
func findLogin(o *objects.Set, m *preview.Machine, of checked) (map[string][]byte, error) {
	ref := m.Windows.Spec.IdentityRef
	key := types.NamespacedName{Namespace: m.Owner.Namespace, Name: ref.Name}
	if ref.Name == "" || ref.Kind == infrav1.IdentityAzureCluster {
		return loginOfVariables(of, "the identity of the machine is not a Secret: ")
	}
	secret, err := objects.Load[corev1.Secret](o, "Secret", key)
	if _, missing := errors.AsType[*objects.MissingError](err); missing {
		return loginOfVariables(of, fmt.Sprintf("the files do not have the Secret %s with the login for %s: add the output of "+
			"kubectl get secret %s -n %s -o yaml with another -f, or ", key, of.people, key.Name, key.Namespace))
	}
	if err != nil {
		return nil, err
	}
	login := map[string][]byte{}
	for _, name := range of.keys {
		if value := preview.Value(secret, name); len(value) > 0 {
			login[name] = value
		}
	}
	return login, nil
}

// loginOfVariables needs them all; lack is how the sentence begins that names those that are missing.
func loginOfVariables(of checked, lack string) (map[string][]byte, error) {
	login, unset := map[string][]byte{}, []string{}
	for _, variable := range of.variables {
		value := os.Getenv(variable.name)
		if value == "" {
			unset = append(unset, variable.name)
		}
		login[variable.key] = []byte(value)
	}
	if len(unset) > 0 {
		return nil, errors.New(lack + "set " + strings.Join(unset, ", "))
	}
	return login, nil
}

// Run asks the cloud. When the findings are there, an error is of what came after them.
func (t *Target) Run(ctx context.Context) ([]cloud.Finding, error) {
	return t.cloud.inspect(ctx, t)
}
