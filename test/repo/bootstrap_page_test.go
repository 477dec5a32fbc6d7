package repo

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	bootstrapPage = "docs/bootstrap.md"
	bootstrapCRD  = "config/crd/bases/bootstrap.cluster.x-k8s.io_windowsbootstrapconfigs.yaml"
)

// references are fields with names and keys in them, of which the page says once what they are.
var references = regexp.MustCompile(`\.(contentFrom|caFrom|kubeconfigFrom|credentialsRef)$`)

// The page names every field of the spec, and no other.
func TestBootstrapFieldsAreDocumented(t *testing.T) {
	content := expect.Got(os.ReadFile(filepath.Join(root, bootstrapCRD)))(t)
	var definition apiextensionsv1.CustomResourceDefinition
	expect.OK(t, yaml.Unmarshal(content, &definition))
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	compare(t, bootstrapPage, leaves("", spec), namedFields(t))
}

// leaves are the fields that hold values: lists of texts count as one.
func leaves(at string, schema apiextensionsv1.JSONSchemaProps) []string {
	of, brackets := schema, ""
	if schema.Items != nil {
		of, brackets = *schema.Items.Schema, "[]"
	}
	if len(of.Properties) == 0 || references.MatchString(at) {
		return []string{at}
	}
	var all []string
	for name, property := range of.Properties {
		all = append(all, leaves(strings.TrimPrefix(at+brackets+"."+name, "."), property)...)
	}
	return all
}

// namedFields are the first column's: `.name` is the field beside the one before it.
func namedFields(t *testing.T) []string {
	t.Helper()
	var named []string
	code := regexp.MustCompile("`([^`]+)`")
	for _, row := range tableRows(t, bootstrapPage) {
		before := ""
		for _, found := range code.FindAllStringSubmatch(row[0], -1) {
			field := found[1]
			if strings.HasPrefix(field, ".") {
				field = before[:strings.LastIndex(before, ".")] + field
			}
			named, before = append(named, field), field
		}
	}
	return named
}

// Every example of the page makes user data.
func TestBootstrapExamplesAreRendered(t *testing.T) {
	content := expect.Got(os.ReadFile(filepath.Join(root, bootstrapPage)))(t)
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(content), -1)
	if len(examples) < 8 {
		t.Fatalf("%d examples, want one of each room", len(examples))
	}
	for _, example := range examples {
		config := &bootstrapv1.WindowsBootstrapConfig{}
		if err := yaml.UnmarshalStrict([]byte(example[1]), &config.Spec); err != nil {
			t.Errorf("%v in:\n%s", err, example[1])
			continue
		}
		if userData, err := bootstrap.Render(exampleInput(t, config)); err != nil || len(userData.Bytes()) == 0 {
			t.Errorf("%v of:\n%s", err, example[1])
		}
	}
	// The test must be able to fail.
	broken := &bootstrapv1.WindowsBootstrapConfig{}
	broken.Spec.Windows.TimeZone = "Europe/Berlin"
	if _, err := bootstrap.Render(exampleInput(t, broken)); err == nil {
		t.Error("a config that can not work is rendered")
	} else if _, ok := errors.AsType[*bootstrap.InvalidError](err); !ok {
		t.Errorf("not what was looked for: %v", err)
	}
}

// exampleInput is a machine of the config on vSphere, with all that the config refers to.
func exampleInput(t *testing.T, config *bootstrapv1.WindowsBootstrapConfig) bootstrap.Input {
	t.Helper()
	ca := expect.Got(os.ReadFile(filepath.Join(root, "bootstrap", "testdata", "ca.crt")))(t)
	in := bootstrap.Input{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "blue"},
			Spec: clusterv1.ClusterSpec{
				ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.10", Port: 6443},
				ClusterNetwork: clusterv1.ClusterNetwork{
					Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{"10.244.0.0/16"}},
					Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}},
				},
			},
		},
		Machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m", UID: "uid-1"}, Spec: clusterv1.MachineSpec{Version: "v1.36.3"},
		},
		WindowsMachine: &infrav1.WindowsMachine{
			Spec:   infrav1.WindowsMachineSpec{ProviderID: "vsphere://1", VSphere: &infrav1.VSphereVM{CPUs: 4, MemoryMiB: 16384}},
			Status: infrav1.WindowsMachineStatus{ComputerName: "win-1"},
		},
		Config: config, ClusterCA: ca, Token: "abcdef.0123456789abcdef", Sources: map[string][]byte{},
	}
	for _, source := range bootstrap.Sources(config.Spec) {
		in.Sources[source.String()] = []byte("correct-horse-battery")
		switch source.Key {
		case "ca.crt":
			in.Sources[source.String()] = ca
		case "kubeconfig":
			cluster := map[string]any{"server": "https://10.0.0.10:6443", "certificate-authority-data": ca}
			text := expect.Got(yaml.Marshal(map[string]any{"kind": "Config", "clusters": []any{map[string]any{"cluster": cluster}}}))(t)
			in.Sources[source.String()] = text
		}
	}
	return in
}
