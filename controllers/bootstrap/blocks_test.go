package bootstrap

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// poolOf is a pool of Calico, as an API server has it.
func poolOf(version string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version, "kind": "IPPool", "metadata": map[string]any{"name": "default-ipv4-ippool"}, "spec": spec,
	}}
}

// TestBlocksAreCompared: the machine is made, and its config warns of more pods than Calico has addresses for, with the figures
// of the cluster's pools where it has some. Who may not look is told of Calico's default.
func TestBlocksAreCompared(t *testing.T) {
	const crd, api = "crd.projectcalico.org/v1", "projectcalico.org/v3"
	const known, byDefault = "has 60 for pods in the pool default-ipv4-ippool with blockSize 26", "with the default blockSize of 26"
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "ippools"}, "")
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "ippools"}, "", errors.New("no right"))
	away := apierrors.NewServiceUnavailable("Calico's API server is away")
	for name, c := range map[string]struct {
		pool  *unstructured.Unstructured
		pods  int32
		fails map[string]error
		says  string // nothing when empty
	}{
		"none":        {nil, 0, map[string]error{crd: missing, api: missing}, byDefault},
		"few pods":    {nil, 60, map[string]error{crd: missing, api: missing}, ""},
		"too small":   {poolOf(crd, map[string]any{"cidr": "10.244.0.0/16", "blockSize": int64(26)}), 0, nil, known},
		"large":       {poolOf(crd, map[string]any{"cidr": "10.244.0.0/16", "blockSize": int64(25)}), 0, nil, ""},
		"without CRD": {poolOf(api, map[string]any{"cidr": "10.244.0.0/16"}), 0, map[string]error{crd: missing}, known},
		"no sense":    {poolOf(crd, map[string]any{"cidr": "10.244.0.0/16", "blockSize": "many"}), 0, nil, byDefault},
		"not allowed": {
			poolOf(crd, map[string]any{"cidr": "10.244.0.0/16"}), 0, map[string]error{crd: refusal, api: refusal}, byDefault,
		},
		"API away":    {nil, 0, map[string]error{crd: missing, api: away}, byDefault},
		"cannot look": {poolOf(crd, map[string]any{"cidr": "10.244.0.0/16"}), 0, map[string]error{crd: errRoom}, known},
	} {
		r := newRoom(t, func(r *room) {
			r.config.Spec.Network = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico}
			r.config.Spec.Kubelet.MaxPods = c.pods
		})
		if c.pool != nil {
			expect.OK(t, r.workload.Create(t.Context(), c.pool))
		}
		r.fail = func(call string) error { return c.fails[strings.TrimPrefix(call, "workload list IPPoolList of ")] }
		_, err := r.look(t)
		if errors.Is(c.fails[crd], errRoom) {
			expect.Says(t, name, err, "list Calico's pools: boom")
			r.fail = nil
		}
		r.made(t)
		message := conditions.GetMessage(r.now(t), bootstrapv1.HasWarningsCondition)
		told := strings.Contains(message, "Calico gives a Windows node one block of addresses")
		expect.Same(t, name, c.says != "", told)
		if !strings.Contains(message, c.says) {
			t.Errorf("%s: %s, want %q", name, message, c.says)
		}
	}
	r := newRoom(t, withFlannel)
	r.made(t)
	looks := slices.ContainsFunc(r.calls, func(call string) bool { return strings.Contains(call, "IPPoolList") })
	expect.Same(t, "looks of another CNI", false, looks)
}
