package smoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// askTimeout is how long a kubelet may take for its answer.
const askTimeout = 15 * time.Second

// maxLog is how much of the server's log a kubelet is asked for.
const maxLog = 64 << 10

// asker has the API server ask the kubelet of a target.
type asker struct {
	api                  *api
	namespace, pod, node string
}

// timeout is what errors of contexts, connections and silent servers have in common.
type timeout interface {
	error
	Timeout() bool
}

// finding asks once.
func (a *asker) finding(ctx context.Context, check string, q question) cloud.Finding {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := q.ask(a, ctx)
	// Which of the bounds of this call ends it first is chance: its context, its connection's, or that of a silent server.
	if slow, ok := errors.AsType[timeout](err); ok && slow.Timeout() {
		err = fmt.Errorf("no answer within %s", askTimeout)
	}
	if err != nil {
		words := joined(err.Error(), unexpected(err))
		failed := &failure{cause: causeOf(answers, words), words: words}
		return cloud.Finding{Check: check, Result: cloud.CheckFailed, Text: sentenceOf("", failed)}
	}
	return cloud.Finding{Check: check, Result: cloud.CheckOK, Text: answer + ", " + seconds(time.Since(begun))}
}

// unexpected is a server's message that is no answer of the API: a kubelet's own text.
func unexpected(err error) (words string) {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Details != nil {
		for _, c := range status.ErrStatus.Details.Causes {
			if c.Type == metav1.CauseTypeUnexpectedServerResponse {
				words = joined(words, c.Message)
			}
		}
	}
	return words
}

// exec runs a program in the Windows pod.
func (a *asker) exec(ctx context.Context) (string, error) {
	query := url.Values{
		"container": {labelServer}, "stdout": {"true"}, "stderr": {"true"},
		"command": {"/agnhost", "connect", hostPort("127.0.0.1", serverPort), "--timeout=5s", "--protocol=tcp"},
	}
	printed, err := a.api.server.Run(ctx, namespaced(a.namespace, "pods/"+a.pod+"/exec"), query)
	switch {
	case err == nil:
		return "agnhost connect ran in it", nil
	case printed == "":
		return "", err
	}
	return "", errors.New(joined(err.Error(), printed))
}

// logs reads the messages of the server at its start.
func (a *asker) logs(ctx context.Context) (string, error) {
	query := url.Values{"container": {labelServer}, "limitBytes": {strconv.Itoa(maxLog)}}
	text, err := a.api.server.Ask(ctx, namespaced(a.namespace, "pods/"+a.pod+"/log"), query)
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
	text, err := a.api.server.Ask(ctx, "/api/v1/nodes/"+url.PathEscape(a.node)+"/proxy/stats/summary", nil)
	if err != nil {
		return "", err
	}
	var found summary
	if err := json.Unmarshal(text, &found); err != nil {
		return "", fmt.Errorf("stats/summary: %w", err)
	}
	if found.Node.Name != a.node || found.Node.Memory == nil {
		return "", fmt.Errorf("stats/summary has no memory of the node %s, but names %q", a.node, found.Node.Name)
	}
	return fmt.Sprintf("of the node and %d pods", len(found.Pods)), nil
}
