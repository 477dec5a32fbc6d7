package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
)

// maxText is how long a text of a server's may be that reaches conditions and logs, and maxError an error with such texts.
const maxText, maxError = 300, 4 << 10

// What an answer may be made of. A list of 20 Nodes with all that kubelets write has 10,000 objects and 20,000 values, and is 12
// deep.
const (
	maxDepth   = 64
	maxObjects = 30_000
	maxValues  = 40_000
	maxOnTop   = 100
)

var shape = apiserver.Shape{Depth: maxDepth, Objects: maxObjects, Values: maxValues, OnTop: maxOnTop}

// sound reports whether an answer is JSON that can be decoded without surprise.
func sound(body []byte) bool { return shape.Sound(body) }

// refusal keeps of the body of a refusal what we act on and show. Without a body, the code of the answer is enough.
func refusal(body []byte) []byte {
	var status metav1.Status
	if !sound(body) || json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		return nil
	}
	kept := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: status.Code, Reason: metav1.StatusReason(plain(string(status.Reason))), Message: plain(status.Message),
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	return text
}

// plain is a text in one line that is not too long.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, text)
	return text[:min(len(text), maxText)]
}

// Brief is an error of a cluster that may be kept. That of a decoder may quote a whole answer, and has no type that matters.
func Brief(err error) error {
	if err == nil || len(err.Error()) <= maxError {
		return err
	}
	return errors.New(plain(err.Error()))
}

// Guard makes an error of a panic: an answer of one cluster must not end the manager, which looks after others. The log has the
// place of the panic.
func Guard(ctx context.Context, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			ctrl.LoggerFrom(ctx).Error(err, "A bug in this program has ended a check of a cluster", "stack", string(debug.Stack()))
		}
	}()
	return call()
}
