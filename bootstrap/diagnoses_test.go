package bootstrap_test

import (
	"regexp"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// What kubeadm writes, 1.30 to 1.37, must get the right name: also when words of an earlier stage stand before.
func TestDiagnoses(t *testing.T) {
	const retry = `I0101 token.go:243] [discovery] Retrying due to error: could not find a JWS signature in the ` +
		`cluster-info ConfigMap for token ID "abcdef"` + "\n" +
		`I0101 token.go:236] [discovery] Retrying due to error: failed to request the cluster-info ConfigMap: Get ` +
		`"https://10.0.0.10:6443": dial tcp: connect: connection refused` + "\n"
	for _, test := range []struct{ name, output, want string }{
		{
			"other CA", `error execution phase preflight: couldn't validate the identity of the API Server: cluster CA ` +
				`found in cluster-info ConfigMap is invalid: none of the public keys "sha256:aa" are pinned`,
			step.ReasonAPIServerCAMismatch,
		},
		{
			"certificate of another CA", `tls: failed to verify certificate: x509: certificate signed by unknown authority`,
			step.ReasonAPIServerCAMismatch,
		},
		{
			"clock", `couldn't validate the identity of the API Server: tls: failed to verify certificate: x509: ` +
				`certificate has expired or is not yet valid: current time 2019-01-01 is before 2026-01-01`,
			step.ReasonClockWrong,
		},
		{
			"no such token", `couldn't validate the identity of the API Server: could not find a JWS signature in the ` +
				`cluster-info ConfigMap for token ID "abcdef"`,
			step.ReasonTokenRejected,
		},
		{
			"other secret", `failed to verify JWS signature of received cluster info object, can't trust this API Server`,
			step.ReasonTokenRejected,
		},
		{
			"token gone after discovery",
			`error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: failed to get config map: Unauthorized`,
			step.ReasonTokenRejected,
		},
		{
			"nobody there", `couldn't validate the identity of the API Server: failed to request the cluster-info ` +
				`ConfigMap: Get "https://10.0.0.10:6443": dial tcp 10.0.0.10:6443: i/o timeout`,
			step.ReasonAPIServerUnreachable,
		},
		{"no name", `dial tcp: lookup api.example.com: no such host`, step.ReasonAPIServerUnreachable},
		{
			"preflight", "[preflight] Some fatal errors occurred:\n\t[ERROR Port-10250]: Port 10250 is in use",
			step.ReasonPreflightFailed,
		},
		{
			"name taken",
			retry + `error execution phase kubelet-start: a Node with name "blue" and status "Ready" already exists in the ` +
				`cluster. You must delete`,
			step.ReasonNodeNameTaken,
		},
		{"kubelet dies", retry + `[kubelet-check] The kubelet is not healthy after 4m0.001s`, step.ReasonKubeletNotHealthy},
		{
			"kubelet dies, 1.30", retry + `[kubelet-check] It seems like the kubelet isn't running or healthy.`,
			step.ReasonKubeletNotHealthy,
		},
		{
			"no certificate", retry + "error execution phase kubelet-wait-bootstrap: failed while waiting for TLS " +
				"bootstrap: context deadline exceeded\n- The kubelet is not running",
			step.ReasonTLSBootstrapFailed,
		},
		{"something else", "panic: runtime error", step.ReasonJoinFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			join := stepOf[*plan.Run](t, render(t, plainInput(t)).Plan(), "kubeadm-join")
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
