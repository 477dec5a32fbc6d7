package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // because users' files have it
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/controller-runtime/pkg/log"
	webhookadmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"
)

// webhooks are what an API server asks Cluster API about an object of one of its kinds, in whatever version it is written. The
// conversions and the webhooks are Cluster API's own code (cluster-api v1.14.2, core/webhooks/admission), with its feature gates
// as they are without flags. What they refuse is in our words: clusterapi.go. Those of Cluster and ClusterClass need a cluster
// for topologies: clusterapi.go has what else the one refuses, and cmd/clusterctl-windows/topology asks both.
type webhooks interface {
	// fill sets what the mutating webhook sets, and keeps the version.
	fill(version string, data []byte) (map[string]any, error)
	// admit converts the object to the version that Cluster API works with, and has the validating webhook look at it.
	admit(version string, data []byte) (converted []byte, refused field.ErrorList, err error)
}

// webhooksByKind are the kinds with webhooks whose answer needs nothing but the object.
var webhooksByKind = map[string]webhooks{
	"Cluster": kindWebhooks[clusterv1.Cluster, clusterv1beta1.Cluster]{
		conversion.ConvertClusterV1Beta1ToHub, conversion.ConvertClusterHubToV1Beta1, nil, refuseCluster,
	},
	"ClusterClass": kindWebhooks[clusterv1.ClusterClass, clusterv1beta1.ClusterClass]{
		conversion.ConvertClusterClassV1Beta1ToHub, conversion.ConvertClusterClassHubToV1Beta1, nil, nil,
	},
	"Machine": kindWebhooks[clusterv1.Machine, clusterv1beta1.Machine]{
		conversion.ConvertMachineV1Beta1ToHub, conversion.ConvertMachineHubToV1Beta1, &admission.Machine{}, nil,
	},
	"MachineSet": kindWebhooks[clusterv1.MachineSet, clusterv1beta1.MachineSet]{
		conversion.ConvertMachineSetV1Beta1ToHub, conversion.ConvertMachineSetHubToV1Beta1, &admission.MachineSet{},
		func(m *clusterv1.MachineSet) field.ErrorList { return refuseNaming(&m.Spec.MachineNaming) },
	},
	"MachineDeployment": kindWebhooks[clusterv1.MachineDeployment, clusterv1beta1.MachineDeployment]{
		conversion.ConvertMachineDeploymentV1Beta1ToHub, conversion.ConvertMachineDeploymentHubToV1Beta1,
		&admission.MachineDeployment{},
		func(m *clusterv1.MachineDeployment) field.ErrorList { return refuseNaming(&m.Spec.MachineNaming) },
	},
	"MachinePool": kindWebhooks[clusterv1.MachinePool, clusterv1beta1.MachinePool]{
		conversion.ConvertMachinePoolV1Beta1ToHub, conversion.ConvertMachinePoolHubToV1Beta1, &admission.MachinePool{}, nil,
	},
	"MachineHealthCheck": kindWebhooks[clusterv1.MachineHealthCheck, clusterv1beta1.MachineHealthCheck]{
		conversion.ConvertMachineHealthCheckV1Beta1ToHub, conversion.ConvertMachineHealthCheckHubToV1Beta1,
		&admission.MachineHealthCheck{}, nil,
	},
}

// serveOldReferences has Cluster API write references in v1beta1, for which it asks which version of a kind is served. They are
// only looked at by the schema, for which any version will do.
var serveOldReferences = sync.OnceFunc(func() {
	conversion.SetAPIVersionGetter(func(_ context.Context, kind schema.GroupKind) (string, error) {
		return schema.GroupVersion{Group: kind.Group, Version: clusterv1beta1.GroupVersion.Version}.String(), nil
	})
})

// webhooksOf returns the webhooks of an object's kind, or nil.
func webhooksOf(object Object) webhooks {
	serveOldReferences()
	if object.Version == clusterv1.GroupVersion || object.Version == clusterv1beta1.GroupVersion {
		return webhooksByKind[object.Kind]
	}
	return nil
}

// kindWebhooks are the webhooks of a kind that has a hub, which Cluster API works with, and an older version.
type kindWebhooks[Hub, Old any] struct {
	convert func(context.Context, *Old, *Hub) error
	down    func(context.Context, *Hub, *Old) error
	// hook sets the defaults and refuses; nil for the kinds about which it asks a cluster.
	hook webhook[*Hub]
	// refuse has what the hook is not asked about, and may take that away from the object.
	refuse func(*Hub) field.ErrorList
}

// webhook is one of Cluster API, for a kind about which it asks no cluster.
type webhook[T any] interface {
	Default(ctx context.Context, object T) error
	ValidateCreate(ctx context.Context, object T) (webhookadmission.Warnings, error)
}

// creation is what the webhooks are asked with. Their log is for operators of a manager.
var creation = webhookadmission.NewContextWithRequest(log.IntoContext(context.Background(), logr.Discard()),
	webhookadmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}})

var unreadAnnotation = regexp.MustCompile(`could not parse the value of the "([^"]+)" annotation`)

func (h kindWebhooks[Hub, Old]) fill(version string, data []byte) (map[string]any, error) {
	hub, err := h.read(version, data)
	if err != nil {
		return nil, err
	}
	if h.hook != nil {
		if err := h.hook.Default(creation, hub); err != nil {
			if annotation := unreadAnnotation.FindStringSubmatch(err.Error()); annotation != nil {
				err = fmt.Errorf("the annotation %s must be a whole number", annotation[1])
			}
			return nil, err
		}
	}
	if version == clusterv1.GroupVersion.Version {
		return contentOf(hub)
	}
	old := new(Old)
	if err := h.down(context.Background(), hub, old); err != nil {
		return nil, err
	}
	return contentOf(old)
}

func (h kindWebhooks[Hub, Old]) admit(version string, data []byte) (converted []byte, refused field.ErrorList, err error) {
	hub, err := h.read(version, data)
	if err != nil {
		return nil, nil, err
	}
	converted, err = json.Marshal(hub)
	if h.refuse != nil {
		refused = h.refuse(hub)
	}
	if h.hook != nil {
		_, invalid := h.hook.ValidateCreate(creation, hub)
		refused = append(refused, refusals(invalid)...)
	}
	return converted, refused, err
}

// read decodes an object of either version as the hub. The conversions that are generated drop references; these keep them.
func (h kindWebhooks[Hub, Old]) read(version string, data []byte) (*Hub, error) {
	hub := new(Hub)
	if version == clusterv1.GroupVersion.Version {
		return hub, kjson.UnmarshalCaseSensitivePreserveInts(data, hub)
	}
	old := new(Old)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, old); err != nil {
		return nil, err
	}
	return hub, h.convert(context.Background(), old, hub)
}

// contentOf is an object as it is before it has a status.
func contentOf(object any) (map[string]any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content); err != nil {
		return nil, err
	}
	delete(content, "status")
	return content, nil
}

// explainUnreadable explains why the webhooks cannot read an object that its schema accepts.
func explainUnreadable(object Object, err error) error {
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
		return explain(object, err)
	}
	return fmt.Errorf("%s: Cluster API cannot read it: %w", object, err)
}

// explainRefusal puts what a webhook refuses into our words, one sentence for each field.
func (k *kindRules) explainRefusal(object Object, content map[string]any, refused field.ErrorList) error {
	ofName := func(refusal *field.Error) bool { return refusal.Field == "metadata.name" }
	if slices.ContainsFunc(refused, ofName) { // what else is wrong follows from the name
		refused = slices.DeleteFunc(slices.Clone(refused), func(refusal *field.Error) bool { return !ofName(refusal) })
	}
	lines := sentences{object: object}
	for _, refusal := range refused {
		lines.add(refusal.Field, func() string { return k.words(refusal, content) })
	}
	return lines.err(content)
}

// scaled are the kinds whose replicas an API server checks by itself, because they have the subresource scale.
var scaled = map[schema.GroupKind]bool{
	{Group: clusterv1.GroupVersion.Group, Kind: "MachineSet"}:             true,
	{Group: clusterv1.GroupVersion.Group, Kind: "MachineDeployment"}:      true,
	{Group: clusterv1.GroupVersion.Group, Kind: "MachinePool"}:            true,
	{Group: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane"}: true,
}

// checkScale refuses what no number of replicas can be, in the words of an API server.
func checkScale(object Object, content map[string]any) field.ErrorList {
	spec, _ := content["spec"].(map[string]any)
	replicas, isNumber := spec["replicas"].(int64)
	if !isNumber || replicas >= 0 || !scaled[object.Version.WithKind(object.Kind).GroupKind()] {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), replicas, "should be a non-negative integer")}
}
