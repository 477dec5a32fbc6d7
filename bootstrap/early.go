package bootstrap

import (
	"errors"
	"fmt"
	"regexp"
)

// tooEarly refuses what is not a mistake of the user: our own controllers fill these fields in before they render.
func tooEarly(in Input) error {
	if in.Cluster == nil || in.Machine == nil || in.WindowsMachine == nil || in.Config == nil {
		return errors.New("render: Cluster, Machine, WindowsMachine and WindowsBootstrapConfig are required")
	}
	spec, name := in.WindowsMachine.Spec, in.WindowsMachine.Status.ComputerName
	for _, rule := range []struct {
		holds bool
		say   string
	}{
		{in.Machine.UID != "", "the Machine has no UID"},
		{name != "", "the WindowsMachine has no status.computerName; its controller sets it"},
		{
			computerName.MatchString(name), fmt.Sprintf("status.computerName of the WindowsMachine is %q, but must have at most 15 "+
				"characters of a-z, 0-9 and -, and begin and end with a letter or digit; remove it, and it is computed", name),
		},
		{spec.ProviderID != "", "the WindowsMachine has no spec.providerID"},
		{spec.VSphere == nil || spec.Azure == nil, "the WindowsMachine has both spec.vsphere and spec.azure"},
		// The sentence does not show the token, which is a secret.
		{bootstrapToken.MatchString(in.Token), "the bootstrap token is not of the form id.secret"},
	} {
		if !rule.holds {
			return fmt.Errorf("render %s/%s: %s", in.Machine.Namespace, in.Machine.Name, rule.say)
		}
	}
	return nil
}

// computerName is a name that Windows, DNS and Kubernetes all accept.
var computerName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$`)

// bootstrapToken is the form of a token that kubeadm accepts.
var bootstrapToken = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)
