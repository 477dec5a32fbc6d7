package odd

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object is one as an API server might show it, most often of the resource: of another kind now and then, and with values of
// other types.
func (s *Source) Object(resource string) []byte {
	if s.Once(8) {
		resource = One(s, "nodes", "daemonsets", "services", "configmaps")
	}
	var object any
	switch resource {
	case "nodes":
		object = s.node()
	case "daemonsets", "deployments", "statefulsets":
		w := s.Workload()
		set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name, Annotations: w.Annotations}}
		set.Spec.Template = w.Template
		object = set
	case "runtimeclasses":
		object = append(s.Classes(), nodev1.RuntimeClass{})[0]
	case "services":
		service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: One(s, "kube-dns", s.Text())}}
		service.Spec.Selector, service.Spec.Type = s.Labels(), corev1.ServiceType(One(s, "", "ExternalName", s.Text()))
		object = service
	default:
		object = corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.Text(), Name: s.Text(), Labels: s.Labels(),
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: One(s, "capwin", s.Text())}},
			},
			Data: s.Labels(),
		}
	}
	return s.JSON(object)
}

func (s *Source) node() corev1.Node {
	n := s.Node()
	object := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Spec: corev1.NodeSpec{Taints: n.Taints}}
	if s.Once(8) {
		object.Namespace = s.Text()
	}
	object.Status.NodeInfo.KubeletVersion = One(s, "v1.36.3", s.Text())
	object.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionStatus(One(s, "True", s.Text())),
	}}
	return object
}

// JSON writes an object, at times with one value that has another type, or with its end cut off.
func (s *Source) JSON(object any) []byte {
	text, _ := json.Marshal(object) // types of the API always can
	switch s.N(8) {
	case 1, 2:
		var tree any
		if json.Unmarshal(text, &tree) == nil {
			text, _ = json.Marshal(s.twist(tree)) // it came from JSON
		}
	case 3:
		text = text[:len(text)-min(len(text), s.N(50))]
	}
	return text
}

// twist puts another value anywhere.
func (s *Source) twist(tree any) any {
	switch node := tree.(type) {
	case map[string]any:
		if len(node) > 0 && !s.Once(8) {
			key := One(s, slices.Sorted(maps.Keys(node))...)
			node[key] = s.twist(node[key])
			return node
		}
	case []any:
		if len(node) > 0 && !s.Once(8) {
			i := s.N(len(node))
			node[i] = s.twist(node[i])
			return node
		}
	}
	return One[any](s, nil, 7, -1.5, math.MaxFloat64, true, "", s.Text(), []any{}, []any{nil, "a"}, map[string]any{},
		map[string]any{"": nil, "name": 7, "a": []any{map[string]any{}}}, strings.Repeat("x", 20<<10))
}
