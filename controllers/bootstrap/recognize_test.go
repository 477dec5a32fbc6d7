package bootstrap

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func (r *room) names(t *testing.T) {
	t.Helper()
	roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = new("m") })
}

func (r *room) joins(t *testing.T) {
	t.Helper()
	roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" })
}

// TestWhoseSecret has all that makes a Secret another one than the config's, before the Machine names it and after.
func TestWhoseSecret(t *testing.T) {
	disowned := func(s *corev1.Secret) { s.OwnerReferences = nil }
	others := func(s *corev1.Secret) { s.OwnerReferences[0].UID, s.OwnerReferences[0].Name = "other", "other" }
	cloudConfig := func(s *corev1.Secret) { s.Data["format"] = []byte("cloud-config") }
	const uses = "Machine m uses Secret m, which was not made from this config: "
	const named = "Secret m has the name that the user data needs, but was not made from this config: "
	for name, c := range map[string]struct {
		named  bool
		change func(*corev1.Secret)
		says   string
	}{
		"own":              {false, func(*corev1.Secret) {}, ""},
		"own, named":       {true, func(*corev1.Secret) {}, ""},
		"disowned":         {false, disowned, named + "nothing owns it"},
		"disowned, named":  {true, disowned, ""},
		"another's":        {false, others, named + "it belongs to WindowsBootstrapConfig other"},
		"another's, named": {true, others, uses + "it belongs to WindowsBootstrapConfig other"},
		"another's, another spec": {false, func(s *corev1.Secret) {
			others(s)
			generationOf(s, "7")
		}, named + "it belongs to WindowsBootstrapConfig other"},
		"another type":           {true, func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }, uses + "its type is not "},
		"another Cluster":        {true, func(s *corev1.Secret) { s.Labels = nil }, uses + "it lacks the label "},
		"another spec, named":    {true, func(s *corev1.Secret) { generationOf(s, "7") }, ""},
		"another spec":           {false, func(s *corev1.Secret) { generationOf(s, "7") }, "spec changed after Secret m had been made"},
		"no generation":          {true, func(s *corev1.Secret) { s.Annotations = nil }, uses + "it lacks the annotation "},
		"mutable":                {true, func(s *corev1.Secret) { s.Immutable = nil }, uses + "it is not immutable"},
		"another format":         {true, cloudConfig, uses + "it has no user data for"},
		"no user data":           {true, func(s *corev1.Secret) { delete(s.Data, "value") }, uses + "it has no user data for"},
		"no token":               {true, func(s *corev1.Secret) { delete(s.Data, "token") }, uses + "it has no bootstrap token"},
		"no token, not yet used": {false, func(s *corev1.Secret) { delete(s.Data, "token") }, named + "it has no bootstrap token"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.made(t)
			if c.named {
				r.names(t)
			}
			roomChange(t, r, r.management, r.data(t), c.change)
			result, err := r.look(t)
			expect.OK(t, err)
			stalled := conditions.Get(r.now(t), bootstrapv1.StalledCondition)
			expect.Same(t, "it is adopted", name == "disowned, named", slices.Contains(r.calls, "management patch Secret"))
			if c.says == "" {
				expect.Same(t, stalled.Message, metav1.ConditionFalse, stalled.Status)
				return
			}
			if stalled.Reason != "ConfigInvalid" || !strings.HasPrefix(stalled.Message, c.says) || result.RequeueAfter != 2*time.Minute {
				t.Errorf("%s: %q, next look after %s; want %q", stalled.Reason, stalled.Message, result.RequeueAfter, c.says)
			}
		})
	}
}

func generationOf(s *corev1.Secret, generation string) {
	s.Annotations[bootstrapv1.RenderedGenerationAnnotation] = generation
}

// A Secret that must not be adopted is used all the same, and its token kept alive.
func TestAdoptionIsForbidden(t *testing.T) {
	r := newRoom(t)
	r.made(t)
	r.names(t)
	roomChange(t, r, r.management, r.data(t), func(s *corev1.Secret) { s.OwnerReferences = nil })
	r.fail = func(call string) error {
		if call == "management patch Secret" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "m", errRoom)
		}
		return nil
	}
	r.clock = roomStart.Add(20 * time.Minute)
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the end", "Ready Unknown WaitingForGuest, 1 token until 00:50, data true, finalizers 1", r.end(t))
}

// A Machine may name any Secret; one of another name is not adopted.
func TestSecretOfAnotherName(t *testing.T) {
	r := newRoom(t)
	r.made(t)
	copied := r.data(t)
	copied.Name, copied.ResourceVersion, copied.OwnerReferences = "copy", "", nil
	expect.OK(t, r.management.Create(t.Context(), copied))
	roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = new("copy") })
	_, err := r.look(t)
	expect.OK(t, err)
	if text := conditions.GetMessage(r.now(t), bootstrapv1.StalledCondition); !strings.Contains(text, ": its name is not m; ") {
		t.Errorf("it says %q", text)
	}
}

// TestLostData: what a VM may boot from is not made anew, until its node has joined; what none uses is.
func TestLostData(t *testing.T) {
	r := newRoom(t)
	r.made(t)
	issued := string(r.data(t).Data["token"])
	expect.OK(t, r.management.Delete(t.Context(), r.data(t)))
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "token of the user data that were made anew", issued, string(r.data(t).Data["token"]))

	r.names(t)
	expect.OK(t, r.management.Delete(t.Context(), r.data(t)))
	result, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the next look", 2*time.Minute, result.RequeueAfter)
	expect.Same(t, "reason", "DataSecretLost", conditions.GetReason(r.now(t), bootstrapv1.StalledCondition))

	r.joins(t)
	_, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "Stalled of a node", false, conditions.IsTrue(r.now(t), bootstrapv1.StalledCondition))
	expect.Same(t, "what is left", 0, len(r.tokens(t))+len(r.now(t).Finalizers))
}

// A node that has joined does not care whose its Secret is; its own token is removed.
func TestForeignDataOfANode(t *testing.T) {
	r := newRoom(t)
	r.made(t)
	r.names(t)
	r.joins(t)
	roomChange(t, r, r.management, r.data(t), func(s *corev1.Secret) { s.Immutable = nil })
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "Stalled", false, conditions.IsTrue(r.now(t), bootstrapv1.StalledCondition))
	expect.Same(t, "what is left", 0, len(r.tokens(t))+len(r.now(t).Finalizers))
}

// A Secret that was found good is trusted for a while: only then it is read again.
func TestTrustedSecret(t *testing.T) {
	r := newRoom(t)
	r.TrustSecret = time.Minute
	r.made(t)
	r.names(t)
	reads := func() (n int) {
		t.Helper()
		_, err := r.look(t)
		expect.OK(t, err)
		for _, call := range r.calls {
			if call == "management get Secret" {
				n++
			}
		}
		return n
	}
	expect.Same(t, "reads at once", 0, reads())
	r.clock = r.clock.Add(time.Minute)
	expect.Same(t, "reads after a minute", 1, reads())
}

// Each object that a config refers to is read once, and an empty key is one that is missing.
func TestSourcesAreReadOnce(t *testing.T) {
	file := func(path, kind, name, key string) bootstrapv1.CustomFile {
		f, ref := bootstrapv1.CustomFile{Path: path}, bootstrapv1.KeyReference{Name: name, Key: key}
		if f.ContentFrom.Secret = ref; kind == "ConfigMap" {
			f.ContentFrom = bootstrapv1.ContentSource{ConfigMap: ref}
		}
		return f
	}
	r := newRoom(t, func(r *room) {
		r.config.Spec.Custom.Files = []bootstrapv1.CustomFile{
			file(`C:\a.txt`, "Secret", "app", "a"), file(`C:\b.txt`, "Secret", "app", "b"), file(`C:\c.txt`, "Secret", "other", "a"),
			file(`C:\d.txt`, "ConfigMap", "app", "a"), file(`C:\e.txt`, "ConfigMap", "all", "a"),
		}
	})
	two := map[string][]byte{"a": []byte("x"), "b": {}}
	app, other := corev1.Secret{Data: two}, corev1.Secret{Data: two}
	app.Namespace, app.Name, other.Namespace, other.Name = "ns", "app", "ns", "other"
	settings := corev1.ConfigMap{Data: map[string]string{"a": "x"}}
	others := corev1.ConfigMap{BinaryData: map[string][]byte{"a": {1}}}
	settings.ObjectMeta, others.ObjectMeta = *app.ObjectMeta.DeepCopy(), *other.ObjectMeta.DeepCopy()
	others.Name = "all" // sorts before "app", which the ConfigMap and the Secret are called that follow each other
	expect.OK(t, r.management.Create(t.Context(), &app))
	expect.OK(t, r.management.Create(t.Context(), &other))
	expect.OK(t, r.management.Create(t.Context(), &settings))
	expect.OK(t, r.management.Create(t.Context(), &others))
	_, err := r.look(t)
	expect.OK(t, err)
	if text := conditions.GetMessage(r.now(t), bootstrapv1.StalledCondition); !strings.Contains(text, `the key "b" of Secret app`) {
		t.Errorf("it says %q", text)
	}
	roomChange(t, r, r.management, &app, func(s *corev1.Secret) { s.Data["b"] = []byte("y") })
	r.clock = r.clock.Add(firstGap)
	r.made(t)
	count := map[string]int{}
	for _, call := range r.calls {
		count[call]++
	}
	// The bootstrap Secret, the Cluster's CA, the source that was missing, and then two sources.
	expect.Same(t, "reads of Secrets", 5, count["management get Secret"])
	expect.Same(t, "reads of ConfigMaps", 2, count["management get ConfigMap"])
}
