package servers

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// ipam is the IPAM provider of Cluster API's own project, whose pools are objects.
var ipam = pinnedProgram{
	pinned: pinned{
		path: "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", version: "v1.0.3",
		sum: "h1:DO6VrWMAmkX7D50CSLiKR62kcvxtH2Zdm312KB115XE=",
	},
	name: "ipam-in-cluster", folder: "ipam", cost: 3 * time.Minute,
}

// StartIPAM installs the provider on a management cluster that has Cluster API, and runs its manager as a plain process until
// the cluster is stopped. It is built first, once. Its webhook, which only checks pools, is left out.
func StartIPAM(ctx context.Context, m *Management, progress io.Writer) error {
	if m.guest != nil {
		return m.guest.Ask(ctx, PartIPAM)
	}
	program, source, err := EnsureIPAM(ctx, progress)
	if err != nil {
		return err
	}
	api, err := m.client()
	if err != nil {
		return err
	}
	definitions, err := ipamDefinitions(source)
	if err != nil {
		return err
	}
	if err := apply(ctx, api, definitions); err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	health := address(ports[0])
	return m.servers.start(ctx, server{
		name: ipam.name,
		path: program,
		args: []string{
			"--kubeconfig=" + m.KubeconfigFile, "--health-probe-bind-address=" + health, "--metrics-bind-address=0", "--webhook-port=0",
		},
		ready: answersOK(healthClient, "http://"+health+"/readyz"),
	})
}

// EnsureIPAM returns the provider's program and its source. What is missing is built first.
func EnsureIPAM(ctx context.Context, progress io.Writer) (program, source string, err error) {
	b, source, err := ipam.ensure(ctx, progress)
	return b.Path(ipam.name), source, err
}

func ipamDefinitions(source string) ([]unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(source, "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find definitions of the IPAM provider: %d files, %w", len(files), err)
	}
	definitions := make([]unstructured.Unstructured, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read definition: %w", err)
		}
		if err := yaml.Unmarshal(text, &definitions[i].Object); err != nil {
			return nil, fmt.Errorf("read definition %s: %w", file, err)
		}
	}
	return definitions, nil
}
