package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster"
	rights "github.com/capwin/cluster-api-provider-windows/controllers/cluster/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

const managedBy = "app.kubernetes.io/managed-by"

// secretsRules are what no Role of ours has.
var secretsRules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}

// guestRights are the rights of guests at an API server. Its writes are noted, and somebody else may be faster.
type guestRights struct {
	client.Client
	keeper   *rightsKeeper
	now      time.Time
	reads    int // of one look, as are writes
	writes   []string
	overtake map[string]func() // by the write before which it is called once
}

// testForeignGuestRights has each object of guests' rights made, edited and labelled by others: what is not ours stays as it is.
func testForeignGuestRights(t *testing.T, w *Workload) {
	g := &guestRights{Client: guestsManager(t, w), now: time.Now(), overtake: map[string]func(){}}
	g.keeper = newRightsKeeper(t, g, func() time.Time { return g.now })
	// Else it revokes meanwhile the rights that nodes got before.
	g.keeper.Keeps = func() []cluster.Keep { return []cluster.Keep{&cluster.GuestRights{}} }
	t.Run("objects of earlier releases get our label", g.takesOverItsOwn)
	t.Run("what was edited is restored", g.restores)
	t.Run("what is made anew in between is not written", g.isTooLate)
	t.Run("what was given to us is written", g.isGiven)
	t.Run("a foreign policy lets no guest write", g.closesForPolicy)
	for _, o := range []client.Object{
		g.policy(t), g.role(t), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: g.policy(t).Name}},
	} {
		expect.OK(t, g.Client.Delete(t.Context(), o))
	}
}

// takesOverItsOwn begins with objects that were applied, as releases did that wrote no label.
func (g *guestRights) takesOverItsOwn(t *testing.T) {
	manifest := string(expect.Got(os.ReadFile("../../../controllers/cluster/guests/guests.yaml"))(t))
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		o := &unstructured.Unstructured{}
		expect.OK(t, yaml.Unmarshal([]byte(text), &o.Object))
		o.SetLabels(nil)
		apply := client.ApplyConfigurationFromUnstructured(o)
		expect.OK(t, g.Client.Apply(t.Context(), apply, client.ForceOwnership, client.FieldOwner("capwin")))
	}
	g.policy(t)
	expect.Same(t, "they settle", true, errors.Is(g.look(t), keep.ErrSettling))
	expect.Same(t, "written", []string{"update Role", "update ValidatingAdmissionPolicy", "update ValidatingAdmissionPolicyBinding"},
		g.writes)
	g.opens(t)
	expect.Same(t, "label of the Role", "capwin", g.role(t).Labels[managedBy])
	g.stays(t)
}

// stays looks once more, and nothing is written.
func (g *guestRights) stays(t *testing.T) {
	t.Helper()
	before := g.policy(t).ResourceVersion + " " + g.role(t).ResourceVersion
	expect.OK(t, g.look(t))
	expect.Same(t, "objects read", 5, g.reads)
	expect.Same(t, "written", 0, len(g.writes))
	expect.Same(t, "versions", before, g.policy(t).ResourceVersion+" "+g.role(t).ResourceVersion)
}

func (g *guestRights) restores(t *testing.T) {
	wanted := g.policy(t).Spec
	g.edits(t, g.secretsRole(t, nil))
	policy := g.policy(t)
	policy.Spec.MatchConditions = append(policy.Spec.MatchConditions, admissionv1.MatchCondition{Name: "never", Expression: "false"})
	g.edits(t, policy)
	g.policy(t)
	_ = g.look(t)
	expect.Same(t, "written", []string{"update Role", "update ValidatingAdmissionPolicy"}, g.writes)
	expect.Same(t, "the policy", wanted, g.policy(t).Spec)
	expect.Same(t, "what guests may do", []string{"update"}, g.role(t).Rules[0].Verbs)
	g.opens(t)
	g.stays(t)
}

// isTooLate: a Role that somebody puts in the place of ours between look and write, or of one that is missing.
func (g *guestRights) isTooLate(t *testing.T) {
	foreign := func() *rbacv1.Role {
		made := &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.GuestNamespace, Name: "capwin-guest"},
			Rules:      secretsRules,
		}
		expect.OK(t, g.Client.Create(t.Context(), made, client.FieldOwner("kubectl")))
		return made
	}
	g.edits(t, g.secretsRole(t, nil))
	for _, write := range []string{"update Role", "create Role"} {
		var made *rbacv1.Role
		if write == "create Role" {
			expect.OK(t, g.Client.Delete(t.Context(), g.role(t)))
		}
		g.overtake[write] = func() {
			if write == "update Role" {
				expect.OK(t, g.Client.Delete(t.Context(), g.role(t)))
			}
			made = foreign()
		}
		expect.Same(t, "the answer after "+write, true, errors.Is(g.look(t), keep.ErrSettling))
		expect.Same(t, "tried", []string{write}, g.writes)
		g.isTaken(t, "Role capwin-guests/capwin-guest")
		expect.Same(t, "the Role after "+write, made, g.role(t))
	}
	bindings := &rbacv1.RoleBindingList{}
	expect.OK(t, g.List(t.Context(), bindings, client.InNamespace(bootstrap.GuestNamespace)))
	expect.Same(t, "RoleBindings beside a foreign Role", 0, len(bindings.Items))
}

func (g *guestRights) isGiven(t *testing.T) {
	g.edits(t, g.secretsRole(t, map[string]string{managedBy: "capwin"}))
	_ = g.look(t)
	expect.Same(t, "written", []string{"update Role"}, g.writes)
	g.opens(t)
	g.stays(t)
}

func (g *guestRights) closesForPolicy(t *testing.T) {
	policy := g.policy(t)
	policy.Labels[managedBy], policy.Spec.Validations = "platform-team", policy.Spec.Validations[:1]
	g.edits(t, policy)
	g.policy(t)
	g.isTaken(t, "ValidatingAdmissionPolicy capwin-guests")
	expect.Same(t, "written", []string{"delete RoleBinding"}, g.writes)
	expect.Same(t, "the policy", policy.Spec, g.policy(t).Spec)
}

func (g *guestRights) isTaken(t *testing.T, name string) {
	t.Helper()
	mute, _ := errors.AsType[*rights.MuteError](g.look(t))
	if mute == nil || !mute.NameTaken ||
		!strings.HasPrefix(mute.Why, name+" in the workload cluster of Cluster default/prod is not capwin's") {
		t.Errorf("the answer is %+v", mute)
	}
}

// look looks ten minutes after the last time, and returns what a config is answered that asks.
func (g *guestRights) look(t *testing.T) error {
	t.Helper()
	g.now, g.reads, g.writes = g.now.Add(10*time.Minute), 0, nil
	return g.keeper.ask(t, rights.Name)
}

// opens looks until the policy is served and guests may write.
func (g *guestRights) opens(t *testing.T) {
	t.Helper()
	wait.Eventually(t, "the rights of guests", func(context.Context) error { return g.look(t) })
}

// edits writes as a person does.
func (g *guestRights) edits(t *testing.T, o client.Object) {
	t.Helper()
	expect.OK(t, g.Client.Update(t.Context(), o, client.FieldOwner("kubectl-edit")))
}

func (g *guestRights) role(t *testing.T) *rbacv1.Role {
	t.Helper()
	role := &rbacv1.Role{}
	expect.OK(t, g.Client.Get(t.Context(), client.ObjectKey{Namespace: bootstrap.GuestNamespace, Name: "capwin-guest"}, role))
	return role
}

// secretsRole is the Role that is there, with rules of others, and with labels if there are any.
func (g *guestRights) secretsRole(t *testing.T, labels map[string]string) *rbacv1.Role {
	t.Helper()
	role := g.role(t)
	role.Rules = secretsRules
	if labels != nil {
		role.Labels = labels
	}
	return role
}

// policy is the one that is there. Its status must not be written between a look and a write: kube-controller-manager does that
// after each change (kubernetes v1.36.3, pkg/controller/validatingadmissionpolicystatus).
func (g *guestRights) policy(t *testing.T) *admissionv1.ValidatingAdmissionPolicy {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	wait.Eventually(t, "the status of the policy", func(ctx context.Context) error {
		err := g.Client.Get(ctx, client.ObjectKey{Name: "capwin-guests"}, policy)
		if err == nil && policy.Status.ObservedGeneration != policy.Generation {
			err = fmt.Errorf("it is that of generation %d of %d", policy.Status.ObservedGeneration, policy.Generation)
		}
		return err
	})
	return policy
}

func (g *guestRights) note(verb, kind string) {
	call := verb + " " + kind
	g.writes = append(g.writes, call)
	if overtake := g.overtake[call]; overtake != nil {
		delete(g.overtake, call)
		overtake()
	}
}

func kindOf(o client.Object) string { return o.GetObjectKind().GroupVersionKind().Kind }

// Get implements client.Client.
func (g *guestRights) Get(ctx context.Context, key client.ObjectKey, o client.Object, with ...client.GetOption) error {
	g.reads++
	return g.Client.Get(ctx, key, o, with...)
}

// Create implements client.Client. The probe is a dry run.
func (g *guestRights) Create(ctx context.Context, o client.Object, with ...client.CreateOption) error {
	if o.GetName() != "probe" {
		g.note("create", kindOf(o))
	}
	return g.Client.Create(ctx, o, with...)
}

// Update implements client.Client.
func (g *guestRights) Update(ctx context.Context, o client.Object, with ...client.UpdateOption) error {
	g.note("update", kindOf(o))
	return g.Client.Update(ctx, o, with...)
}

// Delete implements client.Client.
func (g *guestRights) Delete(ctx context.Context, o client.Object, with ...client.DeleteOption) error {
	g.note("delete", kindOf(o))
	return g.Client.Delete(ctx, o, with...)
}

// Apply implements client.Client.
func (g *guestRights) Apply(ctx context.Context, o runtime.ApplyConfiguration, with ...client.ApplyOption) error {
	object, _ := o.(interface{ GetKind() string })
	g.note("apply", object.GetKind())
	return g.Client.Apply(ctx, o, with...)
}
