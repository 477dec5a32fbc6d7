package bootstrap_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Every constant of reasons.go must be explained, once, with something to do.
func TestReasonsAreExplained(t *testing.T) {
	var explained []string
	for _, reason := range bootstrap.Reasons() {
		explained = append(explained, reason.Name)
		for _, text := range []string{reason.Meaning, reason.Cause, reason.Command} {
			if text == "" || strings.ContainsAny(text, "\n|") {
				t.Errorf("%s: %q must be one line that a table takes", reason.Name, text)
			}
		}
		if !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(reason.Name) {
			t.Errorf("%q is no reason of a condition", reason.Name)
		}
	}
	declared := declaredReasons(t)
	slices.Sort(explained)
	slices.Sort(declared)
	if diff := cmp.Diff(declared, explained); diff != "" {
		t.Errorf("constants and explanations differ (-constants +explained):\n%s", diff)
	}
}

func declaredReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		return false
	})
	return names
}

func TestReasonsAreACopy(t *testing.T) {
	bootstrap.Reasons()[0].Name = "Changed"
	if bootstrap.Reasons()[0].Name == "Changed" {
		t.Error("a caller can change the list of all others")
	}
}

// What kubeadm writes, 1.30 to 1.37, must get the right name: also when words of an earlier stage stand before.
func TestDiagnoses(t *testing.T) {
	const retry = `I0101 token.go:243] [discovery] Retrying due to error: could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"` + "\n" +
		`I0101 token.go:236] [discovery] Retrying due to error: failed to request the cluster-info ConfigMap: Get "https://10.0.0.10:6443": dial tcp: connect: connection refused` + "\n"
	for _, test := range []struct{ name, output, want string }{
		{
			"other CA", `error execution phase preflight: couldn't validate the identity of the API Server: cluster CA found in cluster-info ConfigMap is invalid: none of the public keys "sha256:aa" are pinned`,
			bootstrap.ReasonAPIServerCAMismatch,
		},
		{"certificate of another CA", `tls: failed to verify certificate: x509: certificate signed by unknown authority`, bootstrap.ReasonAPIServerCAMismatch},
		{
			"clock", `couldn't validate the identity of the API Server: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2019-01-01 is before 2026-01-01`,
			bootstrap.ReasonClockWrong,
		},
		{
			"no such token", `couldn't validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"`,
			bootstrap.ReasonTokenRejected,
		},
		{"other secret", `failed to verify JWS signature of received cluster info object, can't trust this API Server`, bootstrap.ReasonTokenRejected},
		{"token gone after discovery", `error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: failed to get config map: Unauthorized`, bootstrap.ReasonTokenRejected},
		{
			"nobody there", `couldn't validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get "https://10.0.0.10:6443": dial tcp 10.0.0.10:6443: i/o timeout`,
			bootstrap.ReasonAPIServerUnreachable,
		},
		{"no name", `dial tcp: lookup api.example.com: no such host`, bootstrap.ReasonAPIServerUnreachable},
		{"preflight", "[preflight] Some fatal errors occurred:\n\t[ERROR Port-10250]: Port 10250 is in use", bootstrap.ReasonPreflightFailed},
		{"name taken", retry + `error execution phase kubelet-start: a Node with name "blue" and status "Ready" already exists in the cluster. You must delete`, bootstrap.ReasonNodeNameTaken},
		{"kubelet dies", retry + `[kubelet-check] The kubelet is not healthy after 4m0.001s`, bootstrap.ReasonKubeletNotHealthy},
		{"kubelet dies, 1.30", retry + `[kubelet-check] It seems like the kubelet isn't running or healthy.`, bootstrap.ReasonKubeletNotHealthy},
		{
			"no certificate", retry + "error execution phase kubelet-wait-bootstrap: failed while waiting for TLS bootstrap: context deadline exceeded\n- The kubelet is not running",
			bootstrap.ReasonTLSBootstrapFailed,
		},
		{"something else", "panic: runtime error", bootstrap.ReasonJoinFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			join := step[*plan.Run](t, render(t, plainInput(t)).Plan(), "kubeadm-join")
			got := join.Reason
			for _, rule := range join.Diagnose {
				if regexp.MustCompile("(?i)" + rule.Match).MatchString(test.output) {
					got = rule.Reason
					break
				}
			}
			if got != test.want {
				t.Errorf("diagnosed as %s, want %s", got, test.want)
			}
		})
	}
}
