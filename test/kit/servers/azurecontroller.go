package servers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AzureController is the real cloud controller manager of Azure, as a container of its chart starts it.
type AzureController struct {
	// Program is where it is, Name that of its log, which each process has for itself, and Account that in kube-system by which it
	// logs in.
	Program, Name, Account string
	// Config is its azure.json, CA the certificate of the cloud that it names.
	Config, CA []byte
	// Arguments are those of the container. Those that say where it finds files and the API server are ours.
	Arguments   []string
	Environment []string
}

// azureControllerYAML has its account and the rights of its chart.
//
//go:embed azurecontroller.yaml
var azureControllerYAML []byte

// AzureAccount is the account that InstallAzureController makes.
const AzureAccount = "azure-cloud-controller-manager"

// InstallAzureController makes an account with the rights of the chart's.
func (w *Workload) InstallAzureController(ctx context.Context) error {
	objects, err := decodeAll(azureControllerYAML)
	if err != nil {
		return err
	}
	api, err := client.New(w.Config, client.Options{})
	if err != nil {
		return err
	}
	return apply(ctx, api, objects)
}

// StartAzureController runs it as a plain process, by its account, until it is stopped, or the cluster is.
func (w *Workload) StartAzureController(ctx context.Context, c AzureController) (stop func() error, err error) {
	s, err := w.azureController(ctx, c)
	if err == nil {
		err = w.servers.start(ctx, s)
	}
	if err != nil {
		return nil, fmt.Errorf("start cloud controller manager of Azure: %w", err)
	}
	p, err := w.servers.process(s.name)
	if err != nil {
		return nil, err
	}
	return func() error { return p.stop(stopGrace) }, nil
}

// azureController says how to run it. Later flags win over those of the container.
func (w *Workload) azureController(ctx context.Context, c AzureController) (server, error) {
	file := func(suffix string) string { return filepath.Join(w.servers.dir, c.Name+suffix) }
	config, ca, kubeconfig := file(".azure.json"), file(".ca.pem"), file(".kubeconfig")
	if err := errors.Join(os.WriteFile(config, c.Config, 0o600), os.WriteFile(ca, c.CA, 0o600)); err != nil {
		return server{}, err
	}
	api, err := client.New(w.Config, client.Options{})
	if err != nil {
		return server{}, err
	}
	login, err := logIn(ctx, api, w.Config, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: c.Account},
	})
	if err == nil {
		err = writeLogin(login, c.Name, kubeconfig)
	}
	if err != nil {
		return server{}, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return server{}, err
	}
	s := component(w.binaries, c.Name, kubeconfig, ports[0], append(c.Arguments, "--cloud-config="+config)...)
	s.path, s.env = c.Program, append(append([]string{"SSL_CERT_FILE=" + ca}, leisurely...), c.Environment...)
	return s, nil
}

// AzureControllerPrinted is what the manager of a name has printed.
func (w *Workload) AzureControllerPrinted(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(w.servers.dir, name+".log"))
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(text), nil
}
