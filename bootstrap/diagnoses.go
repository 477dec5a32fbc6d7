package bootstrap

import (
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// joinDiagnoses find out from its output why kubeadm join failed. kubeadm retries for minutes and logs every attempt,
// so the output of a late failure may also have words of an earlier stage: the last stages come first.
var joinDiagnoses = []plan.Diagnosis{
	{
		Match:   `failed while waiting for TLS bootstrap`,
		Reason:  step.ReasonTLSBootstrapFailed,
		Message: "the kubelet got no certificate from the cluster",
	},
	{
		Match:   `kubelet is not healthy after|failed while waiting for the kubelet to start|kubelet isn't running or healthy`,
		Reason:  step.ReasonKubeletNotHealthy,
		Message: "the kubelet did not become healthy",
	},
	{
		Match:   `a Node with name .* already exists in the cluster`,
		Reason:  step.ReasonNodeNameTaken,
		Message: "the cluster already has a Ready Node of this name",
	},
	{
		Match:   `\[preflight\] Some fatal errors occurred`,
		Reason:  step.ReasonPreflightFailed,
		Message: "kubeadm's preflight checks failed",
	},
	{
		Match:   `certificate has expired or is not yet valid`,
		Reason:  step.ReasonClockWrong,
		Message: "a certificate is not valid at the node's time",
	},
	{
		Match:   `none of the public keys|certificate signed by unknown authority`,
		Reason:  step.ReasonAPIServerCAMismatch,
		Message: "the API server's certificate is not signed by this cluster's CA",
	},
	{
		Match:   `could not find a JWS signature|failed to verify JWS signature|Unauthorized|invalid bearer token`,
		Reason:  step.ReasonTokenRejected,
		Message: "the cluster does not accept the bootstrap token",
	},
	{
		Match:   `failed to request the cluster-info|connection refused|i/o timeout|no such host|context deadline exceeded`,
		Reason:  step.ReasonAPIServerUnreachable,
		Message: "the API server does not answer",
	},
}
