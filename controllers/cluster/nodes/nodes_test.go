package nodes

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var (
	start     = time.Unix(1_800_000_000, 0)
	errMayNot = apierrors.NewForbidden(schema.GroupResource{Resource: "clusterroles"}, "x", errors.New("no right"))
)

// TestUnneeded: a role is revoked ten minutes after nobody was seen to need it, no earlier.
func TestUnneeded(t *testing.T) {
	type next struct {
		revoke   bool
		again    time.Duration
		remember time.Time
	}
	long, almost := start.Add(-revokeAfter), start.Add(1-revokeAfter)
	for name, c := range map[string]struct {
		since time.Time
		want  next
	}{
		"since now":   {time.Time{}, next{false, retryDelay, start}},
		"for a while": {almost, next{false, retryDelay, almost}},
		"for long":    {long, next{true, Recheck, time.Time{}}},
	} {
		revoke, again, remember := Unneeded(c.since, start)
		if got := (next{revoke, again, remember}); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// TestNeededBy: a role is needed where a spec has its program run as a service.
func TestNeededBy(t *testing.T) {
	flannel := bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNIFlannel}
	external := flannel
	external.Flannel.Run = bootstrapv1.FlannelExternal
	none := external
	none.KubeProxy.Run = bootstrapv1.KubeProxyNone
	for name, c := range map[string]struct {
		network bootstrapv1.Network
		want    []Role
	}{
		"Flannel":               {flannel, []Role{KubeProxy, Flannel}},
		"Flannel of the user's": {external, []Role{KubeProxy}},
		"AzureCNI":              {bootstrapv1.Network{Mode: bootstrapv1.NetworkL2Bridge, CNI: bootstrapv1.CNIAzure}, []Role{KubeProxy}},
		"Calico":                {bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico}, []Role{}},
		"all of the user's":     {none, []Role{}},
		"no network":            {bootstrapv1.Network{}, []Role{}},
	} {
		expect.Same(t, name, c.want, NeededBy(bootstrapv1.WindowsBootstrapConfigSpec{Network: c.network}))
	}
}

// TestRoles: the file has both objects of each role, the role first, with our label, and nothing that Kubernetes does not know.
func TestRoles(t *testing.T) {
	expect.Same(t, "objects", 2*len(Roles()), len(objects))
	for _, role := range Roles() {
		all := role.Objects()
		var granted rbacv1.ClusterRole
		var binding rbacv1.ClusterRoleBinding
		strict := runtime.DefaultUnstructuredConverter
		expect.OK(t, strict.FromUnstructuredWithValidation(all[0].Object, &granted, true))
		expect.OK(t, strict.FromUnstructuredWithValidation(all[1].Object, &binding, true))
		expect.Same(t, "label", []string{keep.Mark, keep.Mark}, []string{granted.Labels[keep.Label], binding.Labels[keep.Label]})
		expect.Same(t, "bound role", string(role), binding.RoleRef.Name)
		expect.Same(t, "to nodes alone", "system:nodes 1", fmt.Sprint(binding.Subjects[0].Name, " ", len(binding.Subjects)))
		expect.Same(t, "a label of Nodes", true, role.Label() != "")
	}
}

// TestAnswer: what was given is believed for ten minutes, a refusal for a moment, and what may end by itself not at all.
func TestAnswer(t *testing.T) {
	const cannot = "nodes cannot get the ClusterRole capwin-flannel in the workload cluster: "
	for name, c := range map[string]struct {
		err    error
		says   string
		serves time.Duration
	}{
		"given": {nil, "", Recheck},
		"forbidden": {
			errMayNot, cannot + "the Cluster's kubeconfig may not do that (clusterroles \"x\" is forbidden: no right); let it, or apply " +
				"the two objects yourself", retryRefused,
		},
		"turned down": {
			apierrors.NewBadRequest("rule 7"), cannot + "a rule of the workload cluster does not allow what is written there (rule 7); " +
				"exempt that from its admission policies, or apply the two objects yourself", retryRefused,
		},
		"foreign": {
			&keep.ForeignError{Object: "ClusterRole capwin-flannel"},
			cannot + "ClusterRole capwin-flannel exists, has other content and no label " +
				"app.kubernetes.io/managed-by=capwin; rename or remove it", retryRefused,
		},
		"no answer":   {errors.New("no answer"), "give nodes the ClusterRole capwin-flannel: no answer", 0},
		"not known":   {apierrors.NewNotFound(schema.GroupResource{}, "x"), "give nodes the ClusterRole capwin-flannel: ", 0},
		"a conflict":  {apierrors.NewConflict(schema.GroupResource{}, "x", nil), "give nodes the ClusterRole capwin-flannel: ", 0},
		"many asking": {apierrors.NewTooManyRequests("slow", 1), "give nodes the ClusterRole capwin-flannel: slow", 0},
	} {
		serves, answer := Answer(Flannel, c.err)
		expect.Same(t, name+": serves", c.serves, serves)
		expect.Same(t, name+": an error", c.says != "", answer != nil)
		if c.says != "" {
			expect.Says(t, name, answer, c.says)
		}
		_, refused := errors.AsType[*RefusedError](answer)
		expect.Same(t, name+": is a refusal", c.serves == retryRefused, refused)
	}
}

// TestKept: a role that no node needs and that cannot be taken away is another sentence.
func TestKept(t *testing.T) {
	expect.Says(t, "kept", Refusal(KubeProxy, true, errMayNot), "nodes keep the ClusterRole capwin-kube-proxy in the workload "+
		"cluster, which none of them needs: the Cluster's kubeconfig may not do that (clusterroles \"x\" is forbidden: no right); let "+
		"it, or remove the two objects yourself")
	expect.Same(t, "an error that may end", nil, Refusal(KubeProxy, true, errors.New("no answer")), cmpopts.EquateErrors())
	expect.Same(t, "no error", nil, Refusal(KubeProxy, true, nil), cmpopts.EquateErrors())
	long := Refusal(KubeProxy, false, apierrors.NewBadRequest(strings.Repeat("y", 1000))).Error()
	expect.Same(t, "letters of the server's", maxCause-3, strings.Count(long, "y")-strings.Count(Refusal(KubeProxy, false,
		apierrors.NewBadRequest("")).Error(), "y"))
}
