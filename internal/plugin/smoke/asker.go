package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// askTimeout is how long a kubelet may take for its answer.
const askTimeout = 15 * time.Second

// asker has the API server ask the kubelet of a target.
type asker struct {
	api                  *api
	namespace, pod, node string
}

// finding asks once.
func (a *asker) finding(ctx context.Context, check string, one question) cloud.Finding {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	said, err := one.ask(a, ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", askTimeout)
	}
	if err != nil {
		words := joined(err.Error(), unexpected(err))
		why := &failure{cause: causeOf(answers, words), words: words}
		return cloud.Finding{Check: check, Result: cloud.CheckFailed, Text: sentenceOf("", why)}
	}
	return cloud.Finding{Check: check, Result: cloud.CheckOK, Text: said + ", " + seconds(time.Since(begun))}
}

// unexpected is what a server said that is no answer of the API: a kubelet's own text.
func unexpected(err error) (words string) {
	if status, is := errors.AsType[*apierrors.StatusError](err); is && status.ErrStatus.Details != nil {
		for _, one := range status.ErrStatus.Details.Causes {
			if one.Type == metav1.CauseTypeUnexpectedServerResponse {
				words = joined(words, one.Message)
			}
		}
	}
	return words
}

// raw is the body, or the error that the API server has put into it.
func raw(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// exec runs a program in the Windows pod, by a WebSocket as kubectl does, or else by SPDY, as servers before 1.31 want it.
func (a *asker) exec(ctx context.Context) (string, error) {
	request := a.api.core.RESTClient().Post().Namespace(a.namespace).Resource("pods").Name(a.pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: labelServer, Stdout: true, Stderr: true,
			Command: []string{"/agnhost", "connect", hostPort("127.0.0.1", serverPort), "--timeout=5s", "--protocol=tcp"},
		}, scheme.ParameterCodec)
	config := rest.CopyConfig(a.api.config)
	webSocket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, request.URL().String())
	if err != nil {
		return "", err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, request.URL())
	if err != nil {
		return "", err
	}
	both, err := remotecommand.NewFallbackExecutor(webSocket, spdy, func(err error) bool {
		_, ran := errors.AsType[exec.ExitError](err)
		return !ran && ctx.Err() == nil
	})
	if err != nil {
		return "", err
	}
	var out, failed bytes.Buffer // two, because both are written at once
	if err := both.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &failed}); err != nil {
		return "", errors.New(joined(err.Error(), out.String()+failed.String()))
	}
	return "agnhost connect ran in it", nil
}

// logs reads what the server said when it started.
func (a *asker) logs(ctx context.Context) (string, error) {
	text, err := raw(a.api.core.Pods(a.namespace).GetLogs(a.pod, &corev1.PodLogOptions{Container: labelServer}).Do(ctx))
	if err != nil {
		return "", err
	}
	lines := strings.Count(string(text), "\n")
	if lines == 0 {
		return "", errors.New("the log is empty, but the server writes a line when it starts")
	}
	return fmt.Sprintf("%d lines", lines), nil
}

// summary is what counts of the kubelet's answer (k8s.io/kubelet/pkg/apis/stats/v1alpha1).
type summary struct {
	Node struct {
		Name   string    `json:"nodeName"`
		Memory *struct{} `json:"memory"`
	} `json:"node"`
	Pods []struct{} `json:"pods"`
}

// stats reads what metrics-server and others are made of.
func (a *asker) stats(ctx context.Context) (string, error) {
	text, err := raw(a.api.core.RESTClient().Get().Resource("nodes").Name(a.node).SubResource("proxy").Suffix("stats/summary").
		Do(ctx))
	if err != nil {
		return "", err
	}
	var found summary
	if err := json.Unmarshal(text, &found); err != nil {
		return "", fmt.Errorf("stats/summary: %w", err)
	}
	if found.Node.Name != a.node || found.Node.Memory == nil {
		return "", fmt.Errorf("stats/summary has no memory of the node %s, but speaks of %q", a.node, found.Node.Name)
	}
	return fmt.Sprintf("of the node and %d pods", len(found.Pods)), nil
}
