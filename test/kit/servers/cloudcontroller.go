package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// cloudControllerManager is vSphere's, which other words call its cloud provider.
	cloudControllerManager = "vsphere-cloud-controller-manager"
	// cloudManifest is what its release tells users to apply.
	cloudManifest = cloudControllerManager + ".yaml"

	// The Secret and the ConfigMap of its manifest and of its chart, and the file of the latter.
	cloudSecret     = "vsphere-cloud-secret"
	cloudConfigMap  = "vsphere-cloud-config"
	cloudConfigFile = "vsphere.conf"

	// cloudAccount is that of the manifest.
	cloudAccount = "cloud-controller-manager"
)

// VSphere is a vCenter, and the account by which a cloud controller manager reads it.
type VSphere struct {
	Server, Thumbprint string // Server has a port
	Username, Password string
	Datacenter         string
	// Conf is the file that a cluster has of it; one of our own when nil.
	Conf []byte
}

// String keeps the password out of logs.
func (VSphere) String() string { return "[hidden]" }

// GoString keeps the password out of logs.
func (VSphere) GoString() string { return "[hidden]" }

// keepCloudManifest puts the manifest of the cloud controller manager's release beside the program, as it is.
func (s store) keepCloudManifest(ctx context.Context) error {
	if s.has(cloudManifest) {
		return nil
	}
	version, err := s.tools.version(cloudModule)
	if err != nil {
		return err
	}
	source, err := s.tools.sourceOf(ctx, cloudModule)
	if err != nil {
		return err
	}
	minor := version[:strings.LastIndex(version, ".")]
	text, err := os.ReadFile(filepath.Join(source, "releases", minor, cloudManifest))
	if err != nil {
		return fmt.Errorf("read manifest of %s: %w", cloudControllerManager, err)
	}
	return s.write(cloudManifest, text)
}

// StartCloudController runs the cloud controller manager for vSphere as a plain process until the cluster is stopped: with the
// objects and the arguments of its release's manifest, and as its account.
//
// One thing is otherwise than there: it deletes no Node that its vCenter does not know, as its repository's
// docs/book/tutorials/disable-node-deletion.md describes. A cluster of the lab has Nodes of another cloud, too.
func (w *Workload) StartCloudController(ctx context.Context, vsphere VSphere) error {
	if err := w.startCloudController(ctx, vsphere); err != nil {
		return fmt.Errorf("start cloud controller manager: %w", err)
	}
	return nil
}

func (w *Workload) startCloudController(ctx context.Context, vsphere VSphere) error {
	text, err := os.ReadFile(w.binaries.Path(cloudManifest))
	if err != nil {
		return err
	}
	objects, err := decodeAll(text)
	if err != nil {
		return err
	}
	conf, err := vsphere.conf()
	if err != nil {
		return err
	}
	arguments, objects, err := vsphere.fill(objects, conf)
	if err != nil {
		return err
	}
	api, err := client.New(w.Config, client.Options{})
	if err != nil {
		return err
	}
	if err := apply(ctx, api, objects); err != nil {
		return err
	}
	manager, err := w.cloudController(ctx, api, arguments, conf, cloudAccount)
	if err != nil {
		return err
	}
	return w.servers.start(ctx, manager)
}

// RestartCloudController ends the cloud controller manager and starts it again, as a rollout of its DaemonSet does.
func (w *Workload) RestartCloudController(ctx context.Context) error {
	p, err := w.servers.process(cloudControllerManager)
	if err == nil {
		err = p.stop(stopGrace)
	}
	if err != nil {
		return fmt.Errorf("restart cloud controller manager: %w", err)
	}
	return w.servers.again(ctx, p)
}

// CloudControllerPrinted is what the cloud controller manager has printed since it was started the last time.
func (w *Workload) CloudControllerPrinted() (string, error) {
	text, err := os.ReadFile(filepath.Join(w.servers.dir, cloudControllerManager+".log"))
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(text), nil
}

// conf is the file by which the manager finds its vCenter.
func (v VSphere) conf() ([]byte, error) {
	if v.Conf != nil {
		return v.Conf, nil
	}
	host, port, err := net.SplitHostPort(v.Server)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(map[string]any{
		"global": map[string]any{
			"port": number, "thumbprint": v.Thumbprint, "secretName": cloudSecret, "secretNamespace": metav1.NamespaceSystem,
		},
		"vcenter": map[string]any{host: map[string]any{"server": host, "datacenters": []string{v.Datacenter}}},
	})
}

// fill puts our vCenter where the manifest has examples. Of its DaemonSet only the arguments are taken: no kubelet would run it.
func (v VSphere) fill(objects []unstructured.Unstructured, conf []byte) ([]string, []unstructured.Unstructured, error) {
	host, _, err := net.SplitHostPort(v.Server)
	if err != nil {
		return nil, nil, err
	}
	data := map[string]map[string]any{
		cloudSecret:    {"stringData": map[string]any{host + ".username": v.Username, host + ".password": v.Password}},
		cloudConfigMap: {"data": map[string]any{cloudConfigFile: string(conf)}},
	}
	var arguments []string
	var kept []unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == "DaemonSet" {
			if arguments, err = managerArguments(object); err != nil {
				return nil, nil, err
			}
			continue
		}
		for field, value := range data[object.GetName()] {
			object.Object[field] = value
			delete(data, object.GetName())
		}
		kept = append(kept, object)
	}
	if len(arguments) == 0 || len(data) > 0 {
		return nil, nil, errors.New("its manifest has no DaemonSet, no Secret or no ConfigMap of the names that we know")
	}
	return arguments, kept, nil
}

// cloudController says how to run it: with the file that its pod would find mounted.
func (w *Workload) cloudController(
	ctx context.Context, api client.Client, arguments []string, conf []byte, account string,
) (server, error) {
	file := func(name string) string { return filepath.Join(w.servers.dir, name) }
	login, err := logIn(ctx, api, w.Config, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: account},
	})
	if err != nil {
		return server{}, err
	}
	kubeconfig := file(cloudControllerManager + ".kubeconfig")
	if err := writeLogin(login, cloudControllerManager, kubeconfig); err != nil {
		return server{}, err
	}
	if err := os.WriteFile(file(cloudConfigFile), conf, 0o600); err != nil {
		return server{}, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return server{}, err
	}
	// Later flags win over those of the DaemonSet.
	ours := []string{"--cloud-config=" + file(cloudConfigFile), "--webhook-secure-port=" + strconv.Itoa(ports[1])}
	manager := component(w.binaries, cloudControllerManager, kubeconfig, ports[0], append(arguments, ours...)...)
	manager.env = append([]string{"SKIP_NODE_DELETION=true"}, leisurely...)
	return manager, nil
}

// decodeAll reads the objects of a manifest.
func decodeAll(manifest []byte) (objects []unstructured.Unstructured, err error) {
	decoder := yamlutil.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), len(manifest))
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("read manifest: %w", err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}
