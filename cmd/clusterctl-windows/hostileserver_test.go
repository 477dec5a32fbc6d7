package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// evil is what a terminal must never get: a title, a cleared screen, a colour, C1, bidi marks, ends of lines that begin sentences
// in our name, and more of it than anybody reads.
const evil = "evil \x1b]0;pwned\x07\x1b[2J\x1b[31m\u009b31m\u202e\u2066\r\nnote: FORGED\n\u2028FORGED\x00"

// longEvil is evil and long.
var longEvil = evil + strings.Repeat("LONG ", 10_000)

// hostile is the API server of somebody who wants something of whoever asks it. It speaks as the real one does
// (https://kubernetes.io/docs/reference/using-api/api-concepts/), and runs the pods of smoke in an instant: each fails, with
// words.
type hostile struct {
	url, ca string
	// lie answers before the rest does, and says whether it has.
	lie func(w http.ResponseWriter, r *http.Request) (answered bool)
	// inNames follows the name of each object.
	inNames string

	heard atomic.Int64
	wrote atomic.Int64
	mu    sync.Mutex
	pods  []corev1.Pod
}

func newHostile(t *testing.T, lie func(http.ResponseWriter, *http.Request) bool) *hostile {
	t.Helper()
	h := &hostile{lie: lie}
	server := httptest.NewUnstartedServer(h)
	server.Listener = counting{server.Listener, &h.wrote}
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	h.url = server.URL
	h.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return h
}

// kubeconfig is the file of a person who uses the cluster.
func (h *hostile) kubeconfig(t *testing.T) string {
	t.Helper()
	return inFile(t, kubeconfigOf(t, h.url, []byte(h.ca), "default"))
}

// ServeHTTP implements http.Handler.
func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.heard.Add(1)
	if h.lie != nil && h.lie(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	body, _ := io.ReadAll(r.Body)
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.Method == http.MethodPost && name == "selfsubjectaccessreviews":
		write(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
	case r.Method == http.MethodPost && name == "pods":
		h.run(body)
		write(w, string(body))
	case r.Method == http.MethodPost && name == "services":
		var service corev1.Service
		_ = json.Unmarshal(body, &service)
		service.Spec.ClusterIP, service.Spec.Ports[0].NodePort = evil, 30080
		writeObject(w, service)
	case r.Method == http.MethodPost && name == "namespaces", r.Method == http.MethodDelete:
		write(w, string(body))
	case name == "version":
		writeObject(w, map[string]string{"gitVersion": "v1.36.3" + evil})
	case name == "log":
		answer(w, http.StatusInternalServerError, "InternalError", longEvil)
	case name == "exec":
		http.Error(w, longEvil, http.StatusBadGateway)
	case name == "summary":
		writeObject(w, map[string]any{"node": map[string]any{"nodeName": longEvil}})
	default:
		h.list(w, name)
	}
}

func (h *hostile) list(w http.ResponseWriter, resource string) {
	meta := metav1.ObjectMeta{Name: "a" + h.inNames, Namespace: "n" + h.inNames, Labels: map[string]string{"k" + evil: evil}}
	switch resource {
	case "nodes":
		writeItems(w, h.node("linux"), h.node("windows"))
	case "namespaces":
		writeItems(w, map[string]any{"metadata": meta})
	case "deployments", "daemonsets", "statefulsets":
		writeItems(w, map[string]any{"metadata": meta, "spec": map[string]any{"template": corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: evil, Image: "i" + evil}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		}}}})
	case "pods":
		h.mu.Lock()
		defer h.mu.Unlock()
		writeItems(w, asAny(h.pods)...)
	case "events":
		writeItems(w, corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "windows-server-0"}, Reason: "Failed", Message: longEvil,
		})
	default:
		answer(w, http.StatusNotFound, "NotFound", "no "+resource)
	}
}

func (h *hostile) node(system string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: system + h.inNames, Labels: map[string]string{
			corev1.LabelOSStable: system, corev1.LabelWindowsBuild: "10.0" + evil,
		}},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.36.3" + evil},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1" + evil}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// run makes a pod that serves, or one whose containers have all failed as often as smoke waits for.
func (h *hostile) run(body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var pod corev1.Pod
	_ = json.Unmarshal(body, &pod)
	pod.Status.PodIP = "10.244.0.2" + evil
	for _, one := range pod.Spec.Containers {
		status := corev1.ContainerStatus{Name: one.Name}
		if one.Name == "server" {
			status.State.Running = &corev1.ContainerStateRunning{}
		} else {
			status.RestartCount = 5
			status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Message: longEvil, Reason: evil}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	h.pods = append(h.pods, pod)
}

func write(w http.ResponseWriter, text string) { _, _ = io.WriteString(w, text) }

func writeObject(w http.ResponseWriter, object any) { _ = json.NewEncoder(w).Encode(object) }

func writeItems(w http.ResponseWriter, items ...any) { writeObject(w, map[string]any{"items": items}) }

func asAny[T any](all []T) (found []any) {
	for _, one := range all {
		found = append(found, one)
	}
	return found
}

// counting counts what a server could get rid of. Its buffers are small, so that this is nearly what the other side has read.
type counting struct {
	net.Listener
	wrote *atomic.Int64
}

// Accept implements net.Listener.
func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if tcp, is := conn.(*net.TCPConn); is {
		_ = tcp.SetWriteBuffer(64 << 10)
	}
	return countingConn{conn, c.wrote}, err
}

type countingConn struct {
	net.Conn
	wrote *atomic.Int64
}

// Write implements net.Conn.
func (c countingConn) Write(text []byte) (int, error) {
	n, err := c.Conn.Write(text)
	c.wrote.Add(int64(n))
	return n, err
}

// managed is a management cluster that has the kubeconfig of a hostile workload cluster, as Cluster API writes it.
func managed(t *testing.T, of *hostile) (kubeconfig string) {
	t.Helper()
	return managedBy(t, []byte(kubeconfigOf(t, of.url, []byte(of.ca), "")))
}

// managedBy is a management cluster that has this kubeconfig of a Cluster.
func managedBy(t *testing.T, text []byte) (kubeconfig string) {
	t.Helper()
	inner := base64.StdEncoding.EncodeToString(text)
	honest := newHostile(t, func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/secrets/prod-kubeconfig"):
			write(w, fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","data":{"value":%q}}`, inner))
		case strings.HasSuffix(r.URL.Path, "/windowsmachines"), strings.HasSuffix(r.URL.Path, "/windowsbootstrapconfigs"):
			writeItems(w)
		default:
			answer(w, http.StatusNotFound, "NotFound", "not there")
		}
		return true
	})
	return honest.kubeconfig(t)
}

// quiet is for a server whose clients leave it.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
