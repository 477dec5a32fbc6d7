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
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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
	"WindowsMachine gone": {
		func(t *testing.T, r *room) {
			r.made(t)
			r.names(t)
			token := r.tokens(t)[0]
			expect.OK(t, r.workload.Delete(t.Context(), &token))
			expect.OK(t, r.management.Delete(t.Context(), r.windows))
		},
		"Ready Unknown WaitingForGuest, 1 token until 00:30, data true, finalizers 1",
	},
	"under way": {
		func(t *testing.T, r *room) {
			r.made(t)
			roomChange(t, r, r.management, r.windows, func(m *infrav1.WindowsMachine) {
				m.Status.Bootstrap = &infrav1.BootstrapProgress{State: string(plan.StateRunning)}
			})
		},
		"Ready Unknown WaitingForGuest, 1 token until 00:30, data true, finalizers 1",
	},
	"with a source": {
		func(t *testing.T, r *room) {
			app := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"}, Data: map[string][]byte{"a": []byte("x")}}
			expect.OK(t, r.management.Create(t.Context(), &app))
			roomChange(t, r, r.management, r.config, func(o *bootstrapv1.WindowsBootstrapConfig) {
				o.Spec.Custom.Files = []bootstrapv1.CustomFile{{Path: `C:\a.txt`, ContentFrom: bootstrapv1.ContentSource{
					Secret: bootstrapv1.KeyReference{Name: "app", Key: "a"},
				}}}
			})
		},
		"Ready Unknown WaitingForGuest, 1 token until 00:30, data true, finalizers 1",
	},
	"with Flannel": {
		func(t *testing.T, r *room) {
			roomChange(t, r, r.management, r.cluster, func(*clusterv1.Cluster) { withFlannel(r) })
			roomChange(t, r, r.management, r.config, func(*bootstrapv1.WindowsBootstrapConfig) { withFlannel(r) })
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
	"leaving": {
		func(t *testing.T, r *room) {
			r.made(t)
			roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) {
				m.Spec.Bootstrap.DataSecretName, m.Finalizers = new("m"), []string{"a/hook"}
			})
			expect.OK(t, r.management.Delete(t.Context(), r.machine))
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

// TestConflictsAreLookedAtSoon: an object that changed meanwhile is looked at again by the queue's pauses, and nothing is told.
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
		expect.Same(t, write, ctrl.Result{Requeue: true}, result) //nolint:staticcheck // it asks for the limiter
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

// Finalizers that are set are not set again: a process that died after them goes on with the token.
func TestFinalizersAreSetOnce(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) *room{
		"on vSphere": func(t *testing.T) *room { return newRoom(t) },
		"in Azure":   func(t *testing.T) *room { return newRoom(t, inAzure).servedSoon(t) },
	} {
		t.Run(name, func(t *testing.T) {
			r := begin(t)
			served := r.fail
			r.fail = func(call string) error {
				if call == "workload create Secret" {
					return errRoom
				}
				if served != nil {
					return served(call)
				}
				return nil
			}
			_, err := r.look(t)
			expect.Says(t, "a token cannot be made", err, "boom")
			r.fail = served
			r.made(t)
			expect.Same(t, "they are set again", false, slices.Contains(r.calls, "management patch WindowsBootstrapConfig"))
		})
	}
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
