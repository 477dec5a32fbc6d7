package world

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is an answer of the API server instead of that to a call. Its String names it.
type Fault struct {
	name   string
	status metav1.Status
	after  bool // the call took effect, and its answer was lost
}

func (f Fault) String() string { return f.name }

func refusal(name string, code int32, reason metav1.StatusReason, message string) Fault {
	return Fault{name: name, status: metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

// The answers are those of k8s.io/apimachinery/pkg/api/errors, and of k8s.io/apiserver/pkg/server/filters: a request that waits
// for too long gets Timeout, one too many gets TooManyRequests with Retry-After. A server that starts or stops answers
// ServiceUnavailable.
var (
	internalError = refusal("500", http.StatusInternalServerError, metav1.StatusReasonInternalError, "Internal error occurred: test")
	conflict      = refusal("409", http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified")
	unavailable   = refusal("503", http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "storage is initializing")
	tooMany       = refusal("429", http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests")
	timeout       = refusal("time-out", http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "request did not complete in time")
	lostAnswer    = Fault{name: "time-out after the effect", status: timeout.status, after: true}
)

// WriteFaults and ReadFaults are what may happen to a call. A read has no conflict: instead of it the server is not there.
var (
	WriteFaults = []Fault{internalError, conflict, tooMany, timeout, lostAnswer}
	ReadFaults  = []Fault{internalError, unavailable, tooMany, timeout}
)

// Faults stand between processes and API servers, make calls fail, and note all others.
type Faults struct {
	mu         sync.Mutex
	namespaces map[string]*calls
}

type calls struct {
	planned map[string]Fault // and not come about yet
	counts  map[string]int
	effects []string
}

// Begin forgets what was called in a namespace. Each call that is planned fails once.
func (f *Faults) Begin(namespace string, planned map[string]Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.namespaces == nil {
		f.namespaces = map[string]*calls{}
	}
	f.namespaces[namespace] = &calls{planned: maps.Clone(planned), counts: map[string]int{}}
}

// Left are the planned calls that were not made.
func (f *Faults) Left(namespace string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.namespaces[namespace].planned))
}

// Effects are the changes since Begin, in order, each with how often it had been by then.
func (f *Faults) Effects(namespace string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.namespaces[namespace].effects)
}

// Reads says how often what was read since Begin.
func (f *Faults) Reads(namespace string) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	reads := maps.Clone(f.namespaces[namespace].counts)
	maps.DeleteFunc(reads, func(name string, _ int) bool { return !IsRead(name) })
	return reads
}

// IsRead says whether a call of this name changes nothing that lasts.
func IsRead(name string) bool {
	return strings.Contains(name, " GET ") || strings.HasSuffix(name, " POST events")
}

// enter says whether a call fails now. While it does not take effect, it stays the call of that number.
func (f *Faults) enter(namespace, name string) (with Fault, fails bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.namespaces[namespace]
	if c == nil {
		return Fault{}, false
	}
	call := numbered(name, c.counts[name]+1)
	with, fails = c.planned[call]
	delete(c.planned, call)
	return with, fails
}

func (f *Faults) note(namespace, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.namespaces[namespace]; c != nil {
		c.counts[name]++
		if !IsRead(name) {
			c.effects = append(c.effects, numbered(name, c.counts[name]))
		}
	}
}

// faulty is where the faults of one side come about.
type faulty struct {
	faults      *Faults
	side        string // "management" or "workload"
	namespaceOf func(*http.Request) string
	next        http.RoundTripper
}

// wrap is for rest.Config.WrapTransport.
func (f *Faults) wrap(next http.RoundTripper) http.RoundTripper {
	if f == nil {
		return next
	}
	return faulty{f, "management", namespaceOf, next}
}

// RoundTrip lets a request pass, or answers it.
func (t faulty) RoundTrip(request *http.Request) (*http.Response, error) {
	name, _, err := nameOf(request)
	if err != nil {
		return nil, err
	}
	namespace := t.namespaceOf(request)
	name = t.side + " " + name + roleOf(request)
	with, fails := t.faults.enter(namespace, name)
	if fails && !with.after {
		return with.answer(request), nil
	}
	if !IsRead(name) {
		request = uncut(request)
	}
	response, err := t.next.RoundTrip(request)
	if err == nil && tookEffect(name, response.StatusCode) {
		t.faults.note(namespace, name)
	}
	if fails && err == nil {
		_ = response.Body.Close()
		return with.answer(request), nil
	}
	return response, err
}

func tookEffect(name string, code int) bool {
	return code < http.StatusMultipleChoices || IsRead(name) && code == http.StatusNotFound
}

// roleOf says what a Secret is that is read.
func roleOf(request *http.Request) string {
	path := request.URL.Path
	last := path[strings.LastIndex(path, "/")+1:]
	switch {
	case request.Method != http.MethodGet || !strings.Contains(path, "/secrets/"):
		return ""
	case last == Credentials:
		return " credentials"
	case strings.HasSuffix(last, "-kubeconfig"):
		return " kubeconfig"
	case strings.HasPrefix(last, "bootstrap-token-"):
		return " token"
	}
	return " data"
}

func namespaceOf(request *http.Request) string {
	_, rest, _ := strings.Cut(request.URL.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	return namespace
}

// answer is the response with the fault, in JSON whatever was asked for: clients decode by the type of the answer.
func (f Fault) answer(request *http.Request) *http.Response {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	body, _ := json.Marshal(f.status) // of strings and a number
	header := http.Header{"Content-Type": {"application/json"}}
	if f.status.Code == http.StatusTooManyRequests {
		header.Set("Retry-After", "1")
	}
	return &http.Response{
		StatusCode: int(f.status.Code), Status: http.StatusText(int(f.status.Code)), Header: header, ContentLength: int64(len(body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(body)), Request: request,
	}
}
