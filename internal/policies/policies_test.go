package policies_test

import (
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The order is that of writing: no binding comes before its policy.
func TestObjects(t *testing.T) {
	var got []string
	for _, object := range append(policies.Mutating(), policies.Validating()...) {
		got = append(got, object.GetKind()+" "+object.GetName())
		if !strings.HasPrefix(object.GetName(), "capwin-") {
			t.Errorf("%s does not say whose it is", object.GetName())
		}
		expect.Same(t, "labels of "+object.GetName(), map[string]string{
			policies.Label: policies.LabelValue, "app.kubernetes.io/managed-by": "capwin",
		}, object.GetLabels())
		expect.Same(t, "version of "+object.GetName(), "admissionregistration.k8s.io/v1", object.GetAPIVersion())
	}
	expect.Same(t, "objects", []string{
		"MutatingAdmissionPolicy capwin-linux-first", "MutatingAdmissionPolicyBinding capwin-linux-first",
		"ValidatingAdmissionPolicy capwin-linux-first", "ValidatingAdmissionPolicyBinding capwin-linux-first",
		"ValidatingAdmissionPolicy capwin-dns-stays-on-linux", "ValidatingAdmissionPolicyBinding capwin-dns-stays-on-linux",
		"ValidatingAdmissionPolicy capwin-windows-pods", "ValidatingAdmissionPolicyBinding capwin-windows-pods",
	}, got)
}

// Each field is one that the API has, and no policy stops a write when it fails.
func TestFields(t *testing.T) {
	for _, object := range append(policies.Mutating(), policies.Validating()...) {
		switch object.GetKind() {
		case "MutatingAdmissionPolicy":
			policy := as[admissionv1.MutatingAdmissionPolicy](t, object)
			expect.Same(t, "failure policy", admissionv1.Ignore, *policy.Spec.FailurePolicy)
		case "ValidatingAdmissionPolicy":
			policy := as[admissionv1.ValidatingAdmissionPolicy](t, object)
			expect.Same(t, "failure policy", admissionv1.Ignore, *policy.Spec.FailurePolicy)
			for _, validation := range policy.Spec.Validations {
				checkMessage(t, policy.Name, validation.Message)
			}
		case "MutatingAdmissionPolicyBinding":
			as[admissionv1.MutatingAdmissionPolicyBinding](t, object)
		case "ValidatingAdmissionPolicyBinding":
			binding := as[admissionv1.ValidatingAdmissionPolicyBinding](t, object)
			refuses := binding.Name == "capwin-dns-stays-on-linux"
			expect.Same(t, binding.Name+" refuses", refuses, binding.Spec.ValidationActions[0] == admissionv1.Deny)
		}
	}
}

// as reads an object strictly.
func as[V any](t *testing.T, object *unstructured.Unstructured) (read V) {
	t.Helper()
	expect.OK(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &read, true))
	return read
}

// checkMessage: it is one sentence without an end, as an API server puts it behind the name of the policy.
func checkMessage(t *testing.T, policy, message string) {
	t.Helper()
	if message == "" || strings.HasSuffix(message, ".") || strings.Contains(message, "\n") {
		t.Errorf("%s says %q", policy, message)
	}
}

// The expressions name what placement calls by the same names.
func TestNamesInExpressions(t *testing.T) {
	variables, found, err := unstructured.NestedSlice(policies.Mutating()[0].Object, "spec", "variables")
	if err != nil || !found {
		t.Fatal("the policy has no variables")
	}
	var all strings.Builder
	for _, one := range variables {
		all.WriteString(one.(map[string]any)["expression"].(string))
	}
	text := all.String()
	for _, name := range []string{
		"[?'" + placement.RunsOnAnnotation + "']", "== '" + placement.RunsOnBoth + "'", "'" + metav1.NamespaceSystem + "'",
	} {
		if !strings.Contains(text, name) {
			t.Errorf("no expression has %s", name)
		}
	}
}

// What earlier versions wrote is named as they named it.
func TestLeftover(t *testing.T) {
	var all []string
	for _, o := range policies.Leftovers() {
		all = append(all, o.GetAPIVersion()+" "+o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	expect.Same(t, "leftovers", []string{
		"v1 ConfigMap kube-system/capwin-linux-first", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy /capwin-dns-on-linux",
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding /capwin-dns-on-linux",
	}, all)
}

// Who changes an object that was handed out changes no other.
func TestCopies(t *testing.T) {
	policies.Mutating()[0].SetName("other")
	expect.Same(t, "name", "capwin-linux-first", policies.Mutating()[0].GetName())
}

func TestProbes(t *testing.T) {
	answer := policies.ProbeMutating()
	expect.Same(t, "mutated before", false, policies.IsMutated(answer))
	answer.Data["mutated"] = "yes"
	expect.Same(t, "mutated after", true, policies.IsMutated(answer))
	expect.Same(t, "mutated if it is empty", false, policies.IsMutated(&corev1.ConfigMap{}))

	const denied = "configmaps \"capwin-probe-refused\" is forbidden: ValidatingAdmissionPolicy 'capwin-dns-stays-on-linux' with " +
		"binding 'capwin-dns-stays-on-linux' denied request: this object is never made"
	resource := schema.GroupResource{Resource: "configmaps"}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"none", nil, false},
		{"ours", apierrors.NewForbidden(resource, policies.ProbeValidating().Name, errors.New(denied)), true},
		{"another policy's", apierrors.NewForbidden(resource, "capwin-probe-refused",
			errors.New("ValidatingAdmissionPolicy 'other' with binding 'other' denied request: no")), false},
		{"ours, by the default reason", apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, policies.ProbeValidating().Name,
			field.ErrorList{field.Forbidden(nil, denied)}), true},
		{"no right", apierrors.NewForbidden(resource, "capwin-probe-refused", errors.New("User \"x\" cannot create")), false},
		{"a word of ours from elsewhere", errors.New(denied), false},
	} {
		expect.Same(t, c.name, c.want, policies.IsRefusal(c.err))
	}
}
