package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	statsv1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

// approve lets the kubelet have the certificate of its port, without which no handshake succeeds.
func (a *answers) approve(t *testing.T) {
	t.Helper()
	_, err := a.logs(t, "windows-server", "server")
	expect.Says(t, "logs before the certificate is approved", err, "remote error: tls: internal error")
	requests := a.client.CertificatesV1().CertificateSigningRequests()
	approved := 0
	for _, one := range expect.Got(requests.List(t.Context(), metav1.ListOptions{}))(t).Items {
		if one.Spec.SignerName != certificatesv1.KubeletServingSignerName {
			continue
		}
		one.Status.Conditions = append(one.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
		})
		expect.Got(requests.UpdateApproval(t.Context(), one.Name, &one, metav1.UpdateOptions{}))(t)
		approved++
	}
	if approved != 1 {
		t.Fatalf("%d certificates of kubelets' ports are to be approved", approved)
	}
	wait.Eventually(t, "logs with the certificate", func(context.Context) error {
		_, err := a.logs(t, "windows-server", "server")
		return err
	})
}

// kubelet is asked for logs, metrics, and by exec; then it refuses, and then it is not reached.
func (a *answers) kubelet(t *testing.T) {
	t.Helper()
	for node, server := range map[string]string{a.node: "windows-server", pods.LinuxNodes[0]: "linux-server"} {
		if said, err := a.logs(t, server, "server"); err != nil || said != "Started HTTP server on port 8080\n" {
			t.Errorf("the log of %s: %q, %v", server, said, err)
		}
		for _, spdy := range []bool{false, true} {
			said, code, err := a.exec(t, server, spdy, "/agnhost", "--version")
			if err != nil || code != 0 || said != "app version 2.63.0\n" {
				t.Errorf("exec in %s, SPDY %t: %q, %d, %v", server, spdy, said, code, err)
			}
		}
		said, code, err := a.exec(t, server, false, "/agnhost", "connect", "127.0.0.1:8080", "--timeout=1s")
		if err != nil || code != 0 {
			t.Errorf("exec that connects to its own container: %q, %d, %v", said, code, err)
		}
		said, code, err = a.exec(t, server, false, "/agnhost", "connect", "127.0.0.1:8081", "--timeout=1s")
		if err != nil || code != 1 || said == "" {
			t.Errorf("exec of what fails in %s: %q, %d, %v", server, said, code, err)
		}
		_, _, err = a.exec(t, server, false, "/nothing")
		expect.Says(t, "exec of what is not there", err, "error executing command in container")
		summary := expect.Got(a.stats(t, node))(t)
		has := slices.ContainsFunc(summary.Pods, func(pod statsv1.PodStats) bool {
			return pod.PodRef.Name == server && len(pod.Containers) == 1
		})
		if memory := summary.Node.Memory; summary.Node.NodeName != node || memory == nil || *memory.WorkingSetBytes == 0 || !has {
			t.Errorf("the summary of %s: %+v", node, summary)
		}
	}
	for words, faults := range map[string]traffic.Faults{
		"refuse": {LogsRefused: true, ExecRefused: true, StatsRefused: true}, "reach": {KubeletClosed: true},
	} {
		a.network.Break(a.node, faults)
		_, ofLogs := a.logs(t, "windows-server", "server")
		_, _, ofExec := a.exec(t, "windows-server", false, "hostname")
		_, ofStats := a.stats(t, a.node)
		for what, err := range map[string]error{"logs": ofLogs, "exec": ofExec, "stats": ofStats} {
			t.Logf("%s that the kubelet is to %s: %v", what, words, err)
			if err == nil {
				t.Errorf("%s hold although the API server does not %s the kubelet", what, words)
			}
		}
		a.network.Break(a.node, traffic.Faults{})
	}
}

func (a *answers) stats(t *testing.T, node string) (*statsv1.Summary, error) {
	t.Helper()
	text, err := a.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").
		Suffix("stats/summary").DoRaw(t.Context())
	summary := &statsv1.Summary{}
	if err == nil {
		err = json.Unmarshal(text, summary)
	}
	return summary, err
}

// exec runs a command in the server's container, by a WebSocket as kubectl does, or by SPDY as it did.
func (a *answers) exec(t *testing.T, pod string, spdy bool, command ...string) (said string, code int, err error) {
	t.Helper()
	request := a.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(space).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "server", Command: command, Stdout: true, Stderr: true},
			scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(a.Config, "GET", request.URL().String())
	if spdy {
		executor, err = remotecommand.NewSPDYExecutor(a.Config, "POST", request.URL())
	}
	if err != nil {
		return "", 0, err
	}
	var out, failure bytes.Buffer // both are written at a time
	err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out, Stderr: &failure})
	if ended, is := errors.AsType[exec.CodeExitError](err); is {
		return failure.String(), ended.Code, nil
	}
	return out.String(), 0, err
}

// assertKubeletsAnswer: the API server reaches each node of the lab, with Linux and with Windows.
func (s *story) assertKubeletsAnswer(ctx context.Context) {
	s.Helper()
	client := expect.Got(kubernetes.NewForConfig(s.lab.Workload.Config))(s)
	nodes := expect.Got(client.CoreV1().Nodes().List(ctx, metav1.ListOptions{}))(s).Items
	for _, node := range nodes {
		summary := &statsv1.Summary{}
		text, err := client.CoreV1().RESTClient().Get().Resource("nodes").Name(node.Name).SubResource("proxy").
			Suffix("stats/summary").DoRaw(ctx)
		if err == nil {
			err = json.Unmarshal(text, summary)
		}
		if err != nil || summary.Node.NodeName != node.Name {
			s.Errorf("the summary of %s: %+v, %v", node.Name, summary, err)
		}
	}
}
