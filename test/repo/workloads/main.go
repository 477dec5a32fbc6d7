// Command workloads reads where the pods of published Deployments, DaemonSets and StatefulSets may go: those that kubeadm of
// each minor version writes, and those of add-ons. It takes them from the modules that publish them, by the Go module proxy,
// and keeps what a scheduler looks at.
//
//	workloads internal/placement/testdata/workloads.json           compares
//	workloads -write internal/placement/testdata/workloads.json    writes
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// versions of Kubernetes: one of each minor version that nodes join, all of whose modules can be had.
var versions = []string{"v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.3", "v1.35.4", "v1.36.3", "v1.37.2"}

// addons are files with manifests, by the module that has them.
var addons = []struct {
	module string
	files  []string
}{
	{"k8s.io/kubernetes@v1.36.3", []string{
		"cluster/addons/dns-horizontal-autoscaler/dns-horizontal-autoscaler.yaml",
		"cluster/addons/metrics-server/metrics-server-deployment.yaml",
		"cluster/addons/node-problem-detector/npd.yaml",
	}},
	{"k8s.io/cloud-provider-vsphere@v1.36.0", []string{"releases/v1.36/vsphere-cloud-controller-manager.yaml"}},
	{"github.com/flannel-io/flannel@v0.28.9", []string{"Documentation/kube-flannel.yml"}},
	{"gopkg.in/k8snetworkplumbingwg/multus-cni.v4@v4.2.2", []string{
		"deployments/multus-daemonset.yml", "deployments/multus-daemonset-thick.yml",
	}},
	{"sigs.k8s.io/cluster-api-provider-azure@v1.27.0", []string{
		"templates/addons/calico.yaml", "templates/addons/metrics-server/metrics-server.yaml",
		"templates/addons/windows/calico/kube-proxy-windows.yaml", "templates/addons/windows/csi-proxy/csi-proxy.yaml",
		"templates/addons/windows/containerd-logging/containerd-logger.yaml",
	}},
	// Has the CSI driver of vSphere, for Windows, too, in a ConfigMap.
	{"sigs.k8s.io/cluster-api-provider-vsphere@v1.16.1", []string{"templates/cluster-template.yaml"}},
}

// nodeLocal is in kubernetes' own repository, and no kubeadm applies it.
const nodeLocal = "cluster/addons/dns/nodelocaldns/nodelocaldns.yaml"

// row is one workload. Where several sources have the same, it is one row.
type row struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Spec      placing  `json:"spec"`
	Sources   []string `json:"sources"`
}

// placing are the fields of a pod's spec that say where it may go, or which system it is for.
type placing struct {
	NodeName         string                     `json:"nodeName,omitempty"`
	NodeSelector     map[string]string          `json:"nodeSelector,omitempty"`
	Affinity         *corev1.Affinity           `json:"affinity,omitempty"`
	Tolerations      []corev1.Toleration        `json:"tolerations,omitempty"`
	OS               *corev1.PodOS              `json:"os,omitempty"`
	RuntimeClassName *string                    `json:"runtimeClassName,omitempty"`
	HostNetwork      bool                       `json:"hostNetwork,omitempty"`
	SecurityContext  *corev1.PodSecurityContext `json:"securityContext,omitempty"`
}

func main() {
	write := flag.Bool("write", false, "write the file")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: workloads [-write] FILE")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string, write bool) error {
	rows, err := read()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	text = append(text, '\n')
	if write {
		return os.WriteFile(file, text, 0o600)
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	if !bytes.Equal(have, text) {
		return fmt.Errorf("%s is not what the modules have: make test-workloads WRITE=-write", file)
	}
	fmt.Printf("%s: %d workloads are as the modules have them\n", file, len(rows))
	return nil
}

// read reads all sources. A row stands where its first source does.
func read() ([]row, error) {
	var rows []row
	for _, version := range versions {
		m, err := download("k8s.io/kubernetes@" + version)
		if err != nil {
			return nil, err
		}
		found, err := m.kubeadm()
		if err != nil {
			return nil, err
		}
		local, err := m.manifests(nodeLocal)
		if err != nil {
			return nil, err
		}
		rows = merged(rows, slices.Concat(found, local))
	}
	for _, addon := range addons {
		m, err := download(addon.module)
		if err != nil {
			return nil, err
		}
		for _, file := range addon.files {
			found, err := m.manifests(file)
			if err != nil {
				return nil, err
			}
			rows = merged(rows, found)
		}
	}
	return rows, nil
}

// merged adds rows, and to a row that is there its other sources.
func merged(rows, more []row) []row {
	for _, one := range more {
		at := slices.IndexFunc(rows, func(other row) bool { return one.key() == other.key() })
		if at < 0 {
			rows = append(rows, one)
		} else {
			rows[at].Sources = append(rows[at].Sources, one.Sources...)
		}
	}
	return rows
}

func (r row) key() string {
	r.Sources = nil
	text, _ := json.Marshal(r)
	return string(text)
}

// module is one on this disk.
type module struct{ name, dir string }

// download runs outside of our module, whose sums it must not change.
func download(name string) (module, error) {
	command := exec.Command("go", "mod", "download", "-json", name)
	command.Dir = os.TempDir()
	out, err := command.Output()
	var found struct{ Dir string }
	if json.Unmarshal(out, &found) != nil || found.Dir == "" {
		return module{}, fmt.Errorf("get %s: %w", name, err)
	}
	return module{name: name, dir: found.Dir}, nil
}

func (m module) read(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(file)))
	return string(text), err
}

// source names a file of the module.
func (m module) source(file string) string { return m.name + " " + file }

// manifests are the workloads of one file.
func (m module) manifests(file string) ([]row, error) {
	text, err := m.read(file)
	if err != nil {
		return nil, err
	}
	rows := workloads(text, m.source(file))
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no workload", m.source(file))
	}
	return rows, nil
}

// documents are the parts of a file.
func documents(text string) []string { return strings.Split("\n"+text, "\n---") }
