package check

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/conflicts"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
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
// files never gets a password of the environment. The rules of a WindowsMachine, which the files have passed, want a Secret.
func gatherVSphere(o *objects.Set, t *Target, _ Options) error {
	key := types.NamespacedName{Namespace: t.machine.Owner.Namespace, Name: t.machine.Windows.Spec.IdentityRef.Name}
	login, found, err := conflicts.Login(o, key)
	if err != nil || found {
		t.login = login
		return err
	}
	unset := t.takeVariables()
	if len(unset) > 0 {
		return fmt.Errorf("the files do not have the Secret %s with the login for vCenter%s: name the management cluster that has it "+
			"with --context NAME or --kubeconfig FILE, or %s, or set %s", key, t.subject.Meant(key), fetch("secret", key),
			strings.Join(unset, ", "))
	}
	t.borrowed = fmt.Sprintf("checked as %s, not as the machine's identity: that is the Secret %s, which the files do not have: it "+
		"may be the same account", os.Getenv(vSphereUser), key)
	return nil
}

// fetch describes how to add an object to the files.
func fetch(kind string, key types.NamespacedName) string {
	return fmt.Sprintf("add the output of kubectl get %s %s -n %s -o yaml with another -f", kind, key.Name,
		key.Namespace)
}

// takeVariables takes the login from the environment, and returns the variables that are not set.
func (t *Target) takeVariables() (unset []string) {
	t.login = map[string][]byte{}
	for _, variable := range vSphereVariables {
		value := os.Getenv(variable.name)
		if value == "" {
			unset = append(unset, variable.name)
		}
		t.login[variable.key] = []byte(value)
	}
	return unset
}

func inspectVSphere(ctx context.Context, t *Target, progress cloud.Progress) ([]cloud.Finding, error) {
	found, err := vsphere.Inspect(ctx, t.login, *t.machine.Windows.Spec.VSphere, t.count, progress)
	if found != nil && t.borrowed != "" {
		found = append([]cloud.Finding{{Check: "identity", Result: cloud.CheckWarning, Text: t.borrowed}}, found...)
	}
	return found, err
}
