package admission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	readobjects "github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/preview"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/wrongpools"
)

// fewestAnswers is how many of the wrong pools this API server refuses by itself, which does not have Cluster API's kinds.
const fewestAnswers = 40

// What the plugin says of each wrong pool stands beside what the API server says. The plugin refuses no object of ours that the
// API server takes.
func TestAnswersToWrongPools(t *testing.T) {
	answers := 0
	for _, c := range wrongpools.Cases {
		text := expect.Got(c.Text())(t)
		server := answerOf(t, text)
		admission, plugin := said(t, text)
		if server != "" {
			answers++
		}
		t.Logf("pool %d\n   API server: %s\n   plugin:     %s", c.Pool, orNothing(server), orNothing(plugin))
		if server == "" && strings.HasPrefix(admission, "Windows") {
			t.Errorf("pool %d: the API server takes what the plugin refuses in its name: %s", c.Pool, admission)
		}
		if server != "" && plugin == "" {
			t.Errorf("pool %d: the API server refuses what the plugin takes: %s", c.Pool, server)
		}
	}
	t.Logf("pools that are wrong in %d ways, of which the API server refuses %d by itself", len(wrongpools.Cases), answers)
	for _, c := range wrongpools.Noted {
		if server := answerOf(t, expect.Got(c.Text())(t)); server != "" {
			t.Errorf("pool %d: the API server refuses what the plugin takes with a note: %s", c.Pool, server)
		}
	}
	if answers < fewestAnswers {
		t.Errorf("the API server refused %d, want %d at least", answers, fewestAnswers)
	}
}

func orNothing(answer string) string {
	if answer == "" {
		return "takes it; a controller, or Cluster API's webhook, refuses it"
	}
	return answer
}

// answerOf creates the pool's objects of our kinds as kubectl does, and returns the first refusal.
func answerOf(t *testing.T, text string) string {
	t.Helper()
	strict := client.WithFieldValidation(api, metav1.FieldValidationStrict)
	for document := range strings.SplitSeq(text, "---\n") {
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return "kubectl: " + err.Error()
		}
		made := &unstructured.Unstructured{}
		if err := made.UnmarshalJSON(data); err != nil {
			return "kubectl: " + err.Error()
		}
		if definitions[made.GetKind()] == nil {
			continue
		}
		made.SetNamespace(metav1.NamespaceDefault)
		if err := strict.Create(t.Context(), made, client.DryRunAll); err != nil {
			return strings.ReplaceAll(err.Error(), "\n", " ")
		}
	}
	return ""
}

// said is what the plugin says for the API server, and what it says at all.
func said(t *testing.T, text string) (admission, all string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pool.yaml")
	expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	found, err := readobjects.Read([]string{file}, metav1.NamespaceDefault, nil)
	if err != nil {
		return "", err.Error()
	}
	if err := found.Admit(); err != nil {
		admission = err.Error()
	}
	if _, err := preview.Gather(found, "prod-windows-x7k2p-q9d4t"); err != nil {
		all = err.Error()
	}
	return admission, all
}
