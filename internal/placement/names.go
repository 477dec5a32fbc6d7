package placement

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// notAName stands for a text that no API server of Kubernetes takes as a name, or as the key or the value of a label.
const notAName = "(not a name)"

// FirstNode stands for the Windows Node that a pool without settings of its own would make.
const FirstNode = "a first Windows Node"

// Named is a name, a key, a value or a version of a workload cluster, as it may stand in a sentence of ours. An owner of that
// cluster may have its API server answer anything, such as a sentence with a command that would read as ours.
func Named(text string) string {
	if text == "" || text == FirstNode {
		return text
	}
	plain := strings.ReplaceAll(text, "+", "-") // versions have it
	prefix, suffix, found := strings.Cut(plain, "/")
	isPair := found && isSubdomain(prefix) && isSubdomain(suffix) // of a namespace, as those have that ToBeMade makes
	if isPair || isSubdomain(plain) || len(validation.IsQualifiedName(plain)) == 0 || len(validation.IsValidLabelValue(plain)) == 0 {
		return text
	}
	return notAName
}

func isSubdomain(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

// allNamed are names as they may stand in a sentence.
func allNamed(texts []string) []string {
	result := make([]string, len(texts))
	for i, text := range texts {
		result[i] = Named(text)
	}
	return result
}

// taintText writes a taint as kubectl does.
func taintText(t *corev1.Taint) string {
	named := corev1.Taint{Key: Named(t.Key), Value: Named(t.Value), Effect: corev1.TaintEffect(Named(string(t.Effect)))}
	return named.ToString()
}

// patch changes the template. JSON is one word of a shell here: nothing that it has may hold an apostrophe.
func (w Workload) patch(template map[string]any) string {
	text, _ := json.Marshal(map[string]any{"spec": map[string]any{"template": template}}) // maps of texts always can
	return w.kubectl("patch", "--type merge -p '"+string(text)+"'")
}

// kubectl is a command about the workload. There is none for a name that no API server takes: the command is run in a shell, and
// the owner of a workload cluster may have its API server answer anything.
func (w Workload) kubectl(verb, rest string) string {
	namespace := cmp.Or(w.Namespace, "default")
	kind := strings.ToLower(w.Kind)
	if len(validation.IsDNS1123Label(kind))+len(validation.IsDNS1123Label(namespace)) > 0 || !isSubdomain(w.Name) {
		return ""
	}
	return fmt.Sprintf("kubectl %s %s %s -n %s %s", verb, kind, w.Name, namespace, rest)
}
