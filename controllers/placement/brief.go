package placement

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// What is taken from objects. The types have no field that is not kept, so that a large object takes no memory when it is
// decoded, and the names of the fields are those of the API, so that what is kept can be decoded by its own type.

type briefMeta struct {
	Namespace   string            `json:"namespace,omitempty"`
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Created     *metav1.Time      `json:"creationTimestamp,omitempty"`
}

func (m briefMeta) key() string { return m.Namespace + "/" + m.Name }

type nodeObject struct {
	Metadata briefMeta `json:"metadata"`
	Spec     struct {
		Taints []briefTaint `json:"taints,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []briefCondition `json:"conditions,omitempty"`
		NodeInfo   struct {
			KubeletVersion string `json:"kubeletVersion,omitempty"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// briefTaint is without the time at which a taint came.
type briefTaint struct {
	Key    string             `json:"key"`
	Value  string             `json:"value,omitempty"`
	Effect corev1.TaintEffect `json:"effect"`
}

type briefCondition struct {
	Type   corev1.NodeConditionType `json:"type"`
	Status corev1.ConditionStatus   `json:"status"`
}

func briefNode(object []byte) (key string, text []byte, err error) {
	var o nodeObject
	if err := json.Unmarshal(object, &o); err != nil {
		return "", nil, err
	}
	o.Metadata.Namespace, o.Metadata.Annotations = "", nil // a Node has no namespace, and its name tells it from all others
	key = o.Metadata.key()
	o.Status.Conditions = slices.DeleteFunc(o.Status.Conditions, func(c briefCondition) bool { return c.Type != corev1.NodeReady })
	text, err = json.Marshal(o)
	return key, text, err
}

func nodeOf(text []byte) node {
	var o nodeObject
	_ = json.Unmarshal(text, &o) // we have written it
	n := node{Node: verdict.Node{Name: o.Metadata.Name, Labels: o.Metadata.Labels}, Kubelet: o.Status.NodeInfo.KubeletVersion}
	for _, t := range o.Spec.Taints {
		n.Taints = append(n.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	for _, c := range o.Status.Conditions {
		n.Ready = n.Ready || c.Status == corev1.ConditionTrue
	}
	if o.Metadata.Created != nil {
		n.Created = o.Metadata.Created.Truncate(time.Second)
	}
	return n
}

type workloadObject struct {
	Metadata briefMeta `json:"metadata"`
	Spec     struct {
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels,omitempty"`
			} `json:"metadata"`
			Spec podObject `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

type podObject struct {
	NodeName         string              `json:"nodeName,omitempty"`
	NodeSelector     map[string]string   `json:"nodeSelector,omitempty"`
	Affinity         *affinityObject     `json:"affinity,omitempty"`
	Tolerations      []corev1.Toleration `json:"tolerations,omitempty"`
	OS               *corev1.PodOS       `json:"os,omitempty"`
	RuntimeClassName *string             `json:"runtimeClassName,omitempty"`
	HostNetwork      bool                `json:"hostNetwork,omitempty"`
	SecurityContext  *securityObject     `json:"securityContext,omitempty"`
	InitContainers   []containerObject   `json:"initContainers,omitempty"`
	Containers       []containerObject   `json:"containers,omitempty"`
}

type affinityObject struct {
	NodeAffinity *struct {
		Required *corev1.NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	} `json:"nodeAffinity,omitempty"`
}

type containerObject struct {
	Name            string          `json:"name"`
	Image           string          `json:"image,omitempty"`
	SecurityContext *securityObject `json:"securityContext,omitempty"`
}

// securityObject leaves out what may be long, such as the text of a gMSA credential spec.
type securityObject struct {
	WindowsOptions *struct {
		HostProcess *bool `json:"hostProcess,omitempty"`
	} `json:"windowsOptions,omitempty"`
}

func (s *securityObject) forWindows() bool { return s != nil && s.WindowsOptions != nil }

func briefWorkload(object []byte) (key string, text []byte, err error) {
	var o workloadObject
	if err := json.Unmarshal(object, &o); err != nil {
		return "", nil, err
	}
	key = o.Metadata.key()
	o.Metadata.Labels, o.Metadata.Created = nil, nil
	maps.DeleteFunc(o.Metadata.Annotations, func(key, _ string) bool { return !isOurAnnotation(key) })
	template := &o.Spec.Template
	inSystem := o.Metadata.Namespace == metav1.NamespaceSystem // where the Service of cluster DNS may select by any label
	maps.DeleteFunc(template.Metadata.Labels, func(key, _ string) bool { return key != "k8s-app" && !inSystem })
	pod := &template.Spec
	if pod.Affinity != nil && (pod.Affinity.NodeAffinity == nil || pod.Affinity.NodeAffinity.Required == nil) {
		pod.Affinity = nil
	}
	if !pod.SecurityContext.forWindows() {
		pod.SecurityContext = nil
	}
	pod.InitContainers, pod.Containers = telling(pod.InitContainers), telling(pod.Containers)
	text, err = json.Marshal(o)
	return key, text, err
}

// telling are the containers that say something about where the pod belongs.
func telling(all []containerObject) (kept []containerObject) {
	for _, c := range all {
		if !c.SecurityContext.forWindows() {
			c.SecurityContext = nil
		}
		if c.SecurityContext != nil || isKubeProxy(c.Name, c.Image) {
			kept = append(kept, c)
		}
	}
	return kept
}

func workloadOf(kind string, text []byte) verdict.Workload {
	var o struct {
		Metadata briefMeta `json:"metadata"`
		Spec     struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(text, &o) // we have written it
	return verdict.Workload{
		Kind: kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Annotations: o.Metadata.Annotations,
		Template: o.Spec.Template,
	}
}

type classObject struct {
	Metadata   briefMeta          `json:"metadata"`
	Scheduling *nodev1.Scheduling `json:"scheduling,omitempty"`
}

func briefClass(object []byte) (key string, text []byte, err error) {
	var o classObject
	if err := json.Unmarshal(object, &o); err != nil {
		return "", nil, err
	}
	o.Metadata = briefMeta{Name: o.Metadata.Name}
	text, err = json.Marshal(o)
	return o.Metadata.key(), text, err
}

// services are watched for the one whose pods are cluster DNS.
const services = "services"

var dnsService = workload.Resource{
	Version: "v1", Name: services, Namespace: "kube-system", Fields: "metadata.name=kube-dns",
}

type serviceObject struct {
	Metadata briefMeta `json:"metadata"`
	Spec     struct {
		Selector map[string]string  `json:"selector"`
		Type     corev1.ServiceType `json:"type,omitempty"`
	} `json:"spec"`
}

func briefService(object []byte) (key string, text []byte, err error) {
	var o serviceObject
	if err := json.Unmarshal(object, &o); err != nil {
		return "", nil, err
	}
	o.Metadata = briefMeta{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
	text, err = json.Marshal(o)
	return o.Metadata.key(), text, err
}

// dns is the selector of the Service whose pods are cluster DNS: nil without such a Service, and empty if it selects nothing.
func (v *view) dns() map[string]string {
	texts := v.texts(services)
	if len(texts) == 0 {
		return nil
	}
	var o serviceObject
	_ = json.Unmarshal(texts[0], &o) // we have written it
	switch {
	case o.Spec.Type == corev1.ServiceTypeExternalName:
		return nil
	case o.Spec.Selector == nil:
		return map[string]string{}
	}
	return o.Spec.Selector
}
