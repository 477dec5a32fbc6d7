package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	recheck, revokeAfter = 10 * time.Minute, 10 * time.Minute
	kubeProxy            = string(nodes.KubeProxy)
)

// TestBoundWhereNeeded: a role is there where a config has its daemon run as a service, and nowhere else.
func TestBoundWhereNeeded(t *testing.T) {
	external := flannel
	external.Flannel.Run = bootstrapv1.FlannelExternal
	none := flannel
	none.Flannel.Run, none.KubeProxy.Run = bootstrapv1.FlannelExternal, bootstrapv1.KubeProxyNone
	elsewhere := config("c", flannel)
	elsewhere.Labels[clusterv1.ClusterNameLabel] = "dev"
	for name, c := range map[string]struct {
		config *bootstrapv1.WindowsBootstrapConfig
		want   []string
	}{
		"Flannel":               {config("c", flannel), allRights},
		"Flannel of the user's": {config("c", external), kubeProxies},
		"AzureCNI":              {config("c", azureCNI), kubeProxies},
		"Calico":                {config("c", calico), nothing},
		"all of the user's":     {config("c", none), nothing},
		"no network":            {config("c", bootstrapv1.Network{}), nothing},
		"another Cluster's":     {elsewhere, nothing},
	} {
		s := newStage(t, c.config)
		s.after(t, 0)
		expect.Same(t, name, c.want, s.there(t))
	}
}

// TestUnbound: a role goes ten minutes after the last config and the last Node that need it, no earlier, also in a new process.
func TestUnbound(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(*testing.T, *stage)
		want  []string
	}{
		"configs and Nodes are there": {func(*testing.T, *stage) {}, allRights},
		"configs gone, Nodes there": {func(t *testing.T, s *stage) {
			expect.OK(t, s.management.Delete(t.Context(), config("c", flannel)))
		}, allRights},
		"configs gone, one label there": {func(t *testing.T, s *stage) {
			expect.OK(t, s.management.Delete(t.Context(), config("c", flannel)))
			expect.OK(t, s.workload.Update(t.Context(), node(bootstrap.LabelKubeProxy)))
		}, kubeProxies},
		"Nodes gone, configs there": {func(t *testing.T, s *stage) {
			expect.OK(t, s.workload.Delete(t.Context(), node("x")))
		}, allRights},
		"configs turn to Calico, Nodes gone": {func(t *testing.T, s *stage) {
			expect.OK(t, s.management.Delete(t.Context(), config("c", flannel)))
			expect.OK(t, s.management.Create(t.Context(), config("other", calico)))
			expect.OK(t, s.workload.Delete(t.Context(), node("x")))
		}, nothing},
		"both gone": {func(t *testing.T, s *stage) {
			expect.OK(t, s.management.Delete(t.Context(), config("c", flannel)))
			expect.OK(t, s.workload.Delete(t.Context(), node("x")))
		}, nothing},
	} {
		for _, restarted := range []bool{false, true} {
			s := newStage(t, config("c", flannel))
			joined := node(bootstrap.LabelFlannel)
			joined.Labels[bootstrap.LabelKubeProxy] = bootstrap.LabelService
			expect.OK(t, s.workload.Create(t.Context(), joined))
			s.after(t, 0)
			s.during(t, recheck)
			c.begin(t, s)
			if restarted {
				s.restart()
			}
			s.during(t, revokeAfter-retryDelay)
			expect.Same(t, name+", a moment before", allRights, s.there(t))
			s.during(t, recheck+2*retryDelay)
			expect.Same(t, name, c.want, s.there(t))
			s.restart()
			s.during(t, 3*recheck)
			expect.Same(t, name+", later", c.want, s.there(t))
		}
	}
}

// TestNeededAgain: the ten minutes begin anew when something needed the role meanwhile, and a Node is asked for, not remembered.
func TestNeededAgain(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	s.after(t, 0)
	expect.OK(t, s.management.Delete(t.Context(), config("c", azureCNI)))
	s.during(t, revokeAfter)
	expect.OK(t, s.workload.Create(t.Context(), node(bootstrap.LabelKubeProxy)))
	s.during(t, revokeAfter)
	expect.Same(t, "with a Node", kubeProxies, s.there(t))
	expect.OK(t, s.workload.Delete(t.Context(), node("x")))
	s.during(t, revokeAfter-retryDelay)
	expect.Same(t, "a moment before", kubeProxies, s.there(t))
	late := config("late", azureCNI)
	expect.OK(t, s.management.Create(t.Context(), late))
	s.Client = newStage(t).management // the cache does not know of it yet
	s.during(t, 2*revokeAfter)
	expect.Same(t, "with a config that the cache does not show", kubeProxies, s.there(t))
	s.Client = s.management
	expect.OK(t, s.management.Delete(t.Context(), late))
	s.during(t, 3*revokeAfter)
	expect.Same(t, "in the end", nothing, s.there(t))
	expect.OK(t, s.management.Create(t.Context(), config("new", azureCNI)))
	s.after(t, retryDelay)
	expect.Same(t, "a minute after a new config", kubeProxies, s.there(t))
}

// TestKept: what somebody changes or removes is put right within ten minutes, and what is right costs four reads in that time.
func TestKept(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	reads := []string{
		"get ClusterRole", "get ClusterRole", "get ClusterRoleBinding", "get ClusterRoleBinding",
	}
	expect.Same(t, "calls at first", append([]string{"create ClusterRole", "create ClusterRoleBinding"}, reads...), s.after(t, 0))
	expect.Same(t, "after that", kubeProxies, s.there(t))
	expect.Same(t, "calls a moment before ten minutes", nothing, s.after(t, recheck-1))
	expect.Same(t, "calls after ten minutes", reads, s.after(t, 1))
	meta := metav1.ObjectMeta{Name: kubeProxy}
	expect.OK(t, s.workload.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta}))
	role := &rbacv1.ClusterRole{}
	expect.OK(t, s.workload.Get(t.Context(), client.ObjectKey{Name: meta.Name}, role))
	more := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}
	role.Rules = append(role.Rules, more)
	expect.OK(t, s.workload.Update(t.Context(), role))
	s.after(t, recheck)
	expect.Same(t, "after another ten minutes", kubeProxies, s.there(t))
	expect.OK(t, s.workload.Get(t.Context(), client.ObjectKey{Name: meta.Name}, role))
	expect.Same(t, "resources", "endpointslices servicecidrs", role.Rules[0].Resources[0]+" "+role.Rules[1].Resources[0])
	expect.Same(t, "rules", 2, len(role.Rules))
}

// TestOfOthers: objects with our names and without our label stay as they are.
func TestOfOthers(t *testing.T) {
	meta := metav1.ObjectMeta{Name: kubeProxy}
	for _, configs := range [][]client.Object{nil, {config("c", azureCNI)}} {
		s := newStage(t, configs...)
		theirs := &rbacv1.ClusterRole{ObjectMeta: meta}
		theirs.Rules = []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/x"}}}
		theirs.UID = "theirs"
		expect.OK(t, s.workload.Create(t.Context(), theirs))
		s.during(t, 3*revokeAfter)
		expect.Same(t, "what is there", []string{"role capwin-kube-proxy"}, s.there(t))
		found := &rbacv1.ClusterRole{}
		expect.OK(t, s.workload.Get(t.Context(), client.ObjectKeyFromObject(theirs), found))
		expect.Same(t, "their rules", theirs.Rules, found.Rules)
	}
}

// TestOperatorsOwn: who gives the kubeconfig no right to write such objects may make them, with any labels. They stay for ever.
func TestOperatorsOwn(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	for _, object := range nodes.KubeProxy.Objects() {
		its := object.DeepCopy()
		its.SetLabels(nil)
		expect.OK(t, s.workload.Create(t.Context(), its))
	}
	s.after(t, 0)
	found := &rbacv1.ClusterRole{}
	expect.OK(t, s.workload.Get(t.Context(), client.ObjectKey{Name: kubeProxy}, found))
	expect.Same(t, "labels", 0, len(found.Labels))
	expect.OK(t, s.management.Delete(t.Context(), config("c", azureCNI)))
	s.during(t, 3*revokeAfter)
	expect.Same(t, "in the end", kubeProxies, s.there(t))
}

// TestNotAsked: a Cluster that is paused, being deleted, not up, or another manager's is not asked at all. One that needs nothing
// is asked once in the life of a process.
func TestNotAsked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage, *clusterv1.Cluster)
		want   int
	}{
		"no Windows":     {func(*stage, *clusterv1.Cluster) {}, 4},
		"paused":         {func(_ *stage, c *clusterv1.Cluster) { c.Spec.Paused = new(true) }, 0},
		"not up":         {func(_ *stage, c *clusterv1.Cluster) { c.Status.Initialization.ControlPlaneInitialized = nil }, 0},
		"another's":      {func(s *stage, _ *clusterv1.Cluster) { s.WatchFilter = "ours" }, 0},
		"ours, filtered": {func(s *stage, c *clusterv1.Cluster) { s.filtered(c) }, 4},
	} {
		s := newStage(t)
		var found clusterv1.Cluster
		expect.OK(t, s.management.Get(t.Context(), prod, &found))
		c.change(s, &found)
		expect.OK(t, s.management.Update(t.Context(), &found))
		expect.Same(t, name, c.want, len(s.after(t, 0)))
		for range 3 * recheck / retryDelay {
			expect.Same(t, name+", again", nothing, s.after(t, retryDelay))
		}
	}
}

// TestNotAskedAnyMore: a Cluster that has lost its roles is asked once more, and again when a config needs them.
func TestNotAskedAnyMore(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	s.after(t, 0)
	expect.OK(t, s.management.Delete(t.Context(), config("c", azureCNI)))
	s.during(t, revokeAfter+recheck+2*retryDelay)
	expect.Same(t, "rights", nothing, s.there(t))
	for range 3 * recheck / retryDelay {
		expect.Same(t, "calls", nothing, s.after(t, retryDelay))
	}
	expect.OK(t, s.management.Create(t.Context(), config("new", azureCNI)))
	s.after(t, retryDelay)
	expect.Same(t, "rights for a new config", kubeProxies, s.there(t))
}

// TestAskedUnseen: a role that was granted for a config which no look has seen is revoked, too.
func TestAskedUnseen(t *testing.T) {
	s := newStage(t)
	s.after(t, 0)
	asker := client.ObjectKey{Namespace: prod.Namespace, Name: "unseen"}
	known, _ := s.Ask(prod, asker, kubeProxy)
	expect.Same(t, "it is known before a look", false, known)
	s.after(t, 0)
	known, err := s.Ask(prod, asker, kubeProxy)
	expect.Same(t, "it is known after a look", true, known)
	expect.OK(t, err)
	expect.Same(t, "once it was asked for", kubeProxies, s.there(t))
	known, _ = s.Ask(prod, client.ObjectKey{Namespace: prod.Namespace, Name: "another"}, kubeProxy)
	expect.Same(t, "it is known for who asks later", true, known)
	s.during(t, revokeAfter)
	expect.Same(t, "a moment before", kubeProxies, s.there(t))
	s.during(t, 2*retryDelay)
	expect.Same(t, "in the end", nothing, s.there(t))
}

func (s *stage) filtered(c *clusterv1.Cluster) {
	s.WatchFilter = "ours"
	c.Labels = map[string]string{clusterv1.WatchLabel: "ours"}
}

// TestFailures: what fails is tried again a minute later, and takes nothing away.
func TestFailures(t *testing.T) {
	boom := errors.New("boom")
	for _, call := range []string{
		"get ClusterRole", "get ClusterRoleBinding", "list NodeList", "delete ClusterRole", "delete ClusterRoleBinding",
	} {
		s := newStage(t, config("c", azureCNI))
		s.after(t, 0)
		expect.OK(t, s.management.Delete(t.Context(), config("c", azureCNI)))
		s.during(t, revokeAfter)
		s.fail = func(now string) error {
			if now == call {
				return boom
			}
			return nil
		}
		s.during(t, 2*revokeAfter)
		if len(s.there(t)) == 0 {
			t.Errorf("%s fails, and all is gone", call)
		}
		s.fail = nil
		s.during(t, revokeAfter+2*retryDelay)
		expect.Same(t, call, nothing, s.there(t))
	}
	s := newStage(t, config("c", azureCNI))
	s.unreachable = &workload.UnreachableError{Why: "is away"}
	s.after(t, 0)
	expect.Same(t, "out of reach", nothing, s.there(t))
	s.unreachable = nil
	s.after(t, retryDelay)
	expect.Same(t, "a minute later", kubeProxies, s.there(t))
}

// TestRefusalsAreTold: an event about the Cluster tells what a person must mend, of all roles at once: again while it lasts, and
// without delay when it is another refusal or a new one.
func TestRefusalsAreTold(t *testing.T) {
	s := newStage(t, config("c", flannel))
	s.fail = forbidden("get ClusterRoleBinding")
	s.after(t, 0)
	const first = "Warning DaemonRightsRefused nodes cannot get the ClusterRole capwin-kube-proxy in the workload cluster: " +
		"the Cluster's kubeconfig may not do that (get ClusterRoleBinding: clusterroles \"x\" is forbidden: no right); let it, or " +
		"apply the two objects yourself. nodes cannot get the ClusterRole capwin-flannel in the workload cluster: "
	s.tellsOnce(t, "told", first)
	s.during(t, tellAgain-retryDelay)
	expect.Same(t, "told again before its time", nothing, s.tells())
	s.after(t, retryDelay)
	s.tellsOnce(t, "told again", first)
	s.unreachable, s.fail = &workload.UnreachableError{Why: "is away"}, nil
	s.during(t, 2*tellAgain)
	s.unreachable = nil
	s.during(t, 2*tellAgain)
	expect.Same(t, "told of an outage, and when all is well", nothing, s.tells())
	s.fail = forbidden("get ClusterRole")
	s.during(t, recheck)
	s.tellsOnce(t, "told anew", strings.Replace(first, "get ClusterRoleBinding", "get ClusterRole", 1))
	s.fail = forbidden("get ClusterRoleBinding")
	s.after(t, retryDelay)
	s.tellsOnce(t, "told of another refusal", first)
	s.fail = nil
	s.after(t, retryDelay)
	s.fail = forbidden("get ClusterRoleBinding")
	s.during(t, recheck)
	s.tellsOnce(t, "told of the same once it was mended", first)
}

// TestKeptIsTold: an event tells of a role that no node needs and that cannot be taken away. Of a Cluster that has none of ours,
// nothing is told: its kubeconfig need not have a right for us.
func TestKeptIsTold(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	s.after(t, 0)
	expect.OK(t, s.management.Delete(t.Context(), config("c", azureCNI)))
	s.fail = forbidden("delete ClusterRoleBinding")
	s.during(t, revokeAfter)
	expect.Same(t, "told before its time", nothing, s.tells())
	s.during(t, 2*retryDelay)
	s.tellsOnce(t, "told", "Warning DaemonRightsRefused nodes keep the ClusterRole capwin-kube-proxy in the workload "+
		"cluster, which none of them needs: the Cluster's kubeconfig may not do that (remove ClusterRoleBinding capwin-kube-proxy: ")
	linux := newStage(t)
	linux.fail = forbidden("get ClusterRole")
	linux.during(t, 2*tellAgain)
	expect.Same(t, "told of a Cluster without Windows", nothing, linux.tells())
}

// forbidden refuses one kind of call.
func forbidden(call string) func(string) error {
	return func(now string) error {
		if now != call {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "clusterroles"}, "x", errors.New("no right"))
	}
}
