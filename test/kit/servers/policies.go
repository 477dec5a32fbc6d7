package servers

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ourAccount is the condition of the policies that are about the account of a component's manager.
const ourAccount = "our-account"

// operations are what admission sees of a verb. It sees no reads.
var operations = map[string]admissionv1.OperationType{
	"create": admissionv1.Create, "update": admissionv1.Update, "patch": admissionv1.Update, "delete": admissionv1.Delete,
}

// addPolicies notes for each permission of a component which of its policies bound it.
func (a *Audit) addPolicies(c ownComponent) error {
	for _, object := range c.objects {
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &policy); err != nil {
			return fmt.Errorf("read policy %s: %w", object.GetName(), err)
		}
		about := func(condition admissionv1.MatchCondition) bool { return condition.Name == ourAccount }
		if !slices.ContainsFunc(policy.Spec.MatchConditions, about) {
			continue
		}
		for _, p := range a.Granted {
			if p.Component == c.name && bounds(policy.Spec.MatchConstraints.ResourceRules, p) {
				a.Policies[p] = append(a.Policies[p], strings.TrimPrefix(policy.Name, c.deployment.GetNamespace()+"-"))
			}
		}
	}
	return nil
}

// bounds says whether a rule matches what the permission gives. Events have two groups, which are one to a policy.
func bounds(rules []admissionv1.NamedRuleWithOperations, p Permission) bool {
	if p.Group == "" && p.Resource == "events" {
		p.Group = eventsv1.GroupName
	}
	return slices.ContainsFunc(rules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, p.Group) && slices.Contains(rule.Resources, p.Resource) &&
			slices.Contains(rule.Operations, operations[p.Verb])
	})
}
