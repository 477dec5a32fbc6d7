package cluster

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// page is how many objects of a list the reader of a stage gets at once.
const page = 2

// lists are what a workload cluster shows by paths, page by page as an API server does.
type lists struct {
	version string
	// objects are those of a list, by its path.
	objects map[string][]client.Object
	// refused are the paths that are not shown, and asked counts the calls.
	refused map[string]bool
	asked   int
	address string
	reader  apiserver.Reader
	// breaks is asked before each call, by its path.
	breaks func(path string) error
}

func newLists(t *testing.T) *lists {
	t.Helper()
	l := &lists{version: "v1.36.3", objects: map[string][]client.Object{}, refused: map[string]bool{}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.address = server.URL
	l.through(t, breaking{l, server.Client().Transport}, 3)
	return l
}

// through reads so many pages of a list by a transport.
func (l *lists) through(t *testing.T, wire http.RoundTripper, mostPages int) {
	t.Helper()
	api := expect.Got(apiserver.NewREST(&rest.Config{Host: l.address, QPS: -1}, &http.Client{Transport: wire}))(t)
	l.reader = apiserver.Reader{REST: api, Page: page, MostPages: mostPages}
}

// breaking is a way to lists that may break.
type breaking struct {
	*lists
	way http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b breaking) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.breaks != nil {
		if err := b.breaks(r.URL.Path); err != nil {
			return nil, err
		}
	}
	return b.way.RoundTrip(r)
}

// ServeHTTP implements http.Handler.
func (l *lists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.asked++
	w.Header().Set("Content-Type", "application/json")
	switch {
	case l.refused[r.URL.Path]:
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden,
			Code:   http.StatusForbidden, Message: "no right",
		})
	case r.URL.Path == "/version":
		_ = json.NewEncoder(w).Encode(map[string]string{"gitVersion": l.version})
	case !r.URL.Query().Has("limit"):
		l.one(w, r)
	default:
		from, _ := strconv.Atoi(r.URL.Query().Get("continue")) // none is the first page
		all := l.objects[r.URL.Path]
		to, next := min(from+page, len(all)), ""
		if to < len(all) {
			next = strconv.Itoa(to)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]string{"continue": next}, "items": all[from:to]})
	}
}

func (l *lists) one(w http.ResponseWriter, r *http.Request) {
	list, name := r.URL.Path[:strings.LastIndex(r.URL.Path, "/")], r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	for _, o := range l.objects[list] {
		if o.GetName() == name {
			_ = json.NewEncoder(w).Encode(o)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound,
		Code: http.StatusNotFound,
	})
}

// Reader implements Lists.
func (l *lists) Reader(context.Context, client.ObjectKey) (apiserver.Reader, error) {
	return l.reader, nil
}
