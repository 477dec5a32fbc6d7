package servers

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// The two components of this project, as users install them.
var ownComponents = []string{"config/infrastructure", "config/bootstrap"}

// InstallAPI puts this project's API on a management cluster: its definitions and admission policies, as users get them.
func InstallAPI(ctx context.Context, m *Management) error {
	root, err := repositoryRoot()
	if err != nil {
		return err
	}
	api, err := m.client()
	if err != nil {
		return err
	}
	for _, component := range ownComponents {
		rendered, err := build(filepath.Join(root, filepath.FromSlash(component)))
		if err != nil {
			return err
		}
		if err := apply(ctx, api, rendered.Objects); err != nil {
			return err
		}
	}
	return nil
}

// StartManager builds this project's manager and runs it as a plain process, until the cluster is stopped.
func StartManager(ctx context.Context, m *Management, arguments ...string) error {
	root, err := repositoryRoot()
	if err != nil {
		return err
	}
	program := filepath.Join(m.servers.dir, "manager")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build manager: %w\n%s", err, output)
	}
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	health, diagnostics := address(ports[0]), address(ports[1])
	return m.servers.start(ctx, server{
		name: "capwin-manager",
		path: program,
		args: append([]string{
			"--kubeconfig=" + m.KubeconfigFile, "--health-addr=" + health,
			"--diagnostics-address=" + diagnostics, "--insecure-diagnostics=true",
		}, arguments...),
		ready: answersOK(healthClient, "http://"+health+"/readyz"),
	})
}
