package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// cluster is a workload cluster in memory, on the clock of a bubble: an API server, a scheduler that has room, kubelets that
// start a pod within two seconds, and a network. Each part can fail alone. test/suites/lab has the real API server and pods that
// run.
type cluster struct {
	nodes []corev1.Node
	// earlier are namespaces that are there before.
	earlier []corev1.Namespace
	// lacks are rights that the user does not have.
	lacks []string
	// refuse answers a call instead of the API server, if it returns a status; call is METHOD path, with NS for the namespace.
	refuse func(call string) *metav1.Status
	// hangs says which calls get no answer, and cuts is the end of those whose connection breaks.
	hangs func(call string) bool
	cuts  string
	// live is what a kubelet makes of a pod that is so old, after all went well; gone says that there is no such pod any more.
	live func(pod *corev1.Pod, age time.Duration) (gone bool)
	// events are those of pods in the namespace.
	events []corev1.Event
	// log is what the kubelet has of the server, summary its statistics, and status how a program ended that exec ran.
	log, summary, status string

	mu       sync.Mutex
	began    time.Time
	spaces   map[string]*corev1.Namespace
	services map[string]*corev1.Service
	pods     map[string]*corev1.Pod
	calls    []string
	reviewed []right
}

// newCluster has a Linux and a Windows Node, and all is well.
func newCluster() *cluster {
	return &cluster{
		nodes: []corev1.Node{node("linux", "linux"), node("win", "windows", build(build2022))}, status: `{"status":"Success"}`,
		log: "starting\nlistening\n", summary: `{"node":{"nodeName":"win","memory":{}},"pods":[{},{}]}`,
		spaces: map[string]*corev1.Namespace{}, services: map[string]*corev1.Service{}, pods: map[string]*corev1.Pod{},
	}
}

// pipes is a network of one listener.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6443} }

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// within runs a test in a bubble, with a way to the cluster.
func (c *cluster) within(t *testing.T, run func(t *testing.T, server *remote.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.began = time.Now()
		way := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
		front := &http.Server{Handler: c, ErrorLog: nil, ReadHeaderTimeout: time.Minute}
		go func() { _ = front.Serve(way) }() // it ends with Close
		defer func() { _ = front.Close() }()
		config := &rest.Config{Host: "http://127.0.0.1:6443", Dial: way.dial}
		run(t, expect.Got(remote.New(config, "--kubeconfig FILE"))(t))
	})
}

// ServeHTTP is the API server.
func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := r.Method + " " + r.URL.Path
	if parts := strings.SplitN(call, "/", 6); len(parts) == 6 && parts[3] == "namespaces" {
		parts[4] = "NS"
		call = strings.Join(parts, "/")
	}
	c.mu.Lock()
	c.calls = append(c.calls, call)
	refuse, hangs := c.refuse, c.hangs != nil && c.hangs(call)
	c.mu.Unlock()
	switch {
	case hangs:
		_, _ = io.Copy(io.Discard, r.Body) // a server learns only then that the client leaves
		<-r.Context().Done()
		return
	case c.cuts != "" && strings.HasSuffix(call, c.cuts):
		panic(http.ErrAbortHandler)
	}
	if refuse != nil {
		if status := refuse(call); status != nil {
			status.Status = metav1.StatusFailure
			answer(w, int(status.Code), status)
			return
		}
	}
	resource := call[strings.LastIndex(call, "/")+1:]
	switch {
	case resource == "selfsubjectaccessreviews":
		c.review(w, r)
	case resource == "exec":
		c.exec(w, r)
	case resource == "log":
		_, _ = io.WriteString(w, c.log)
	case resource == "summary":
		_, _ = io.WriteString(w, c.summary)
	case r.Method == http.MethodPost:
		c.create(w, r, resource)
	case r.Method == http.MethodGet:
		c.list(w, resource)
	case r.Method == http.MethodDelete:
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.spaces, resource)
		answer(w, http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess})
	}
}

func (c *cluster) review(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SelfSubjectAccessReview
	_ = json.NewDecoder(r.Body).Decode(&review)
	a := review.Spec.ResourceAttributes
	wants := right{a.Verb, a.Resource, a.Subresource, a.Namespace != ""}
	review.Status.Allowed = !slices.Contains(c.lacks, wants.String())
	c.mu.Lock()
	c.reviewed = append(c.reviewed, wants)
	c.mu.Unlock()
	answer(w, http.StatusCreated, &review)
}

// exec runs agnhost as the v4 and v5 protocols have it: the first byte is the stream, and the last message the status.
func (c *cluster) exec(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.WriteMessage(websocket.BinaryMessage, []byte("\x02"+strings.Join(r.URL.Query()["command"], " ")))
	_ = conn.WriteMessage(websocket.BinaryMessage, []byte("\x03"+c.status))
}

func (c *cluster) create(w http.ResponseWriter, r *http.Request, resource string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var made any
	switch resource {
	case "namespaces":
		ns := &corev1.Namespace{}
		_ = json.NewDecoder(r.Body).Decode(ns)
		ns.UID, made, c.spaces[ns.Name] = "made", ns, ns
	case "services":
		s := &corev1.Service{}
		_ = json.NewDecoder(r.Body).Decode(s)
		s.Spec.ClusterIP = fmt.Sprintf("10.96.0.%d", 1+len(c.services))
		if s.Spec.Type == corev1.ServiceTypeNodePort {
			s.Spec.Ports[0].NodePort = 30080
		}
		made, c.services[s.Name] = s, s
	case "pods":
		pod := &corev1.Pod{}
		_ = json.NewDecoder(r.Body).Decode(pod)
		pod.CreationTimestamp = metav1.NewTime(time.Now())
		made, c.pods[pod.Name] = pod, pod
	}
	answer(w, http.StatusCreated, made)
}

func (c *cluster) list(w http.ResponseWriter, resource string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch resource {
	case "nodes":
		answer(w, http.StatusOK, corev1.NodeList{Items: c.nodes})
	case "namespaces":
		answer(w, http.StatusOK, corev1.NamespaceList{Items: c.earlier})
	case "events":
		answer(w, http.StatusOK, corev1.EventList{Items: c.events})
	case "pods":
		var all corev1.PodList
		for _, pod := range c.pods {
			seen := pod.DeepCopy()
			age := time.Since(pod.CreationTimestamp.Time)
			lives(seen, age)
			if c.live == nil || !c.live(seen, age) {
				all.Items = append(all.Items, *seen)
			}
		}
		answer(w, http.StatusOK, all)
	default:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

// lives is what a kubelet makes of a pod: a server runs after two seconds, and the programs of a client have connected after
// three.
func lives(pod *corev1.Pod, age time.Duration) {
	pod.Spec.NodeName, pod.Status.Phase = pod.Spec.NodeSelector[labelOS], corev1.PodPending
	if age < 2*time.Second {
		return
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP = map[bool]string{true: "10.244.0.2", false: "10.244.1.2"}[pod.Name == linuxServer]
	for _, container := range pod.Spec.Containers {
		status := corev1.ContainerStatus{Name: container.Name, State: running.State}
		if container.Name != labelServer && age >= 3*time.Second {
			status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
}
