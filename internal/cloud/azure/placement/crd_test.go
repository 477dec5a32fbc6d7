package placement

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"
)

// capz is the release of Cluster API Provider Azure whose CRDs our examples are held to.
const capz = "sigs.k8s.io/cluster-api-provider-azure@v1.27.0"

// TestExamplesAreThoseOfCAPZ checks our examples as an API server with the real CRDs does: they are valid, and it knows all their
// fields.
func TestExamplesAreThoseOfCAPZ(t *testing.T) {
	for example, plural := range map[string]string{
		"azurecluster":         "azureclusters",
		"azureclusteridentity": "azureclusteridentities",
	} {
		of := capzSchema(t, plural)
		object := blueObject(t, example).Object
		validator, _, err := validation.NewSchemaValidator(of)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := validation.ValidateCustomResource(nil, object, validator); len(wrong) > 0 {
			t.Errorf("%s: %v", example, wrong)
		}
		structural, err := schema.NewStructural(of)
		if err != nil {
			t.Fatal(err)
		}
		pruned := blueObject(t, example).Object
		pruning.Prune(pruned, structural, true)
		if diff := cmp.Diff(object, pruned); diff != "" {
			t.Errorf("%s has fields that CAPZ does not know:\n%s", example, diff)
		}
	}
}

func capzSchema(t *testing.T, plural string) *apiextensions.JSONSchemaProps {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", capz).Output()
	if err != nil {
		t.Fatalf("download %s: %v", capz, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "config", "crd", "bases", "infrastructure.cluster.x-k8s.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	var of apiextensions.JSONSchemaProps
	from := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(from, &of, nil); err != nil {
		t.Fatal(err)
	}
	return &of
}
