package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	rights "github.com/capwin/cluster-api-provider-windows/controllers/cluster/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

const (
	guestToken  = "guest0.0123456789abcdef"
	otherToken  = "guest1.0123456789abcdef"
	guestReport = joiningNode + ".guest0"
	otherReport = "win-1.guest1"
)

// testGuestReports gives guests their place, and then tries each write that a guest may not do, with its token and with the
// certificate of its node.
func testGuestReports(t *testing.T, w *Workload) {
	api := guestsManager(t, w)
	putGuestTokens(t, w)
	closed := clientOf(t, asToken(w, guestToken)).CoreV1().ConfigMaps(bootstrap.GuestNamespace)
	openForGuests(t, w, api, closed)
	for _, report := range []string{guestReport, otherReport} {
		expect.OK(t, guests.MakeReport(t.Context(), api, report))
		expect.OK(t, guests.MakeReport(t.Context(), api, report))
	}
	for who, login := range map[string]kubernetes.Interface{
		"token": clientOf(t, asToken(w, guestToken)), "node": clientOf(t, asNode(t, w, guestToken)),
	} {
		t.Run(who, func(t *testing.T) { tryGuestWrites(t, w, login) })
	}
	expect.OK(t, guests.RemoveReport(t.Context(), api, guestReport))
	expect.OK(t, guests.RemoveReport(t.Context(), api, guestReport))
	found := expect.Got(w.client.CoreV1().ConfigMaps(bootstrap.GuestNamespace).Get(t.Context(), otherReport, metav1.GetOptions{}))(t)
	expect.Same(t, "what the other machine has told", 0, len(found.Data))
}

// guestsManager is the client that the manager reaches a workload cluster with.
func guestsManager(t *testing.T, w *Workload) client.Client {
	t.Helper()
	key := types.NamespacedName{Namespace: "team-a", Name: "prod"}
	live := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name + "-kubeconfig"},
		Data:       map[string][]byte{"value": w.Kubeconfig},
	}).Build()
	return expect.Got((&workload.Clusters{Live: live, QPS: 100, Burst: 100}).GetClient(t.Context(), key))(t)
}

func putGuestTokens(t *testing.T, w *Workload) {
	t.Helper()
	for _, token := range []string{guestToken, otherToken} {
		id, secret, _ := strings.Cut(token, ".")
		expect.Got(w.client.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: corev1.SecretTypeBootstrapToken,
			StringData: map[string]string{
				"token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true",
				"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token," + bootstrap.GuestGroup,
			},
		}, metav1.CreateOptions{}))(t)
	}
}

// openForGuests brings the rights about. Until the policy is served, no guest may write.
func openForGuests(t *testing.T, w *Workload, api client.Client, guest typedcorev1.ConfigMapInterface) {
	t.Helper()
	now := time.Now()
	keeper := newRightsKeeper(t, api, func() time.Time { return now })
	expect.Same(t, "they settle", true, errors.Is(keeper.ask(t, rights.Name), keep.ErrSettling))
	bindings := w.client.RbacV1().RoleBindings(bootstrap.GuestNamespace)
	if found := expect.Got(bindings.List(t.Context(), metav1.ListOptions{}))(t); len(found.Items) > 0 {
		t.Error("guests may write before the policy is served")
	}
	if _, err := guest.Update(t.Context(), report(guestReport, "x"), metav1.UpdateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a guest without rights gets %v", err)
	}
	wait.Eventually(t, "the policy to be served", func(context.Context) error {
		now = now.Add(11 * time.Second)
		return keeper.ask(t, rights.Name)
	})
	wait.Eventually(t, "the right to write", func(ctx context.Context) error {
		_, err := guest.Update(ctx, report(guestReport, "x"), metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("got %w", err)
	})
}

func report(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{bootstrap.GuestReportKey: text}}
}

// tryGuestWrites tries what a guest may do, and all that it may not. As `kubectl replace --raw` does, it sends no version.
func tryGuestWrites(t *testing.T, w *Workload, login kubernetes.Interface) {
	own := login.CoreV1().ConfigMaps(bootstrap.GuestNamespace)
	update := func(object *corev1.ConfigMap, changes ...func(*corev1.ConfigMap)) error {
		for _, change := range changes {
			change(object)
		}
		_, err := own.Update(t.Context(), object, metav1.UpdateOptions{})
		return err
	}
	largest := strings.Repeat("x", 16384)
	expect.OK(t, update(report(guestReport, largest)))
	found := expect.Got(w.client.CoreV1().ConfigMaps(bootstrap.GuestNamespace).Get(t.Context(), guestReport, metav1.GetOptions{}))(t)
	expect.Same(t, "bytes of the report", len(largest), len(found.Data[bootstrap.GuestReportKey]))
	expect.OK(t, update(report(guestReport, "x"))) // whoever writes another value takes the field from its managers
	changed := func(change func(*corev1.ConfigMap)) error { return update(report(guestReport, "x"), change) }
	get := func() error { _, err := own.Get(t.Context(), guestReport, metav1.GetOptions{}); return err }
	list := func() error { _, err := own.List(t.Context(), metav1.ListOptions{}); return err }
	create := func(name string) error {
		_, err := own.Create(t.Context(), report(name, "x"), metav1.CreateOptions{})
		return err
	}
	patch := func() error {
		_, err := own.Patch(t.Context(), guestReport, types.MergePatchType, []byte(`{"data":{"report":"y"}}`), metav1.PatchOptions{})
		return err
	}
	for name, err := range map[string]error{
		"one byte too many":           update(report(guestReport, largest+"x")),
		"too many bytes of 2 a piece": update(report(guestReport, strings.Repeat("ä", 8193))),
		"another machine's":           update(report(otherReport, "x")),
		"another key":                 changed(func(o *corev1.ConfigMap) { o.Data["more"] = "x" }),
		"no key":                      changed(func(o *corev1.ConfigMap) { o.Data = nil }),
		"binary data":                 changed(func(o *corev1.ConfigMap) { o.BinaryData = map[string][]byte{"more": []byte("x")} }),
		"immutable":                   changed(func(o *corev1.ConfigMap) { o.Immutable = new(true) }),
		"labels":                      changed(func(o *corev1.ConfigMap) { o.Labels = map[string]string{"x": "y"} }),
		"annotations":                 changed(func(o *corev1.ConfigMap) { o.Annotations = map[string]string{"x": "y"} }),
		"a name to be generated":      changed(func(o *corev1.ConfigMap) { o.GenerateName = "x" }),
		"many managers of fields": changed(func(o *corev1.ConfigMap) {
			o.ManagedFields = managers(600, `{"f:data":{"f:report":{}}}`)
		}),
		"a manager of many fields": changed(func(o *corev1.ConfigMap) {
			o.ManagedFields = managers(1, `{"f:data":{"f:`+strings.Repeat("x", 4096)+`":{}}}`)
		}),
		"finalizers": changed(func(o *corev1.ConfigMap) { o.Finalizers = []string{"example.com/x"} }),
		"owners": changed(func(o *corev1.ConfigMap) {
			o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "x", UID: "x"}}
		}),
		"create": create(joiningNode + ".more"), "create the probe": create("probe"),
		"get": get(), "list": list(), "patch": patch(),
		"delete": own.Delete(t.Context(), guestReport, metav1.DeleteOptions{}),
	} {
		if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

// managers are entries of managedFields, as a guest could send them.
func managers(count int, fields string) (entries []metav1.ManagedFieldsEntry) {
	for i := range count {
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("manager-", i), Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(fields),
		})
	}
	return entries
}
