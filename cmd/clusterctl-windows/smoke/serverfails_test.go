package smoke

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestServerFails: each call of the API server's that fails alone, what a person reads, and that nothing is left.
func TestServerFails(t *testing.T) {
	const quota = "exceeded quota"
	refusing := func(call string, times int) func(*cluster) {
		return func(c *cluster) {
			c.refuse = func(got string) *metav1.Status {
				if got != call || times == 0 {
					return nil
				}
				times--
				return &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: quota}
			}
		}
	}
	const space = "/api/v1/namespaces/NS/"
	for name, c := range map[string]struct {
		change func(*cluster)
		took   time.Duration
		err    string
		want   []string
	}{
		"the first Service": {
			refusing("POST "+space+"services", 1), 5 * time.Second, "",
			[]string{
				"Linux pod|failed|the pod linux-server does not run: exceeded quota", "Windows pod|ok|",
				"Windows pod to Linux pod|skipped|not tried: the Linux pod does not run",
			},
		},
		"the first pod": {
			refusing("POST "+space+"pods", 1), 5 * time.Second, "",
			[]string{"Linux pod|failed|the pod linux-server does not run: exceeded quota", "Windows pod|ok|"},
		},
		"no pod": {
			refusing("POST "+space+"pods", -1), 0, "",
			[]string{"Windows pod|failed|the pod windows-server-0 does not run: exceeded quota", "metrics of the Windows node|ok|"},
		},
		"lists for a moment": {refusing("GET "+space+"pods", 10), 13 * time.Second, "", []string{"Windows pod outwards|ok|"}},
		"lists at the limit": {
			refusing("GET "+space+"pods", 31), 34 * time.Second, "", []string{"Windows pod outwards|ok|"},
		},
		"lists for good": {
			refusing("GET "+space+"pods", -1), silence + time.Second, "list the pods of namespace capwin-smoke-", nil,
		},
		"lists of events": {refusing("GET "+space+"events", -1), silence + time.Second, quota, nil},
		"the namespace":   {refusing("POST /api/v1/namespaces", -1), 0, "make namespace capwin-smoke-", nil},
	} {
		t.Run(name, func(t *testing.T) {
			world := newCluster()
			c.change(world)
			report, _, took, err := world.tryAll(t, options)
			if c.err == "" {
				expect.OK(t, err)
			} else {
				expect.Says(t, "the error", err, c.err)
				expect.Says(t, "the error", err, quota)
				expect.Same(t, "findings", 0, len(report))
			}
			wantReport(t, report, c.want...)
			expect.Same(t, "time", c.took, took)
		})
	}
}

// TestClientRefused: a pod that the API server does not take tries nothing, and the others do.
func TestClientRefused(t *testing.T) {
	world, pods := newCluster(), 0
	world.refuse = func(call string) *metav1.Status {
		if call != "POST /api/v1/namespaces/NS/pods" {
			return nil
		}
		if pods++; pods != 5 { // after two servers and two clients
			return nil
		}
		return &metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "a policy"}
	}
	report, _, _, err := world.tryAll(t, options)
	expect.OK(t, err)
	wantReport(t, report, "Windows pod outwards|failed|the pod windows-client-0 does not try it: a policy. ",
		"Windows pod to Linux pod|failed|the pod windows-client-0 does not try it: a policy. ",
		"Windows host to Windows pod|ok|", "Linux pod to Windows pod|ok|")
}

// TestNewNamespace: the API server forbids pods until the namespace has its service account, for so long and no longer.
func TestNewNamespace(t *testing.T) {
	for after, takes := range map[time.Duration]time.Duration{5 * time.Second: 10 * time.Second, time.Hour: 2 * settling} {
		world := newCluster()
		world.refuse = func(call string) *metav1.Status {
			if call != "POST /api/v1/namespaces/NS/pods" || time.Since(world.began) >= after {
				return nil
			}
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no service account"}
		}
		report, _, took, err := world.tryAll(t, options)
		expect.OK(t, err)
		expect.Same(t, "time", takes, took)
		if after < settling {
			wantReport(t, report, "Windows pod outwards|ok|")
		} else {
			wantReport(t, report, "Windows pod|failed|the pod windows-server-0 does not run: no service account")
		}
	}
}

// TestEnded: who ends the program is not told of findings, wherever it is, and nothing is left.
func TestEnded(t *testing.T) {
	for _, at := range []string{"starting pods that answer", "starting pods that connect", "metrics of the Windows node"} {
		c := newCluster()
		c.within(t, func(t *testing.T, server *remote.Server) {
			p := expect.Got(Prepare(t.Context(), server, options))(t)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			found, err := p.Run(ctx, func(doing string) {
				if doing == at {
					end()
				}
			})
			if found != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("at %q: %v, %v", at, found, err)
			}
		})
		expect.Same(t, "namespaces that are left", 0, len(c.spaces))
	}
}

// TestNamespaceStays: what was found is told although the namespace cannot be removed, with the command that does.
func TestNamespaceStays(t *testing.T) {
	c := newCluster()
	c.refuse = func(call string) *metav1.Status {
		if !strings.HasPrefix(call, http.MethodDelete) {
			return nil
		}
		return &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "no leader"}
	}
	c.within(t, func(t *testing.T, server *remote.Server) {
		p := expect.Got(Prepare(t.Context(), server, options))(t)
		began := time.Now()
		found, err := p.Run(t.Context(), func(string) {})
		expect.Same(t, "findings", true, len(found) > 0)
		says := "the namespace " + p.namespace + " is left: no leader; kubectl delete namespace " + p.namespace
		expect.Says(t, "the error", Left(err), says)
		expect.Same(t, "time", 5*time.Second+30*time.Second, time.Since(began))
	})
}

// TestLastWords: a call that is cut off when the time is over does not hide what the API server said before it.
func TestLastWords(t *testing.T) {
	for call, want := range map[string]string{
		"POST /api/v1/namespaces/NS/pods": "the pod linux-server does not run: no leader",
		"DELETE ":                         "is left: no leader",
	} {
		c, calls := newCluster(), 0
		c.hangs = func(got string) bool {
			if strings.HasPrefix(got, call) {
				calls++
			}
			return strings.HasPrefix(got, call) && calls >= 38
		}
		c.refuse = func(got string) *metav1.Status {
			if !strings.HasPrefix(got, call) {
				return nil
			}
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no leader"}
		}
		c.within(t, func(t *testing.T, server *remote.Server) {
			p := expect.Got(Prepare(t.Context(), server, options))(t)
			p.api.removing, p.targets = 40*time.Second, nil
			found, err := p.Run(t.Context(), func(string) {})
			if call == "DELETE " {
				expect.Says(t, call, err, want)
				return
			}
			expect.Same(t, call+": "+found[0].Text, true, strings.HasPrefix(found[0].Text, want))
		})
	}
}

// TestNamespaceThere: a namespace of the name that another run has made is not this one's to remove.
func TestNamespaceThere(t *testing.T) {
	server := &breaking{}
	p := plan()
	p.api = server.connect(t)
	other := p.namespaceObject()
	other.Annotations[annotationRun], other.UID = "2", "other"
	server.there[other.Name], server.taken = other, true
	_, err := p.Run(t.Context(), func(string) {})
	expect.Says(t, "the error", err, "make namespace capwin-smoke-x: ")
	expect.Same(t, "calls", []string{http.MethodPost, http.MethodGet}, server.calls)
	expect.Same(t, "namespaces", 1, len(server.there))
}

// TestListsFailLater: the API server goes away while connections are tried.
func TestListsFailLater(t *testing.T) {
	c := newCluster()
	c.refuse = func(call string) *metav1.Status {
		if call != "GET /api/v1/namespaces/NS/pods" || time.Since(c.began) < 4*time.Second {
			return nil
		}
		return &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "no leader"}
	}
	report, _, took, err := c.tryAll(t, options)
	expect.Says(t, "the error", err, "no leader")
	expect.Same(t, "findings", 0, len(report))
	expect.Same(t, "time", 4*time.Second+silence, took)
}

// TestNamespaceGoneBefore: a namespace that somebody has removed meanwhile is not left.
func TestNamespaceGoneBefore(t *testing.T) {
	c := newCluster()
	c.refuse = func(call string) *metav1.Status {
		if !strings.HasPrefix(call, http.MethodDelete) {
			return nil
		}
		clear(c.spaces)
		return &metav1.Status{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}
	}
	_, _, took, err := c.tryAll(t, options)
	expect.OK(t, err)
	expect.Same(t, "time", 5*time.Second, took)
}
