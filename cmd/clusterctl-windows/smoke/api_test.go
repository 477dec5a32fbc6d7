package smoke

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// breaking is an API server with namespaces that breaks off: test/suites/lab has the real one, whose answers come.
type breaking struct {
	// cut says that it makes a namespace and breaks the connection, dead that it answers no DELETE, taken that there is one.
	cut, dead, taken bool

	mu    sync.Mutex
	there map[string]*corev1.Namespace
	calls []string
}

func (b *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/")
	b.calls = append(b.calls, r.Method)
	switch r.Method {
	case http.MethodPost:
		if b.taken {
			refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
			return
		}
		ns := &corev1.Namespace{}
		if json.NewDecoder(r.Body).Decode(ns) != nil {
			panic(http.ErrAbortHandler)
		}
		ns.UID = "made"
		b.there[ns.Name] = ns
		if b.cut {
			panic(http.ErrAbortHandler)
		}
		answer(w, http.StatusCreated, ns)
	case http.MethodGet:
		if ns := b.there[name]; ns != nil {
			answer(w, http.StatusOK, ns)
			return
		}
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case http.MethodDelete:
		options := metav1.DeleteOptions{}
		switch decoded := json.NewDecoder(r.Body).Decode(&options) == nil; {
		case b.dead || !decoded:
			refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
		case b.there[name] == nil:
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		case *options.Preconditions.UID != b.there[name].UID:
			refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		default:
			delete(b.there, name)
			answer(w, http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess})
		}
	}
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	answer(w, int(code), &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: "no"})
}

func answer(w http.ResponseWriter, code int, object any) {
	if status, is := object.(*metav1.Status); is {
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	}
	if ns, is := object.(*corev1.Namespace); is {
		ns.TypeMeta = metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func (b *breaking) connect(t *testing.T) *api {
	t.Helper()
	b.there = map[string]*corev1.Namespace{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	a := newAPI(expect.Got(remote.New(&rest.Config{Host: server.URL}, "--kubeconfig FILE"))(t))
	a.removing = 100 * time.Millisecond
	return a
}

// TestNamespaceAfterACut: a request whose answer never came has made a namespace, which goes all the same.
func TestNamespaceAfterACut(t *testing.T) {
	server := &breaking{cut: true}
	p := plan()
	p.api = server.connect(t)
	found, err := p.Run(t.Context(), func(string) {})
	expect.Says(t, "the error", err, "make namespace capwin-smoke-x: ")
	if found != nil || len(server.there) > 0 {
		t.Errorf("found %+v, there are %+v after %v", found, server.there, server.calls)
	}
	expect.Same(t, "that it is left", nil, Left(err))
}

// TestNamespaceOfAnother: who has the same name is not touched, whether there from the beginning or exchanged.
func TestNamespaceOfAnother(t *testing.T) {
	server := &breaking{cut: true}
	a := server.connect(t)
	wanted := plan().namespaceObject()
	other := wanted.DeepCopy()
	other.Annotations[annotationRun], other.UID = "2", "other"
	server.there[other.Name] = other
	if sameRun(other, wanted) {
		t.Error("another run counts as this one")
	}
	made := wanted.DeepCopy()
	made.UID = types.UID("made")
	expect.OK(t, a.removeNamespace(t.Context(), made))
	expect.Same(t, "namespaces", 1, len(server.there))
}

// TestNamespaceLeft: the user is told with which command to remove it, also when it was Ctrl-C that ended the run.
func TestNamespaceLeft(t *testing.T) {
	server := &breaking{dead: true}
	p := plan()
	p.api = server.connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Run(ctx, func(string) { cancel() })
	left := Left(err)
	expect.Says(t, "what is left", left, "the namespace capwin-smoke-x is left: ")
	expect.Says(t, "what is left", left, "; kubectl delete namespace capwin-smoke-x removes it")
	expect.Says(t, "the error", err, context.Canceled.Error())
}

// TestRunAfterCtrlC makes nothing.
func TestRunAfterCtrlC(t *testing.T) {
	server := &breaking{}
	p := plan()
	p.api = server.connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Run(ctx, func(string) {})
	expect.Says(t, "the error", err, context.Canceled.Error())
	expect.Same(t, "calls", 0, len(server.calls))
}
