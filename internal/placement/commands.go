package placement

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// onLinuxCommand has the workload select Linux.
func (p *pod) onLinuxCommand() string {
	spec := map[string]any{"nodeSelector": map[string]string{corev1.LabelOSStable: linux}}
	if p.object.Spec.NodeName != "" {
		spec["nodeName"] = nil
	}
	return p.workload.kubectl("patch", "--type merge -p "+quoted(map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": spec}},
	}))
}

// allowCommand says of the workload that it runs on both systems. Nothing does that for pods that say that they are for Linux.
func (p *pod) allowCommand() string {
	if os := p.object.Spec.OS; os != nil && os.Name == corev1.Linux {
		return ""
	}
	return p.workload.RunsOnBothCommand()
}

// RunsOnBothCommand says of the workload that it runs on both systems, so that our policy leaves it alone.
func (w Workload) RunsOnBothCommand() string {
	return w.kubectl("annotate", "--overwrite "+RunsOnAnnotation+"="+RunsOnBoth)
}

// tolerateCommand gives the template the tolerations that it lacks for a Node, if its taints are such as an API server takes.
func (p *pod) tolerateCommand(n *Node) string {
	tolerations := p.object.Spec.Tolerations
	var missing []corev1.Toleration
	for {
		taint, kept := untolerated(n.Taints, tolerations)
		if !kept {
			break
		}
		if !isNamed(taint.Key, taint.Value, string(taint.Effect)) {
			return ""
		}
		one := corev1.Toleration{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}
		if taint.Value == "" {
			one.Operator = corev1.TolerationOpExists
		}
		tolerations, missing = append(tolerations, one), append(missing, one)
	}
	const path = "/spec/template/spec/tolerations"
	var patch []map[string]any
	if len(p.workload.Template.Spec.Tolerations) == 0 {
		patch = append(patch, map[string]any{"op": "add", "path": path, "value": missing})
	} else {
		for _, one := range missing {
			patch = append(patch, map[string]any{"op": "add", "path": path + "/-", "value": one})
		}
	}
	return p.workload.kubectl("patch", "--type json -p "+quoted(patch))
}

// kubectl is a command about the workload. There is none for a name that no API server takes: who runs it is in a shell, and
// whoever has a workload cluster may have its API server say anything.
func (w Workload) kubectl(verb, rest string) string {
	namespace := cmp.Or(w.Namespace, "default")
	kind := strings.ToLower(w.Kind)
	if len(validation.IsDNS1123Label(kind))+len(validation.IsDNS1123Label(namespace)) > 0 || !isSubdomain(w.Name) {
		return ""
	}
	return fmt.Sprintf("kubectl %s %s %s -n %s %s", verb, kind, w.Name, namespace, rest)
}

// quoted is JSON as one word of a shell. An apostrophe, which no label and no taint may have, is written as JSON lets it.
func quoted(value any) string {
	text, _ := json.Marshal(value) // maps of texts always can
	return "'" + strings.ReplaceAll(string(text), "'", `\u0027`) + "'"
}
