package bootstrap

import (
	"fmt"
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
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// roomLives are the lives of a config, each with what must be there in its end.
var roomLives = map[string]struct {
	begin func(*testing.T, *room)
	want  string
}{
	"new": {
		func(*testing.T, *room) {},
		"Ready Unknown WaitingForGuest, 1 token until 00:30, data true, finalizers 1",
	},
	"kept alive": {
		func(t *testing.T, r *room) {
			r.made(t)
			r.clock = roomStart.Add(20 * time.Minute)
		},
		"Ready Unknown WaitingForGuest, 1 token until 00:50, data true, finalizers 1",
	},
	"put back": {
		func(t *testing.T, r *room) {
			r.made(t)
			token := r.tokens(t)[0]
			expect.OK(t, r.workload.Delete(t.Context(), &token))
		},
		"Ready Unknown WaitingForGuest, 1 token until 00:30, data true, finalizers 1",
	},
	"adopted": {
		func(t *testing.T, r *room) {
			r.made(t)
			roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) {
				m.Spec.Bootstrap.DataSecretName = new("m")
			})
			roomChange(t, r, r.management, r.data(t), func(s *corev1.Secret) { s.OwnerReferences = nil })
		},
		"Ready Unknown WaitingForGuest, 1 token until 00:30, data true, finalizers 1",
	},
	"joined": {
		func(t *testing.T, r *room) {
			r.made(t)
			roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" })
		},
		"Ready True Joined, 0 token until , data true, finalizers 0",
	},
	"failed": {
		func(t *testing.T, r *room) {
			r.made(t)
			roomChange(t, r, r.management, r.windows, func(m *infrav1.WindowsMachine) {
				m.Status.Bootstrap = &infrav1.BootstrapProgress{State: string(plan.StateFailed)}
			})
		},
		"Ready Unknown WaitingForGuest, 0 token until , data true, finalizers 0",
	},
	"deleted": {
		func(t *testing.T, r *room) {
			r.made(t)
			r.deleted(t)
		},
		"gone, 0 token until , data true",
	},
}

// made lets the user data and the token be made.
func (r *room) made(t *testing.T) {
	t.Helper()
	_, err := r.look(t)
	expect.OK(t, err)
	if r.data(t) == nil || len(r.tokens(t)) != 1 {
		t.Fatalf("nothing was made: %s", r.end(t))
	}
}

func (r *room) deleted(t *testing.T) {
	t.Helper()
	defer r.quietly()()
	expect.OK(t, r.management.Delete(t.Context(), r.now(t)))
}

// end is what there is.
func (r *room) end(t *testing.T) string {
	t.Helper()
	tokens, until, now := r.tokens(t), "", r.now(t)
	if len(tokens) > 0 {
		until = string(tokens[0].Data["expiration"])[11:16]
	}
	made := fmt.Sprintf("%d token until %s, data %t", len(tokens), until, r.data(t) != nil)
	if now == nil {
		return "gone, " + made
	}
	ready := conditions.Get(now, bootstrapv1.ReadyCondition)
	return fmt.Sprintf("Ready %s %s, %s, finalizers %d", ready.Status, ready.Reason, made, len(now.Finalizers))
}

// TestEachCallFailsOnce has each call of a life fail once: the queue must hear of it, and the life must end as it does otherwise.
func TestEachCallFailsOnce(t *testing.T) {
	for name, life := range roomLives {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			life.begin(t, r)
			_, err := r.look(t)
			expect.OK(t, err)
			expect.Same(t, "the end", life.want, r.end(t))
			for n, call := range slices.Clone(r.calls) {
				t.Run(fmt.Sprintf("%d %s", n, call), func(t *testing.T) {
					roomFails(t, n, life.begin, life.want)
				})
			}
		})
	}
}

func roomFails(t *testing.T, n int, begin func(*testing.T, *room), want string) {
	t.Helper()
	r := newRoom(t)
	begin(t, r)
	r.once(n, errRoom)
	if _, err := r.look(t); err == nil || !strings.Contains(err.Error(), ": boom") {
		t.Errorf("the queue hears %v", err)
	}
	r.fail = nil
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the end", want, r.end(t))
}

// TestConflictsAreLookedAtSoon: an object that changed meanwhile is looked at again in a moment, and nothing is told.
func TestConflictsAreLookedAtSoon(t *testing.T) {
	for _, write := range []string{"management patch WindowsBootstrapConfig", "management patch WindowsBootstrapConfig/status"} {
		r := newRoom(t)
		r.fail = func(call string) error {
			if call == write {
				return apierrors.NewConflict(schema.GroupResource{}, "m", errRoom)
			}
			return nil
		}
		result, err := r.look(t)
		expect.OK(t, err)
		expect.Same(t, write, 500*time.Millisecond, result.RequeueAfter)
		expect.Same(t, write+": conditions", 0, len(r.now(t).Status.Conditions))
	}
}

// TestGoneMeanwhile has a config that goes while it is looked at. A token may be made for one alone that has our finalizer.
func TestGoneMeanwhile(t *testing.T) {
	gone := func(write string) func(string) error {
		return func(call string) error {
			if call == write {
				return roomNotFound("m")
			}
			return nil
		}
	}
	r := newRoom(t)
	r.fail = gone("management patch WindowsBootstrapConfig")
	_, err := r.look(t)
	expect.Says(t, "no finalizer can be set", err, "patch finalizers: ")
	expect.Same(t, "tokens", 0, len(r.tokens(t)))

	r = newRoom(t)
	r.fail = gone("management patch WindowsBootstrapConfig/status")
	_, err = r.look(t)
	expect.OK(t, err)

	r = newRoom(t)
	r.made(t)
	r.deleted(t)
	r.fail = gone("management patch WindowsBootstrapConfig")
	result, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "looks at what is released", ctrl.Result{}, result)
}

// TestNothingToDo has configs that need nothing: no call but reads, and no other look.
func TestNothingToDo(t *testing.T) {
	joined := func(r *room) {
		r.machine.Status.NodeRef.Name, r.machine.Spec.Bootstrap.DataSecretName = "node", new("m")
	}
	for name, c := range map[string]struct {
		change func(*room)
		ready  string
		calls  []string
	}{
		"joined": {joined, "Joined", []string{
			"management get WindowsBootstrapConfig", "management get Machine", "management get Cluster",
			"management get WindowsMachine", "management patch WindowsBootstrapConfig/status",
		}},
		"paused": {func(r *room) { r.cluster.Spec.Paused = new(true) }, "Paused", []string{
			"management get WindowsBootstrapConfig", "management get Machine", "management get Cluster",
			"management get WindowsMachine", "management patch WindowsBootstrapConfig/status",
		}},
		"paused, deleted": {
			func(r *room) {
				r.cluster.Spec.Paused = new(true)
				r.config.Finalizers, r.config.DeletionTimestamp = []string{bootstrapv1.ConfigFinalizer}, &metav1.Time{Time: roomStart}
			},
			"Paused",
			[]string{
				"management get WindowsBootstrapConfig", "management get Machine", "management get Cluster",
				"management get WindowsMachine", "management patch WindowsBootstrapConfig/status",
			},
		},
		"deleted, another's finalizer": {
			func(r *room) {
				r.config.Finalizers, r.config.DeletionTimestamp = []string{"a/b"}, &metav1.Time{Time: roomStart}
			},
			"Deleting",
			[]string{
				"management get WindowsBootstrapConfig", "management get Machine", "management get Cluster",
				"management get WindowsMachine", "management patch WindowsBootstrapConfig/status",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, c.change)
			result, err := r.look(t)
			expect.OK(t, err)
			expect.Same(t, "the next look", ctrl.Result{}, result)
			expect.Same(t, "calls", c.calls, r.calls)
			expect.Same(t, "Ready", c.ready, conditions.GetReason(r.now(t), bootstrapv1.ReadyCondition))
			_, err = r.look(t)
			expect.OK(t, err)
			expect.Same(t, "writes of the second look", false, slices.ContainsFunc(r.calls, func(call string) bool {
				return !strings.Contains(call, " get ")
			}))
		})
	}
}

// TestDeletionOfAConfig has what may be in its way. It waits for its token to be removed, but neither for a cluster that goes
// itself nor for longer than the token lives.
func TestDeletionOfAConfig(t *testing.T) {
	away, refused := error(&workload.UnreachableError{Why: "is away"}), error(&workload.RefusedError{})
	clusterGoes := func(t *testing.T, r *room) {
		roomChange(t, r, r.management, r.cluster, func(c *clusterv1.Cluster) { c.Finalizers = []string{"a/b"} })
		expect.OK(t, r.management.Delete(t.Context(), r.cluster))
	}
	for name, c := range map[string]struct {
		reason      string
		unreachable error
		begin       func(*testing.T, *room)
		after       time.Duration
		wait        time.Duration
		ready       string
	}{
		"answers":      {"the token is removed", nil, nil, 0, 0, ""},
		"out of reach": {"the token may still be used", away, nil, 0, 5 * time.Second, "WorkloadUnreachable"},
		"refused":      {"a person must mend the kubeconfig", refused, nil, 0, 5 * time.Second, "KubeconfigRefused"},
		"out of reach, at the end of the token": {
			"it may live for a moment", away, nil, roomTTL, 5 * time.Second, "WorkloadUnreachable",
		},
		"out of reach, after the token": {"it has expired", away, nil, roomTTL + time.Second, 0, ""},
		"out of reach, Cluster going":   {"its tokens go with it", away, clusterGoes, 0, 0, ""},
		"refused, Cluster going":        {"its tokens go with it", refused, clusterGoes, 0, 0, ""},
		"fails, Cluster going":          {"any other error is told", errRoom, clusterGoes, 0, -1, ""},
		"out of reach, Cluster gone with all": {"there is nothing to ask", away, func(t *testing.T, r *room) {
			expect.OK(t, r.management.Delete(t.Context(), r.machine))
			expect.OK(t, r.management.Delete(t.Context(), r.cluster))
		}, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.made(t)
			r.deleted(t)
			deleted := r.now(t).DeletionTimestamp.Time
			if c.begin != nil {
				c.begin(t, r)
			}
			r.unreachable, r.clock = c.unreachable, deleted.Add(c.after)
			result, err := r.look(t)
			expect.Same(t, "error: "+c.reason, c.wait < 0, err != nil)
			if gone := r.now(t) == nil; gone != (c.wait == 0) {
				t.Errorf("gone is %t: %s", gone, c.reason)
			}
			if c.wait > 0 {
				expect.Same(t, "the next look", c.wait, result.RequeueAfter)
			}
			if tokens := len(r.tokens(t)); name == "answers" && tokens > 0 {
				t.Errorf("%d tokens are left", tokens)
			}
		})
	}
}

// TestWhichTokenIsRemoved: the config's own one, by its mark or by what its Secret has, and no other.
func TestWhichTokenIsRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		change func(*testing.T, *room)
		left   int
	}{
		"own": {"it has the mark", func(*testing.T, *room) {}, 0},
		"another's": {"the id is taken by another token", func(t *testing.T, r *room) {
			token := r.tokens(t)[0]
			roomChange(t, r, r.workload, &token, func(s *corev1.Secret) {
				s.Data["description"], s.Data["token-secret"] = []byte("theirs"), []byte("0123456789abcdef")
			})
		}, 1},
		"moved": {"the mark has the UID of before, the Secret has the token", func(t *testing.T, r *room) {
			token := r.tokens(t)[0]
			roomChange(t, r, r.workload, &token, func(s *corev1.Secret) { s.Data["description"] = []byte("before") })
		}, 0},
		"moved, Secret of another": {"its token is another's", func(t *testing.T, r *room) {
			token := r.tokens(t)[0]
			roomChange(t, r, r.workload, &token, func(s *corev1.Secret) { s.Data["description"] = []byte("before") })
			roomChange(t, r, r.management, r.data(t), func(s *corev1.Secret) { s.OwnerReferences = nil })
		}, 1},
		"lost Secret": {"the id follows from the UID", func(t *testing.T, r *room) {
			expect.OK(t, r.management.Delete(t.Context(), r.data(t)))
		}, 0},
		"gone": {"Kubernetes removes what has expired", func(t *testing.T, r *room) {
			token := r.tokens(t)[0]
			expect.OK(t, r.workload.Delete(t.Context(), &token))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.made(t)
			c.change(t, r)
			r.deleted(t)
			r.clock = time.Now()
			_, err := r.look(t)
			expect.OK(t, err)
			expect.Same(t, c.reason, c.left, len(r.tokens(t)))
			if r.now(t) != nil {
				t.Error("the config is held")
			}
		})
	}
}

// TestTokenIDsAreTaken: another id is tried for as long as there are some.
func TestTokenIDsAreTaken(t *testing.T) {
	for taken, want := range []string{"", "", "", "", "", "all 5 possible ids of the bootstrap token are in use by other tokens"} {
		r := newRoom(t)
		for try := range taken {
			other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system"}}
			other.Name = "bootstrap-token-" + tokenID(r.config, try)
			expect.OK(t, r.workload.Create(t.Context(), other))
		}
		_, err := r.look(t)
		expect.Says(t, fmt.Sprintf("%d ids taken", taken), err, want)
		if made := r.data(t) != nil; made != (want == "") {
			t.Errorf("%d ids taken: made is %t", taken, made)
		}
	}
}

// TestToken has what kubeadm and the token cleaner need.
func TestToken(t *testing.T) {
	r := newRoom(t)
	r.made(t)
	token := r.tokens(t)[0]
	id, secret, _ := strings.Cut(string(r.data(t).Data["token"]), ".")
	have := map[string]string{"name": token.Namespace + "/" + token.Name, "type": string(token.Type)}
	for key, value := range token.Data {
		have[key] = string(value)
	}
	expect.Same(t, "the token", map[string]string{
		"name": "kube-system/bootstrap-token-" + id, "type": "bootstrap.kubernetes.io/token",
		"token-id": id, "token-secret": secret, "expiration": "2026-01-01T00:30:00Z",
		"usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
		"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
		"description":       "capwin bootstrap token of ns/m uid",
	}, have)
}
