package linux_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// checks are what the server counts of policies. Of validating ones it counts what is denied and warned of, and as allow what is
// allowed because an expression failed (kubernetes v1.30.14 and v1.36.3, plugin/policy/validating/dispatcher.go).
var (
	checks     = regexp.MustCompile(`(?m)^apiserver_(mutating|validating)_admission_policy_check_total\{(.*)\} ([0-9]+)$`)
	conditions = regexp.MustCompile(`(?m)^apiserver_admission_match_condition_evaluation_errors_total\{.*\} ([0-9]+)$`)
	ofPolicy   = regexp.MustCompile(`policy="([^"]*)"`)
)

// errors reads from the server how many evaluations of each policy failed, and how many it has counted.
func (p *policed) errors() (failed, counted map[string]int) {
	p.Helper()
	failed, counted = map[string]int{}, map[string]int{}
	metrics := p.run("", "get", "--raw", "/metrics")
	for _, found := range checks.FindAllStringSubmatch(metrics, -1) {
		n, kind := expect.Got(strconv.Atoi(found[3]))(p), found[1]
		counted[kind] += n
		if kind == "mutating" && !strings.Contains(found[2], `error_type="no_error"`) ||
			kind == "validating" && strings.Contains(found[2], `enforcement_action="allow"`) {
			failed[kind+" "+ofPolicy.FindStringSubmatch(found[2])[1]] += n
		}
	}
	for _, found := range conditions.FindAllString(metrics, -1) {
		failed[found]++
	}
	return failed, counted
}

// noErrors: of all that was asked so far, no expression failed, but those of two policies that must: the server counts.
func (p *policed) noErrors() {
	p.Helper()
	want := map[string]int{"validating broken": 1}
	validating := policies.Validating()[:2]
	validations := []any{map[string]any{"expression": "object.spec.template.spec.nothing == 'x'"}}
	expect.OK(p, unstructured.SetNestedSlice(validating[0].Object, validations, "spec", "validations"))
	p.broken(validating)
	if p.mutates {
		want["mutating broken"] = 1
		mutating := policies.Mutating()
		mutations := []any{map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{
			"expression": "[JSONPatch{op: 'add', path: '/spec', value: object.spec.template.spec.nothing}]",
		}}}
		expect.OK(p, unstructured.SetNestedSlice(mutating[0].Object, mutations, "spec", "mutations"))
		p.broken(mutating)
	}
	wait.Eventually(p, "errors of the broken policies", func(ctx context.Context) error {
		p.try(ctx, workload("DaemonSet", agents, "broken", corev1.PodSpec{}))
		failed, counted := p.errors()
		for name := range want {
			if failed[name] == 0 {
				return fmt.Errorf("the server has counted %v, failed %v", counted, failed)
			}
			delete(failed, name)
		}
		if len(failed) > 0 {
			return wait.Final(fmt.Errorf("expressions failed: %v", failed))
		}
		p.Logf("the server has counted %v, and 0 errors but those of the policies that must fail", counted)
		return nil
	})
}

// broken writes policy and binding under another name.
func (p *policed) broken(objects []*unstructured.Unstructured) {
	p.Helper()
	for _, object := range objects {
		object.SetName("broken")
		unstructured.RemoveNestedField(object.Object, "spec", "variables")
		if strings.HasSuffix(object.GetKind(), "Binding") {
			expect.OK(p, unstructured.SetNestedField(object.Object, "broken", "spec", "policyName"))
		}
		p.write(object)
	}
}
