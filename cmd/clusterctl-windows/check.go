package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
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
	inspect   func(ctx context.Context, m *machine) ([]cloud.Finding, error)
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
		inspect: func(ctx context.Context, m *machine) ([]cloud.Finding, error) {
			return vsphere.Inspect(ctx, m.login, *m.windows.Spec.VSphere)
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
		inspect: func(ctx context.Context, m *machine) ([]cloud.Finding, error) {
			return azure.Provider{}.Inspect(ctx, m.login, m.windows.Spec.Azure, m.azureCluster)
		},
	},
}

func cloudNamed(name string) checked {
	return clouds[slices.IndexFunc(clouds, func(c checked) bool { return c.name == name })]
}

// gatherCheck collects what a check needs: the WindowsMachine, and the login. A file with a pool has all of it.
func gatherCheck(o *objects.Set, opts options) (*machine, error) {
	if err := o.Admit(); err != nil {
		return nil, err
	}
	name, err := nameToCheck(o, opts.machine)
	if err != nil {
		return nil, err
	}
	m, err := findMachine(o, name)
	if err != nil {
		return nil, err
	}
	of := cloudNamed(opts.what)
	if !of.has(m.windows.Spec) {
		return nil, fmt.Errorf("WindowsMachine %s/%s has no spec.%s, so there is no %s to check", m.owner.Namespace, m.windows.Name,
			of.name, of.people)
	}
	if err := of.provider.Check(m.windows); err != nil {
		return nil, fmt.Errorf("WindowsMachine %s/%s: %w", m.owner.Namespace, m.windows.Name, err)
	}
	m.notes = nil // that of a machine that does not exist yet: none is shown here
	if m.windows.Spec.Azure != nil {
		if m.azureCluster, err = findAzureCluster(o, m.owner.Namespace); err != nil {
			return nil, err
		}
	}
	m.login, err = findLogin(o, m, of)
	return m, err
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
	deployments, err := windowsDeployments(o)
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
func findLogin(o *objects.Set, m *machine, of checked) (map[string][]byte, error) {
	ref := m.windows.Spec.IdentityRef
	key := types.NamespacedName{Namespace: m.owner.Namespace, Name: ref.Name}
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
		if value := valueOf(secret, name); len(value) > 0 {
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

// errCheckFailed ends the program with exitRefused; the table has said why.
var errCheckFailed = errors.New("a machine of this spec cannot be made: see what failed above")

func check(m *machine, o options, s streams) error {
	found, err := cloudNamed(o.what).inspect(context.Background(), m)
	if found == nil && err != nil {
		found, err = []cloud.Finding{{Check: "credentials", Result: cloud.CheckFailed, Text: err.Error()}}, nil
	}
	writeFindings(s.out, found)
	if err != nil {
		fmt.Fprintf(s.err, "note: the session at the vCenter may be open until it ends by itself: %v\n", err)
	}
	for _, f := range found {
		if f.Result == cloud.CheckFailed {
			return errCheckFailed
		}
	}
	return nil
}

// textWidth is how wide the last column may be, so that the table fits into a usual terminal.
const textWidth = 76

func writeFindings(w io.Writer, found []cloud.Finding) {
	width := len("CHECK")
	for _, f := range found {
		width = max(width, len(f.Check))
	}
	row := func(check, result, text string) {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-*s  %-7s  %s", width, check, result, text), " "))
	}
	row("CHECK", "RESULT", "WHAT WAS FOUND, AND WHAT TO DO")
	for _, f := range found {
		check, result := f.Check, string(f.Result)
		for _, line := range wrapped(f.Text, textWidth) {
			row(check, result, line)
			check, result = "", ""
		}
	}
}

// wrapped breaks a text between words.
func wrapped(text string, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
