package smoke

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestKubeletsAnswers: each answer of a kubelet alone, and the sentence that helps.
func TestKubeletsAnswers(t *testing.T) {
	unavailable := func(message string) *metav1.Status {
		return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: message}
	}
	refusing := func(call, message string) func(*cluster) {
		return func(c *cluster) {
			c.refuse = func(got string) *metav1.Status {
				if strings.HasSuffix(got, call) {
					return unavailable(message)
				}
				return nil
			}
		}
	}
	ending := func(end string) func(string) bool {
		return func(call string) bool { return strings.HasSuffix(call, end) }
	}
	const log, exec, stats = "logs of the Windows pod", "exec in the Windows pod", "metrics of the Windows node"
	for name, c := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"no certificate": {
			refusing("/log", "Get log: remote error: tls: internal error"),
			log + "|failed|Get log: remote error: tls: internal error. The kubelet has no certificate for its port",
		},
		"a silent kubelet": {
			func(c *cluster) { c.hangs = ending("/log") }, log + "|failed|no answer within 15s. The API server must reach TCP 10250",
		},
		"a silent program":  {func(c *cluster) { c.hangs = ending("/exec") }, exec + "|failed|no answer within 15s. The API"},
		"silent statistics": {func(c *cluster) { c.hangs = ending("/summary") }, stats + "|failed|no answer within 15s. The API"},
		"a kubelet that breaks off": {
			func(c *cluster) { c.cuts = "/log" },
			log + "|failed|Get \"http://127.0.0.1:6443/api/v1/namespaces/capwin-smoke-",
		},
		"an empty log":       {func(c *cluster) { c.log = "" }, log + "|failed|the log is empty, but the server writes a line"},
		"statistics refused": {refusing("/summary", "dial tcp: refused"), stats + "|failed|dial tcp: refused. The API server must"},
		"statistics of none": {func(c *cluster) { c.summary = "" }, stats + "|failed|stats/summary: unexpected end of JSON input"},
		"statistics of another node": {
			func(c *cluster) { c.summary = `{"node":{"nodeName":"other","memory":{}}}` },
			stats + `|failed|stats/summary has no memory of the node win, but names "other"`,
		},
		"statistics without memory": {
			func(c *cluster) { c.summary = `{"node":{"nodeName":"win"}}` },
			stats + `|failed|stats/summary has no memory of the node win, but names "win"`,
		},
		"exec refused": {refusing("/exec", "no such container"), exec + "|failed|no such container. The kubelet answers, but does not"},
		"a program that fails": {
			func(c *cluster) {
				c.status = `{"kind":"Status","status":"Failure","message":"command terminated with exit code 1"}`
			},
			exec + "|failed|command terminated with exit code 1: /agnhost connect 127.0.0.1:8080 --timeout=5s --protocol=tcp. The kubelet",
		},
		"words of the kubelet itself": {
			func(c *cluster) {
				c.refuse = func(call string) *metav1.Status {
					if !strings.HasSuffix(call, "/log") {
						return nil
					}
					status := unavailable("the server is currently unable to handle the request")
					status.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{
						{Type: metav1.CauseTypeFieldValueInvalid, Message: "a field"},
						{Type: metav1.CauseTypeUnexpectedServerResponse, Message: "connection refused"},
					}}
					return status
				}
			},
			log + "|failed|the server is currently unable to handle the request: connection refused. The API server must reach TCP 10250",
		},
	} {
		t.Run(name, func(t *testing.T) {
			world := newCluster()
			c.change(world)
			report, _, _, err := world.tryAll(t, options)
			expect.OK(t, err)
			wantReport(t, report, c.want, "Windows pod outwards|ok|")
			failed := slices.DeleteFunc(slices.Clone(report), func(line string) bool { return !strings.Contains(line, "|failed|") })
			expect.Same(t, "failures", 1, len(failed))
		})
	}
}
