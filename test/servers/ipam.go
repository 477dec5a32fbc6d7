package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The IPAM provider of Cluster API's own project, whose pools are objects. It is built by its own go.mod, which is older than
// ours, and so stands in no go.mod of ours: version and checksum are pinned here.
const (
	ipamModule  = "sigs.k8s.io/cluster-api-ipam-provider-in-cluster"
	ipamVersion = "v1.0.3"
	ipamSum     = "h1:DO6VrWMAmkX7D50CSLiKR62kcvxtH2Zdm312KB115XE="
	ipamProgram = "ipam-in-cluster"
)

// StartIPAM installs the provider on a management cluster that has Cluster API, and runs its manager as a plain process until
// the cluster is stopped. It is built first, once. Its webhook, which only checks pools, is left out.
func StartIPAM(ctx context.Context, m *Management, progress io.Writer) error {
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
		name: ipamProgram,
		path: program,
		args: []string{
			"--kubeconfig=" + m.KubeconfigFile, "--health-probe-bind-address=" + health, "--metrics-bind-address=0", "--webhook-port=0",
		},
		ready: answersOK(healthClient, "http://"+health+"/readyz"),
	})
}

// EnsureIPAM returns the provider's program and its source. What is missing is built first.
func EnsureIPAM(ctx context.Context, progress io.Writer) (program, source string, err error) {
	if source, err = ipamSource(ctx); err != nil {
		return "", "", err
	}
	program, err = buildIPAM(ctx, source, progress)
	return program, source, err
}

// ipamSource is the folder of the provider's source, as its checksum says it must be.
func ipamSource(ctx context.Context) (string, error) {
	cmd := command(ctx, "go", "mod", "download", "-json", ipamModule+"@"+ipamVersion)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOWORK=off")
	out, err := run(cmd)
	if err != nil {
		return "", fmt.Errorf("download source of the IPAM provider: %w", err)
	}
	var downloaded struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", fmt.Errorf("download source of the IPAM provider: %w", err)
	}
	if downloaded.Sum != ipamSum {
		return "", fmt.Errorf("download source of the IPAM provider: its checksum is %s and not %s", downloaded.Sum, ipamSum)
	}
	return downloaded.Dir, nil
}

func buildIPAM(ctx context.Context, source string, progress io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	s := store{
		Binaries: Binaries{Dir: filepath.Join(cache, "capwin", "ipam", ipamVersion+"-"+runtime.Version())}, progress: progress,
	}
	if s.has(ipamProgram) {
		return s.Path(ipamProgram), nil
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return "", fmt.Errorf("create cache folder: %w", err)
	}
	unlock, err := lock(ctx, s.Dir+".lock", progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if s.has(ipamProgram) {
		return s.Path(ipamProgram), nil
	}
	s.say("building %s %s (about 3 min on two cores, once)", ipamProgram, ipamVersion)
	s.tools.dir = source
	part := s.part(ipamProgram)
	defer func() { _ = os.Remove(part) }()
	if err := s.goBuild(ctx, ".", "-s -w", part); err != nil {
		return "", fmt.Errorf("build %s: %w", ipamProgram, err)
	}
	if err := os.Rename(part, s.Path(ipamProgram)); err != nil {
		return "", fmt.Errorf("build %s: %w", ipamProgram, err)
	}
	return s.Path(ipamProgram), nil
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
