package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/conflicts"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
)

// vSphereVariables give some keys of the Secret with the login when the files do not have it.
// Flavors and docs/install.md use the same. There is no flag for a password, because other users of a computer see the arguments
// of its programs.
var vSphereVariables = []struct{ key, name string }{
	{"server", "VSPHERE_SERVER"},
	{"username", vSphereUser},
	{"password", "VSPHERE_PASSWORD"},
	{"thumbprint", "VSPHERE_TLS_THUMBPRINT_SHA256"},
}

const vSphereUser = "VSPHERE_USERNAME"

// gatherVSphere takes the login from the Secret that the spec refers to, or else all of it from the environment: a server of the
// files never gets a password of the environment.
func gatherVSphere(o *objects.Set, t *Target, _ Options) error {
	ref := t.machine.Windows.Spec.IdentityRef
	if ref.Name == "" || ref.Kind == infrav1.IdentityAzureCluster {
		return t.takeVariables("the machine's identity, which is not a Secret", "the identity of the machine is not a Secret: ")
	}
	key := types.NamespacedName{Namespace: t.machine.Owner.Namespace, Name: ref.Name}
	login, found, err := conflicts.Login(o, key)
	if err != nil || found {
		t.login = login
		return err
	}
	return t.takeVariables("the Secret "+key.String()+", which the files do not have: it may be the same account",
		fmt.Sprintf("the files do not have the Secret %s with the login for vCenter%s: name the management cluster that has it with "+
			"--context NAME or --kubeconfig FILE, or %s, or ", key.String(), t.around.Meant(key), fetch("secret", key)))
}

// fetch says how to add an object to the files.
func fetch(kind string, key types.NamespacedName) string {
	return fmt.Sprintf("add the output of kubectl get %s %s -n %s -o yaml with another -f", kind, key.Name,
		key.Namespace)
}

// takeVariables needs them all; lack is how the sentence begins that names those that are missing.
func (t *Target) takeVariables(machines, lack string) error {
	unset := []string{}
	t.login = map[string][]byte{}
	for _, variable := range vSphereVariables {
		value := os.Getenv(variable.name)
		if value == "" {
			unset = append(unset, variable.name)
		}
		t.login[variable.key] = []byte(value)
	}
	if len(unset) > 0 {
		return errors.New(lack + "set " + strings.Join(unset, ", "))
	}
	t.borrowed = fmt.Sprintf("checked as %s, not as the machine's identity: that is %s", os.Getenv(vSphereUser), machines)
	return nil
}

func inspectVSphere(ctx context.Context, t *Target, progress cloud.Progress) ([]cloud.Finding, error) {
	found, err := vsphere.Inspect(ctx, t.login, *t.machine.Windows.Spec.VSphere, t.count, progress)
	if found != nil && t.borrowed != "" {
		found = append([]cloud.Finding{{Check: "identity", Result: cloud.CheckWarning, Text: t.borrowed}}, found...)
	}
	return found, err
}
