package workload

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/odd"
)

// FuzzFeed: whatever a watch says, only what is known is told, and a list is complete only once it began.
func FuzzFeed(f *testing.F) {
	odd.Fuzz(f, checkFeed)
}

func checkFeed(t *testing.T, source *odd.Source) {
	var told []watch.EventType
	feed := &Feed{
		Resource: Resource{Version: "v1", Name: "nodes"}, Lists: source.Once(2), plain: source.Once(3),
		Told: func(e Event) { told = append(told, e.Type) },
	}
	for range 3 {
		var body bytes.Buffer
		for range source.N(6) {
			body.Write(eventLine(source))
		}
		_ = feed.read(t.Context(), &Watcher{large: make(chan struct{}, 1), pace: flowcontrol.NewFakeAlwaysRateLimiter()}, &body)
		feed.endList()
	}
	listing := false
	for _, one := range told {
		switch one {
		case Begun:
			listing = true
		case Listed:
			if !listing {
				t.Errorf("%v: a list ended that had not begun", told)
			}
			listing = false
		case LeftOut, watch.Added, watch.Modified, watch.Deleted:
		default:
			t.Errorf("told %q", one)
		}
	}
	if !feed.Lists && (slices.Contains(told, Begun) || slices.Contains(told, Listed)) {
		t.Errorf("%v is told to who has no list", told)
	}
	if len(feed.version) > maxVersion {
		t.Errorf("version %q", feed.version)
	}
}

func eventLine(s *odd.Source) []byte {
	object := s.Object("nodes")
	if s.Once(3) {
		object = s.JSON(map[string]any{"metadata": map[string]any{
			"resourceVersion": odd.One(s, "7", s.Text()), "annotations": map[string]any{"k8s.io/initial-events-end": "true"},
		}})
	}
	kind := odd.One(s, "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "BEGUN", "LISTED", "HIDDEN", "LEFTOUT", "")
	line := slices.Concat([]byte(`{"type":"`+kind+`","object":`), object, []byte("}\n"))
	switch s.N(12) {
	case 1:
		return append([]byte(s.Text()), '\n')
	case 2:
		return slices.Concat([]byte(`{"object":`), object, bytes.Repeat([]byte(" "), maxEvent), []byte("}\n"))
	case 3:
		return []byte(`{"type":"ADDED","object":{"metadata":{"name":"a","uid":"b"},"a":` + strings.Repeat("[", 100) +
			strings.Repeat("]", 100) + "}}\n")
	}
	return line
}

// FuzzLines: each line is told as it is, but for those that are too long, of which there is the head.
func FuzzLines(f *testing.F) {
	odd.Fuzz(f, checkLines)
}

func checkLines(t *testing.T, source *odd.Source) {
	var body []byte
	for range source.N(8) {
		size := odd.One(source, 0, 1, smallEvent-1, smallEvent, maxEvent-1, maxEvent, maxEvent+1, 3*maxEvent) - source.N(3)
		body = append(body, strings.Repeat("abc"[source.N(3):][:1], max(size, 0))...)
		body = append(body, '\n')
	}
	body = append(body, source.Text()...)
	read := &lines{from: bufio.NewReaderSize(bytes.NewReader(body), 16+source.N(200)), large: make(chan struct{}, 1)}
	defer read.release()
	for rest := body; len(rest) > 0; {
		at := bytes.IndexByte(rest, '\n')
		want := rest
		if at >= 0 {
			want = rest[:at+1]
		}
		rest = rest[len(want):]
		line, tooLong, err := read.next(t.Context())
		if err != nil || tooLong != (len(want) > maxEvent) || !tooLong && !bytes.Equal(line, want) || !bytes.HasPrefix(want, line) {
			t.Fatalf("a line of %d bytes: %d bytes, too long: %v, %v", len(want), len(line), tooLong, err)
		}
	}
	if _, _, err := read.next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// FuzzLeftOut: the head of any event says at most which object it is of.
func FuzzLeftOut(f *testing.F) {
	odd.Fuzz(f, checkLeftOut)
}

func checkLeftOut(t *testing.T, source *odd.Source) {
	line := eventLine(source)
	line = line[:min(len(line), source.N(250)*20)]
	for range source.N(4) {
		if len(line) > 0 {
			line[source.N(len(line))] = odd.One[byte](source, '{', '}', '[', ']', '"', ',', ':', '\\', 0)
		}
	}
	if e := leftOut(line); e.Type != LeftOut || len(e.Of) > len(line) {
		t.Errorf("%+v", e)
	}
	sound(line)
	refusal(line)
}

// oddAnswers are those of an API server to one call after another.
type oddAnswers struct{ *odd.Source }

func (a oddAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	code := odd.One(a.Source, 200, 200, 200, 200, 404, 403, 500, 302)
	var items []any
	var object any
	switch {
	case strings.Contains(r.URL.Path, "/nodes"):
		for range a.N(4) {
			items = append(items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: a.Text(), Labels: a.Labels()}})
		}
	case strings.Contains(r.URL.Path, "/deployments"):
		for range a.N(3) {
			w := a.Workload()
			items = append(items, appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace}, Spec: appsv1.DeploymentSpec{Template: w.Template},
			})
		}
	case strings.Contains(r.URL.Path, "/runtimeclasses"):
		object = append(a.Classes(), nodev1.RuntimeClass{})[0]
	case strings.Contains(r.URL.Path, "/services"):
		service := corev1.Service{}
		service.Spec.Selector = odd.One(a.Source, map[string]string{"k8s-app": "kube-dns"}, a.Labels())
		object = service
	default:
		object = corev1.ConfigMap{Data: a.Labels()}
	}
	if object == nil || a.Once(12) {
		object = map[string]any{"metadata": map[string]any{"continue": odd.One(a.Source, "", "more", a.Text())}, "items": items}
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(a.JSON(object))),
	}, nil
}

// FuzzAnswers: whatever an API server answers, who reads of it has it, or an error.
func FuzzAnswers(f *testing.F) {
	odd.Fuzz(f, checkAnswers)
}

func checkAnswers(t *testing.T, source *odd.Source) {
	for range 3 {
		web := &http.Client{Transport: guarded{next: oddAnswers{source}, line: newLine(), namespace: newGate(), clock: &clock{}}}
		api := expect.Got(newClient("https://workload.test", web, 10_000, 10_000))(t)
		if found, err := readDNS(t.Context(), api); err == nil && len(found.Linux.Found) > mostPages*mostNodes {
			t.Errorf("%d Nodes", len(found.Linux.Found))
		}
		_, _ = readControlPlane(t.Context(), api)                    // an error is as good
		_, _ = lookFor(t.Context(), api, clusterInfo, kubeletConfig) // an error is as good
	}
}

// FuzzKubeconfig: a kubeconfig of any text is refused, or names a server that we may call.
func FuzzKubeconfig(f *testing.F) {
	var ca string
	odd.Fuzz(f, func(t *testing.T, source *odd.Source) {
		if ca == "" {
			ca = aCA(t)
		}
		checkKubeconfig(t, source, ca)
	})
}

func checkKubeconfig(t *testing.T, source *odd.Source, ca string) {
	words := strings.Fields(text("https://127.0.0.1:6443", ca))
	kubeconfig := text("https://127.0.0.1:6443", ca)
	for range source.N(5) {
		kubeconfig = strings.Replace(kubeconfig, odd.One(source, words...), odd.One(source, source.Text(), "[]", "{a: b}", "!!binary x",
			"server:", "user: {exec: {}}", "- - -", "0x7", "null"), 1)
	}
	access, err := vet([]byte(kubeconfig))
	if err == nil && !strings.HasPrefix(access.server, "https://") {
		t.Errorf("accepted %q", kubeconfig)
	}
}
