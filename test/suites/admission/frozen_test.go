package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

const (
	configuration = "spec.kubelet.configuration"
	frozen        = "the VM was made with this config, and a change would not reach it; " +
		"create a new WindowsBootstrapConfigTemplate and use it in the MachineDeployment, which then replaces its machines"
)

// rendered is the status of a config whose user data exists.
var rendered = map[string]any{"status.initialization": map[string]any{"dataSecretCreated": true}}

// swapped replaces the only field of the configuration by another one.
var swapped = map[string]any{configuration: map[string]any{"containerLogMaxFiles": int64(5)}}

// The policy compares everything. A rule in the CRD does not see some changes of kubelet.configuration, because the schema does
// not list its fields.
func TestRenderedConfigsAreFrozen(t *testing.T) {
	const nested = configuration + ".evictionSoft"
	made := newObject("WindowsBootstrapConfig")
	set(made.Object, nested, map[string]any{"memory.available": "1Gi"})
	set(made.Object, configuration+".list", []any{"a", "b"})
	createRendered(t, made)
	for name, edits := range map[string]map[string]any{
		"another field in the place of one": {
			configuration + ".containerLogMaxSize": absent, configuration + ".containerLogMaxFiles": int64(5),
		},
		"another field in a map": {nested: map[string]any{"nodefs.available": "1Gi"}},
		"another type":           {configuration + ".containerLogMaxSize": int64(5)},
		"another value in a map": {nested: map[string]any{"memory.available": "2Gi"}},
		"a field more":           {configuration + ".containerLogMaxFiles": int64(5)},
		"a field less":           {configuration + ".list": absent},
		"another order":          {configuration + ".list": []any{"b", "a"}},
		"all of it":              {configuration: absent},
		"all of the spec":        {"spec": absent},
	} {
		t.Run(name, func(t *testing.T) {
			edited := setAll(made.DeepCopy(), edits)
			for way, err := range map[string]error{"update": update(t, edited), "patch": patch(t, made, edited)} {
				if err == nil || !strings.Contains(err.Error(), frozen) {
					t.Errorf("%s: want it refused with %q, got: %v", way, frozen, err)
				}
			}
		})
	}
	for name, edits := range map[string]map[string]any{
		"nothing":    {},
		"labels":     {"metadata.labels": map[string]any{"a": "b"}},
		"finalizers": {"metadata.finalizers": []any{"example.com/keep"}},
		"status":     {"status.dataSecretName": "another"},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Fine(t, update(t, setAll(made.DeepCopy(), edits)))
		})
	}
	err := api.Status().Update(t.Context(), setAll(made.DeepCopy(), map[string]any{"status.dataSecretName": "another"}))
	if err != nil {
		t.Errorf("the controller must be able to write the status: %v", err)
	}
	if err := api.Delete(t.Context(), made); err != nil {
		t.Errorf("the config must be deletable with its Machine: %v", err)
	}
}

// The policy refuses a change that the rule does not see, but only after the user data was rendered.
func TestThePolicySeesWhatTheRuleDoesNot(t *testing.T) {
	made := newObject("WindowsBootstrapConfig")
	expect.OK(t, api.Create(t.Context(), made))
	if err := update(t, setAll(made.DeepCopy(), swapped)); err != nil {
		t.Errorf("want it accepted before it is rendered, got: %v", err)
	}
	expect.OK(t, api.Status().Update(t.Context(),
		setAll(made, map[string]any{"status.initialization": absent, "status.dataSecretName": "a"})))
	if err := update(t, setAll(made.DeepCopy(), swapped)); err != nil {
		t.Errorf("want it accepted before it is rendered, got: %v", err)
	}
	expect.OK(t, api.Status().Update(t.Context(), setAll(made, rendered)))
	err := update(t, setAll(made.DeepCopy(), swapped))
	mustRefuse(t, err, "ValidatingAdmissionPolicy 'capwin-bootstrap-system-rendered-configs' with binding "+
		"'capwin-bootstrap-system-rendered-configs' denied request", frozen)
}

// Templates are compared by a policy as well, which sees such a change, too.
func TestTemplatesAreComparedWhole(t *testing.T) {
	template := newObject("WindowsBootstrapConfigTemplate")
	expect.OK(t, api.Create(t.Context(), template))
	mustRefuse(t, update(t, setAll(template, swapped)), "denied request", immutable)
}

func createRendered(t *testing.T, made *unstructured.Unstructured) {
	t.Helper()
	expect.OK(t, api.Create(t.Context(), made))
	expect.OK(t, api.Status().Update(t.Context(), setAll(made, rendered)))
}

func patch(t *testing.T, made, edited *unstructured.Unstructured) error {
	t.Helper()
	return api.Patch(t.Context(), edited.DeepCopy(), client.MergeFrom(made), client.DryRunAll)
}

// frozenConfigs waits until the API server enforces the policy for rendered configs.
func frozenConfigs(ctx context.Context) error {
	made := newObject("WindowsBootstrapConfig")
	if err := api.Create(ctx, made); err != nil {
		return err
	}
	if err := api.Status().Update(ctx, setAll(made, rendered)); err != nil {
		return err
	}
	setAll(made, swapped)
	err := wait.Poll(ctx, func(ctx context.Context) error {
		if err := api.Update(ctx, made.DeepCopy(), client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("the change is not found to be invalid, but: %w", err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for the policy of rendered configs: %w", err)
	}
	return nil
}
