package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// StartCAPV installs Cluster API Provider vSphere as its users have it, on a management cluster that has Cluster API: the kinds
// and webhooks of its components, and its manager, which runs as a plain process until the cluster is stopped. The program and
// the file of components are those that REAL has.
func StartCAPV(ctx context.Context, m *Management, program, components string) error {
	ctx, cancel := wait.Within(ctx, startLimit)
	defer cancel()
	if err := m.startCAPV(ctx, program, components); err != nil {
		return fmt.Errorf("start the vSphere provider: %w", err)
	}
	return nil
}

func (m *Management) startCAPV(ctx context.Context, program, components string) error {
	objects, err := readObjects(components)
	if err != nil {
		return err
	}
	rendered, err := reduce(objects)
	if err != nil {
		return err
	}
	folder := filepath.Join(m.servers.dir, "capv")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	// It does not start without an account, which each VSphereCluster with an identity of its own passes by.
	login := filepath.Join(folder, "credentials.yaml")
	if err := os.WriteFile(login, []byte("username: none\npassword: none\n"), 0o600); err != nil {
		return err
	}
	endpoint, err := newEndpoint(folder)
	if err != nil {
		return err
	}
	manager, err := m.managerOf("capv", program, rendered, endpoint)
	if err != nil {
		return err
	}
	manager.args = append(manager.args, "--credentials-file="+login, withoutMigrations)
	api, err := m.client()
	if err != nil {
		return err
	}
	if err := apply(ctx, api, rendered.Objects); err != nil {
		return err
	}
	return m.servers.start(ctx, manager)
}

// CAPVPrinted is what the vSphere provider's manager has printed so far.
func (m *Management) CAPVPrinted() (string, error) {
	text, err := os.ReadFile(filepath.Join(m.servers.dir, "capv.log"))
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(text), nil
}

// readObjects are those of a file of YAML.
func readObjects(path string) (objects []unstructured.Unstructured, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read components: %w", err)
	}
	defer func() { _ = file.Close() }()
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		object := unstructured.Unstructured{}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read components of %s: %w", path, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
