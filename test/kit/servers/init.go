package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Init is what a bootstrap provider has the first machine of a control plane run: `kubeadm init`.
type Init struct {
	// PKI are the files of the cluster's authorities, by their paths in /etc/kubernetes/pki.
	PKI map[string][]byte
	// Config is the file that kubeadm is given.
	Config []byte
	// Serves is called when the API server answers at a port of loopback, before kubeadm asks it by the address of Config.
	Serves func(port int) error
	// Etcd starts the first member with the certificates in a folder like /etc/kubernetes/pki, and returns the URL for the API
	// server. Without it the cluster has an etcd that nobody sees.
	Etcd func(ctx context.Context, pki string) (url string, err error)

	cluster unstructured.Unstructured
}

// networks of a cluster.
type networks struct{ Pods, Services string }

const clusterConfiguration = "ClusterConfiguration"

// adopt takes the authorities and the configuration of a machine instead of our own. What is changed in the latter is where the
// machine's API server is, and where certificates are made.
func (k *kubeadm) adopt(init *Init) (networks, error) {
	k.adopted = true
	for name, content := range init.PKI {
		file := filepath.Join(k.pki(), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, content, 0o600)); err != nil {
			return networks{}, fmt.Errorf("write authority: %w", err)
		}
	}
	if err := k.place(init.Config, "kubeadm-cluster.yaml", nil); err != nil {
		return networks{}, err
	}
	err := k.place(init.Config, "kubeadm-files.yaml", func(cluster *unstructured.Unstructured) error {
		init.cluster = *cluster.DeepCopy()
		names, _, _ := unstructured.NestedStringSlice(cluster.Object, "apiServer", "certSANs")
		return errors.Join(
			unstructured.SetNestedField(cluster.Object, k.pki(), "certificatesDir"),
			unstructured.SetNestedStringSlice(cluster.Object, append(names, loopback, "localhost"), "apiServer", "certSANs"),
		)
	})
	if err != nil {
		return networks{}, err
	}
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(init.cluster.Object, "networking", name)
		return value
	}
	found := networks{Pods: field("podSubnet"), Services: field("serviceSubnet")}
	if found.Pods == "" || found.Services == "" {
		return found, errors.New("the configuration of kubeadm has no podSubnet or no serviceSubnet: nodes would get no pods")
	}
	return found, nil
}

// place writes a configuration with the addresses of this machine.
func (k *kubeadm) place(config []byte, name string, change func(cluster *unstructured.Unstructured) error) error {
	objects, err := decodeAll(config)
	if err != nil {
		return fmt.Errorf("read configuration of kubeadm: %w", err)
	}
	var written [][]byte
	for i := range objects {
		object := &objects[i]
		switch {
		case object.GetKind() == "InitConfiguration":
			err = k.placeInit(object)
		case object.GetKind() == clusterConfiguration && change != nil:
			err = change(object)
		}
		text, failed := yaml.Marshal(object.Object)
		if err := errors.Join(err, failed); err != nil {
			return fmt.Errorf("write configuration of kubeadm: %w", err)
		}
		written = append(written, text)
	}
	return os.WriteFile(filepath.Join(k.dir, name), bytes.Join(written, []byte("---\n")), 0o600)
}

func (k *kubeadm) placeInit(init *unstructured.Unstructured) error {
	name, _, err := unstructured.NestedString(init.Object, "nodeRegistration", "name")
	if name != "" {
		k.values.NodeName = name
	}
	return errors.Join(err,
		unstructured.SetNestedField(init.Object, k.values.Address, "localAPIEndpoint", "advertiseAddress"),
		unstructured.SetNestedField(init.Object, int64(k.values.Port), "localAPIEndpoint", "bindPort"),
		// As in kubeadm.yaml.tmpl.
		unstructured.SetNestedField(init.Object, "unix:///run/containerd/containerd.sock", "nodeRegistration", "criSocket"),
	)
}

// arguments are those that the configuration has for a part of the control plane.
func (i *Init) arguments(part string) []string {
	if i == nil {
		return nil
	}
	all, _, _ := unstructured.NestedSlice(i.cluster.Object, part, "extraArgs")
	var arguments []string
	for _, one := range all {
		if argument, ok := one.(map[string]any); ok {
			arguments = append(arguments, fmt.Sprintf("--%v=%v", argument["name"], argument["value"]))
		}
	}
	return arguments
}

func (i *Init) serve(port int) error {
	if i == nil || i.Serves == nil {
		return nil
	}
	return i.Serves(port)
}

// KubeletKubeconfig logs in as the kubelet of the first machine, as kubeadm init leaves it.
func (w *Workload) KubeletKubeconfig() string { return w.kubeadm.kubeconfig("kubelet") }
