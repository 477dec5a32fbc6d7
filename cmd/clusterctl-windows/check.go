package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

// variables give the login when the files do not have the Secret. Flavors and docs/install.md use the same. There is no
// flag for a password, because other users of a computer see the arguments of its programs.
var variables = []struct{ key, name string }{
	{"server", "VSPHERE_SERVER"},
	{"username", "VSPHERE_USERNAME"},
	{"password", "VSPHERE_PASSWORD"},
	{"thumbprint", "VSPHERE_TLS_THUMBPRINT_SHA256"},
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
	if m.windows.Spec.VSphere == nil {
		return nil, fmt.Errorf("WindowsMachine %s/%s has no spec.vsphere, so there is no vCenter to check", m.owner.Namespace,
			m.windows.Name)
	}
	if err := (vsphere.Provider{}).Check(m.windows); err != nil {
		return nil, fmt.Errorf("WindowsMachine %s/%s: %w", m.owner.Namespace, m.windows.Name, err)
	}
	m.notes = nil // that of a machine that does not exist yet: none is shown here
	m.login, err = findLogin(o, m)
	return m, err
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
func findLogin(o *objects.Set, m *machine) (map[string][]byte, error) {
	key := types.NamespacedName{Namespace: m.owner.Namespace, Name: (vsphere.Provider{}).IdentityOf(m.windows).Name}
	secret, err := objects.Load[corev1.Secret](o, "Secret", key)
	if _, missing := errors.AsType[*objects.MissingError](err); missing {
		return loginOfVariables(key)
	}
	if err != nil {
		return nil, err
	}
	login := map[string][]byte{}
	for _, name := range []string{"server", "username", "password", "thumbprint", "ca.crt"} {
		if value := valueOf(secret, name); len(value) > 0 {
			login[name] = value
		}
	}
	return login, nil
}

func loginOfVariables(key types.NamespacedName) (map[string][]byte, error) {
	login, unset := map[string][]byte{}, []string{}
	for _, variable := range variables {
		value := os.Getenv(variable.name)
		if value == "" {
			unset = append(unset, variable.name)
		}
		login[variable.key] = []byte(value)
	}
	if len(unset) > 0 {
		return nil, fmt.Errorf("the files do not have the Secret %s with the login for the vCenter: add the output of "+
			"kubectl get secret %s -n %s -o yaml with another -f, or set %s", key, key.Name, key.Namespace, strings.Join(unset, ", "))
	}
	return login, nil
}

// errCheckFailed ends the program with exitRefused; the table has said why.
var errCheckFailed = errors.New("a machine of this spec cannot be made: see what failed above")

func checkVSphere(m *machine, _ options, s streams) error {
	found, err := vsphere.Inspect(context.Background(), m.login, *m.windows.Spec.VSphere)
	if found == nil && err != nil {
		found, err = []vsphere.Finding{{Check: "credentials", Result: vsphere.CheckFailed, Text: err.Error()}}, nil
	}
	writeFindings(s.out, found)
	if err != nil {
		fmt.Fprintf(s.err, "note: the session at the vCenter may be open until it ends by itself: %v\n", err)
	}
	for _, f := range found {
		if f.Result == vsphere.CheckFailed {
			return errCheckFailed
		}
	}
	return nil
}

// textWidth is how wide the last column may be, so that the table fits into a usual terminal.
const textWidth = 76

func writeFindings(w io.Writer, found []vsphere.Finding) {
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
