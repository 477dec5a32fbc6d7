package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// manifest is what is read of an object.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	// Data has files of others, in a ConfigMap or a Secret.
	Data, StringData map[string]string
	Spec             struct{ Template struct{ Spec corev1.PodSpec } }
}

// kinds are those whose pods somebody else than their author places.
var kinds = []string{"Deployment", "DaemonSet", "StatefulSet"}

// workloads are those in a text, and those in the texts that ConfigMaps and Secrets have there. What does not read as an object
// with pods is none.
func workloads(text, source string) []row {
	var rows []row
	for _, document := range documents(text) {
		var m manifest
		if yaml.Unmarshal([]byte(document), &m) != nil {
			continue
		}
		for _, files := range []map[string]string{m.Data, m.StringData} {
			for _, name := range slices.Sorted(maps.Keys(files)) {
				rows = append(rows, workloads(files[name], source)...)
			}
		}
		if slices.Contains(kinds, m.Kind) {
			rows = append(rows, row{
				Kind: m.Kind, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name, Spec: placingOf(m.Spec.Template.Spec),
				Sources: []string{source},
			})
		}
	}
	return rows
}

func placingOf(spec corev1.PodSpec) placing {
	p := placing{
		NodeName: spec.NodeName, NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations, OS: spec.OS,
		RuntimeClassName: spec.RuntimeClassName, HostNetwork: spec.HostNetwork,
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		p.Affinity = &corev1.Affinity{NodeAffinity: spec.Affinity.NodeAffinity}
	}
	if context := spec.SecurityContext; context != nil && context.WindowsOptions != nil {
		p.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: context.WindowsOptions}
	}
	return p
}

// Where kubeadm has its manifests, and the words in them that say where pods go.
const (
	kubeadmAddons    = "cmd/kubeadm/app/phases/addons"
	kubeadmConstants = "cmd/kubeadm/app/constants/constants.go"
)

// kubeadm has the manifests of CoreDNS and kube-proxy as constants of its sources, which are templates.
func (m module) kubeadm() ([]row, error) {
	words, err := m.constants(kubeadmConstants)
	if err != nil {
		return nil, err
	}
	values := map[string]string{
		"DeploymentName": words["CoreDNSDeploymentName"], "ControlPlaneTaintKey": words["LabelNodeRoleControlPlane"],
		"ProxyConfigMap": words["KubeProxyConfigMap"], "ProxyConfigMapKey": words["KubeProxyConfigMapKey"],
		"Image": "registry.k8s.io/pause", "Replicas": "2",
	}
	var rows []row
	for file, name := range map[string]string{
		kubeadmAddons + "/dns/manifests.go": "CoreDNSDeployment", kubeadmAddons + "/proxy/manifests.go": "KubeProxyDaemonSet19",
	} {
		texts, err := m.constants(file)
		if err != nil {
			return nil, err
		}
		text, err := rendered(texts[name], values)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", m.source(file), name, err)
		}
		found := workloads(text, m.source(file))
		if len(found) != 1 {
			return nil, fmt.Errorf("%s: %s has %d workloads, want 1", m.source(file), name, len(found))
		}
		rows = append(rows, found...)
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	return rows, nil
}

func rendered(text string, values map[string]string) (string, error) {
	parsed, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, values)
	return out.String(), err
}

// constants are those of a Go file that are texts.
func (m module) constants(file string) (map[string]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(m.dir, filepath.FromSlash(file)), nil, 0)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				texts[spec.Names[i].Name], _ = strconv.Unquote(literal.Value)
			}
		}
		return true
	})
	return texts, nil
}
