package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// writeInstall writes both providers as one file for kubectl, Argo CD and Flux, which fill in no variables. It has what
// clusterctl would install if no variable was set.
func (r release) writeInstall() error {
	manifests, err := r.render("install")
	if err != nil {
		return err
	}
	unset := func(string) (string, error) { return "", errors.New("the variable has no default") }
	manifests, err = yamlprocessor.NewSimpleProcessor().Process(manifests, unset)
	if err != nil {
		return err
	}
	if bytes.Contains(manifests, []byte("${")) {
		return errors.New("it still has a variable")
	}
	return os.WriteFile(r.install(), manifests, 0o600)
}

func (r release) install() string { return filepath.Join(r.out, "install.yaml") }
