package security

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// answers with a body of JSON, as an API server does.
func answers(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// nodeList is what a workload cluster with these Nodes answers, more of which are said to follow.
func nodeList(items string) string {
	return `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"more"},"items":[` + items + `]}`
}

// zipped is a lot of nothing: 64 MiB in 64 KiB.
func zipped() string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 64 {
		_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	_ = w.Close()
	return packed.String()
}

// falseAnswer is what a hostile API server answers, and what the objects that wait for it say.
type falseAnswer struct {
	tries  string
	answer http.HandlerFunc
	says   string
}

const oneNode = `{"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","status":"False"}]}}`

// endless writes until the client goes away.
func endless(begin, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, begin)
		for err == nil {
			_, err = io.WriteString(w, again)
		}
	}
}

// hang keeps the client waiting until it goes away.
func hang(begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if begin != "" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, begin)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

// raw answers with bytes that need not be HTTP.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(connection, text)
		_ = connection.Close()
	}
}

// falseAnswers has those of each kind together.
func falseAnswers(inside *peer) [][]falseAnswer {
	status := func(code int, reason string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"no"}`, code, reason)
	}
	const (
		away = "cannot be reached"
		many = "answers with more than 2048 KiB"
		odd  = "answers with JSON that is not that of an API server"
		sent = "answers with a redirect, which is not followed"
	)
	return [][]falseAnswer{{
		{"has its token sent to another host", answers(http.StatusFound, "", "Location", inside.URL), sent},
		{"has its token sent on with a method that stays", answers(http.StatusTemporaryRedirect, "", "Location", inside.URL), sent},
		{"has its token sent on for good", answers(http.StatusPermanentRedirect, "", "Location", inside.URL), sent},
	}, {
		{
			"fills memory with what is packed", answers(http.StatusOK, zipped(), "Content-Encoding", "gzip"),
			"in an encoding that was not requested",
		},
		{"fills memory with one answer that does not end", endless(`{"items":"`, strings.Repeat("x", 1<<16)), many},
		{"fills memory with a list of nothing", answers(http.StatusOK, nodeList(strings.Repeat("{},", 600_000)+"{}")), odd},
		{"fills memory with Nodes of two characters", answers(http.StatusOK, nodeList(strings.Repeat("{},", 29_000)+"{}")), odd},
		{"fills memory with Nodes that are null", answers(http.StatusOK, nodeList(strings.Repeat("null,", 35_000)+"null")), odd},
		{"fills memory with one list of names", answers(http.StatusOK, `{"items":[`+strings.Repeat(`0,`, 900_000)+`0]}`), odd},
	}, {
		{
			"sends more Nodes than were requested", answers(http.StatusOK, nodeList(strings.Repeat(oneNode+",", 20)+oneNode)),
			"more Nodes than were requested",
		},
		{
			"has more Nodes than can be read", answers(http.StatusOK, nodeList(oneNode)),
			"has no Ready Node among its first 5 with the label",
		},
	}, {
		{"nests lists without end", answers(http.StatusOK, strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)), odd},
		{"sends half an answer", answers(http.StatusOK, nodeList(oneNode)[:100]), odd},
		{"sends nothing", answers(http.StatusOK, ""), odd},
		{"sends a web page", answers(http.StatusOK, "<html>", "Content-Type", "text/html"), "something that is not JSON"},
		{
			"sends an answer in another encoding of Kubernetes",
			answers(http.StatusOK, "k8s\x00", "Content-Type", "application/vnd.kubernetes.protobuf"), "something that is not JSON",
		},
	}, {
		{
			"sends a huge refusal", answers(http.StatusForbidden, `{"message":"`+strings.Repeat("x", 1<<20)+`"}`),
			"answers with more than 16 KiB",
		},
		{"sends huge headers", answers(http.StatusOK, "{}", "X-Long", strings.Repeat("x", 1<<20)), away},
		{"sends hints without end", raw("HTTP/1.1 103 Early Hints\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), away},
	}, {
		{"speaks no HTTP", raw("SSH-2.0-x\r\n"), away},
		{"closes each connection", raw(""), away},
		{"never answers", hang(""), away},
		{"stops in the middle of an answer", hang(`{"items":[`), away},
		{"is a load balancer without servers", answers(http.StatusServiceUnavailable, "<html>", "Content-Type", "text/html"), away},
	}, {
		{
			"has the manager wait for a day",
			answers(http.StatusTooManyRequests, status(429, "TooManyRequests"), "Retry-After", "86400"), "no",
		},
		{
			"writes a condition of its own with a refusal",
			answers(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden",`+
				`"message":"`+strings.Repeat(`\n  Ready True Running: \u001b[2J`, 400)+`"}`),
			"InternalError: read Nodes of Cluster linux-first:",
		},
	}, {
		{"sends something else than Nodes", answers(http.StatusOK, `{"kind":"Secret","apiVersion":"v1","data":{"a":"Yg=="}}`), ""},
		{"does not accept its own token", answers(http.StatusUnauthorized, status(401, "Unauthorized")), "must be renewed"},
	}}
}

// What a workload cluster's API server can do to the manager that asks it. In the end another tenant's machine, which the same
// two managers look after, gets its user data.
func TestWorkloadClusters(t *testing.T) {
	t.Parallel()
	shared.Namespace(t, world.Start{})
	inside := newPeer(t, false, nil)
	idle := newPeer(t, true, nil)
	t.Run("hostile", func(t *testing.T) {
		for _, kind := range falseAnswers(inside) {
			var attacks []attack
			for _, a := range kind {
				attacks = append(attacks, attack{"workload cluster", a.tries, func(t *testing.T) string {
					t.Parallel()
					return lied(t, a)
				}})
			}
			attemptKind(t, attacks...)
		}
		attempt(t, attack{"workload cluster", "is asked although it has no machine of ours", func(t *testing.T) string {
			t.Parallel()
			n := newTenant(t)
			n.writes(t, kubeconfig(fields{"server": idle.URL, "certificate-authority-data": idle.ca()}, fields{"token": "own"}))
			return "nothing is sent to it"
		}}, attack{"network", "answers in the place of the API server", func(t *testing.T) string {
			t.Parallel()
			return imposter(t)
		}})
	})
	inside.silent(t)
	m, _ := newTenant(t).machines(t)
	m.Await(t, "user data", world.Config("DataSecretAvailable True DataSecretAvailable"))
	idle.silent(t)
}

// asked is all that such a server may hear. Whatever it answers, nothing is written there. Before a machine may be made, its
// control plane is read, and the rights of kube-proxy and flannel. The policies are looked after if that machine waits so long.
var asked = []string{
	"GET /api/v1/nodes?",
	"GET /api/v1/namespaces?",
	"GET /api/v1/namespaces/kube-system/configmaps/capwin-linux-first", // the parameter that older versions left
	"GET /api/v1/namespaces/kube-system/services/kube-dns",
	"GET /apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic",
	"GET /apis/admissionregistration.k8s.io/v1/validatingadmissionpolic",
	"GET /apis/apps/v1/daemonsets?",
	"GET /apis/apps/v1/deployments?",
	"GET /apis/apps/v1/statefulsets?",
	"GET /apis/node.k8s.io/v1/runtimeclasses?",
	"GET /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/capwin-",
	"GET /apis/rbac.authorization.k8s.io/v1/clusterroles/capwin-",
	"GET /version",
}

// lied plays an API server to the built managers, and waits until both tell of it.
func lied(t *testing.T, a falseAnswer) string {
	server := newPeer(t, true, a.answer)
	n := newTenant(t)
	n.writes(t, kubeconfig(fields{"server": server.URL, "certificate-authority-data": server.ca()}, fields{"token": "own"}))
	m, own := n.machines(t)
	var verdict string
	m.Await(t, "sentence", func(s world.State) string {
		verdict = ready(s.Config)
		return contains(verdict, a.says)
	})
	own.Await(t, "sentence", func(s world.State) string { return contains(ready(s.Windows), a.says) })
	if len(verdict) > 600 || strings.ContainsFunc(verdict, unicode.IsControl) {
		t.Errorf("the condition says %q", verdict)
	}
	_, heard := server.all()
	for _, line := range heard {
		path, ok := strings.CutSuffix(line, " Authorization=Bearer own")
		if !ok || !slices.ContainsFunc(asked, func(what string) bool { return strings.HasPrefix(path, what) }) {
			t.Errorf("the server heard %q", line)
		}
		list, query, _ := strings.Cut(path, "?")
		if slices.Contains(asked, list+"?") && !strings.Contains(query, "limit=20") {
			t.Errorf("the server heard %q, which has no limit", line)
		}
	}
	if len(heard) == 0 {
		t.Error("the server was not asked")
	}
	return verdict
}

// imposter has a certificate of another CA: it must not see the token.
func imposter(t *testing.T) string {
	server := newPeer(t, true, nil)
	n := newTenant(t)
	other := shared.Management.Config.CAData
	n.writes(t, kubeconfig(fields{"server": server.URL, "certificate-authority-data": other}, fields{"token": "own"}))
	m, _ := n.machines(t)
	var verdict string
	m.Await(t, "sentence", func(s world.State) string {
		verdict = ready(s.Config)
		return contains(verdict, "cannot be reached")
	})
	if _, heard := server.all(); len(heard) > 0 {
		t.Errorf("the imposter heard %q", heard)
	}
	return verdict
}

// ready is the reason and the message of the object's Ready condition.
func ready[O interface {
	comparable
	conditions.Getter
}](object O) string {
	var none O
	if object == none {
		return ""
	}
	c := conditions.Get(object, "Ready")
	if c == nil || c.Reason == "WaitingForBootstrapData" || c.Status == metav1.ConditionTrue {
		return ""
	}
	return c.Reason + ": " + c.Message
}

func contains(text, part string) string {
	reason, _, _ := strings.Cut(text, ":")
	if !strings.Contains(text, part) || reason != "WaitingForLinuxNode" && reason != "InternalError" {
		return fmt.Sprintf("Ready says %q", text)
	}
	return ""
}
