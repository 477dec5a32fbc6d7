package servers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// mayNotBind may write the ClusterRole of kube-proxy, whose rights it holds, and may not bind it.
var mayNotBind = []rbacv1.PolicyRule{
	{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"get", "create", "update"}},
	{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterrolebindings"}, Verbs: []string{"get"}},
	{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"servicecidrs"}, Verbs: []string{"list", "watch"}},
}

// testRefusedRights: an event about a Cluster tells that its kubeconfig may not bind the role of kube-proxy. Once it may, the
// role is bound.
func testRefusedRights(t *testing.T, w *Workload) {
	const user = "not-quite-an-admin"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: mayNotBind}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	roles := w.client.RbacV1().ClusterRoles()
	expect.Got(roles.Create(t.Context(), role, metav1.CreateOptions{}))(t)
	expect.Got(w.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}))(t)
	login := rest.CopyConfig(w.Config)
	login.Impersonate.UserName = user // which the API server authorizes as it does every user
	api := expect.Got(client.New(login, client.Options{}))(t)
	itsBinding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: string(nodes.KubeProxy)}}
	reads := func(ctx context.Context) error {
		return api.Get(ctx, client.ObjectKeyFromObject(itsBinding), itsBinding)
	}
	wait.Eventually(t, "the user's rights", func(ctx context.Context) error {
		if err := reads(ctx); !apierrors.IsNotFound(err) {
			return fmt.Errorf("want no binding: %w", err)
		}
		return nil
	})
	now := time.Now()
	keeper := keeperOf(t, w, api, &now)
	look := func() {
		now = now.Add(time.Minute)
		keeper.look(t)
	}
	look()
	awaitRefusal(t, w, "nodes cannot get the ClusterRole capwin-kube-proxy in the workload cluster: the Cluster's kubeconfig may "+
		"not do that (write ClusterRoleBinding: clusterrolebindings.rbac.authorization.k8s.io is forbidden: ")

	role.Rules[1].Verbs = append(role.Rules[1].Verbs, "create", "update")
	expect.Got(roles.Update(t.Context(), role, metav1.UpdateOptions{}))(t)
	wait.Eventually(t, "the binding", func(ctx context.Context) error {
		look()
		return reads(ctx)
	})
}

// keeperOf keeps the rights of nodes of one Cluster, whose config runs kube-proxy as a service. Its events go to the API server.
func keeperOf(t *testing.T, w *Workload, api client.Client, now *time.Time) *rightsKeeper {
	t.Helper()
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: "windows", Labels: map[string]string{clusterv1.ClusterNameLabel: "prod"},
	}}
	config.Spec.Network = bootstrapv1.Network{Mode: bootstrapv1.NetworkL2Bridge, CNI: bootstrapv1.CNIAzure}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: w.client.EventsV1()})
	t.Cleanup(broadcaster.Shutdown)
	expect.OK(t, broadcaster.StartRecordingToSinkWithContext(t.Context()))
	keeper := newRightsKeeper(t, api, func() time.Time { return *now }, config)
	keeper.Events = broadcaster.NewRecorder(managementWith(t).Scheme(), "test")
	return keeper
}

// awaitRefusal waits for the event about the Cluster.
func awaitRefusal(t *testing.T, w *Workload, beginning string) {
	t.Helper()
	wait.Eventually(t, "the event", func(ctx context.Context) error {
		found, err := w.client.EventsV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
			FieldSelector: "reason=" + bootstrapv1.DaemonRightsRefusedReason + ",type=" + corev1.EventTypeWarning,
		})
		if err != nil {
			return err
		}
		for _, event := range found.Items {
			if event.Regarding.Kind == "Cluster" && event.Regarding.Name == "prod" && strings.HasPrefix(event.Note, beginning) {
				return nil
			}
		}
		return fmt.Errorf("no such event in %d: %+v", len(found.Items), found.Items)
	})
}
