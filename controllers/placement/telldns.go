package placement

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

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
