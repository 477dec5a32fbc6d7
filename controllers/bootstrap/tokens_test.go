package bootstrap

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

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
		"moved": {"the mark and the id are of the UID of before, the Secret has the token", func(t *testing.T, r *room) {
			token := r.tokens(t)[0]
			expect.OK(t, r.workload.Delete(t.Context(), &token))
			r.puts(t, "before", "0123456789abcdef")
			roomChange(t, r, r.management, r.data(t), func(s *corev1.Secret) { s.Data["token"] = []byte("before.0123456789abcdef") })
		}, 0},
		"no token in the Secret": {"what it names is another's", func(t *testing.T, r *room) {
			r.puts(t, "theirs", "0123456789abcdefg")
			roomChange(t, r, r.management, r.data(t), func(s *corev1.Secret) { s.Data["token"] = []byte("theirs.0123456789abcdefg") })
		}, 1},
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
			for _, token := range r.tokens(t) {
				if string(token.Data["description"]) == mark(r.config) {
					t.Error("the config's own token is left")
				}
			}
			if r.now(t) != nil {
				t.Error("the config is held")
			}
		})
	}
}

// puts a token without our mark in the workload cluster.
func (r *room) puts(t *testing.T, id, secret string) {
	t.Helper()
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-" + id}}
	token.Data = map[string][]byte{"token-id": []byte(id), "token-secret": []byte(secret), "description": []byte("another")}
	expect.OK(t, r.workload.Create(t.Context(), token))
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

// TestTokenSignsNothing: a node that finds its cluster by a kubeconfig does not need cluster-info signed.
func TestTokenSignsNothing(t *testing.T) {
	r := newRoom(t, func(r *room) {
		r.config.Spec.Discovery.KubeconfigFrom.Secret = bootstrapv1.KeyReference{Name: "discovery", Key: "value"}
	})
	f := &facts{config: r.config, cluster: r.cluster, machine: r.machine, windows: r.windows, workload: r.workload}
	token := expect.Got(r.putToken(t.Context(), f, "abcdef.0123456789abcdef"))(t)
	if usage, signs := token.Data["usage-bootstrap-signing"]; signs || len(token.Data) != 6 {
		t.Errorf("the token has %d keys, and signs: %q", len(token.Data), usage)
	}
}
