package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// Reader reads objects and lists by their paths.
type Reader struct {
	REST *rest.RESTClient
	// Page is how many objects of a list are read at once, and MostPages how many pages a list may have.
	Page, MostPages int
	// Enough is called before each page, and its error ends a list. If it is nil, there is time for all.
	Enough func() error
}

// NewREST makes a client that leaves objects as they are. It sends by web, which has the login and the limits.
func NewREST(config *rest.Config, web *http.Client) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	scheme := runtime.NewScheme() // it decodes the refusals of an API server
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, web)
}

// Get decodes the object at a path, and reports whether it exists.
func (r Reader) Get(ctx context.Context, path string, target any) (exists bool, err error) {
	return found(r.REST.Get().AbsPath(path).Do(ctx), target)
}

// List decodes a list page by page, and reports whether the API server has the kind. A page that is longer than an answer may be
// is read in parts: otherwise a user who may make a few large objects could keep a list from being read.
func List[T any](ctx context.Context, r Reader, path string, query url.Values, visit func(T) error) (served bool, err error) {
	next, size := "", r.Page
	for range r.MostPages {
		var list page
		served, err = r.read(ctx, With(r.REST.Get().AbsPath(path), query), next, size, &list)
		if errors.Is(err, ErrTooLong) && size > 1 {
			size /= 2
			continue
		}
		if err != nil || !served {
			return served, err
		}
		size = min(2*size, r.Page)
		for _, text := range list.Items {
			if err := item(path, text, visit); err != nil {
				return true, err
			}
		}
		if next = list.Metadata.Continue; next == "" {
			return true, nil
		}
	}
	return true, &EndlessError{path, r.MostPages, r.Page}
}

// page is a part of a list.
type page struct {
	Metadata metav1.ListMeta   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

func (r Reader) read(ctx context.Context, request *rest.Request, next string, size int, target *page) (served bool, err error) {
	if r.Enough != nil {
		if err := r.Enough(); err != nil {
			return true, err
		}
	}
	if request = request.Param("limit", strconv.Itoa(size)); next != "" {
		request = request.Param("continue", next)
	}
	return found(request.Do(ctx), target)
}

// EndlessError means that a list goes on after as many pages as are read.
type EndlessError struct {
	Path        string
	Pages, Page int
}

// Error implements error.
func (e *EndlessError) Error() string {
	return fmt.Sprintf("its list %s has more than %d pages of %d objects and was not read to the end", e.Path, e.Pages, e.Page)
}

// item decodes an object of a list. Names end up in commands for a shell, so they must be such as a real API server takes.
func item[T any](path string, text []byte, visit func(T) error) error {
	var named struct {
		Metadata struct{ Name, Namespace string } `json:"metadata"`
	}
	if err := json.Unmarshal(text, &named); err != nil {
		return err
	}
	for _, name := range []string{named.Metadata.Name, named.Metadata.Namespace} {
		if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("its list %s has an object with the name %.80q, which no API server of Kubernetes accepts", path, name)
		}
	}
	var object T
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	return visit(object)
}

// With adds a query to a request.
func With(request *rest.Request, query url.Values) *rest.Request {
	for name, values := range query {
		for _, value := range values {
			request = request.Param(name, value)
		}
	}
	return request
}

func found(result rest.Result, target any) (exists bool, err error) {
	data, err := Content(result)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.NewDecoder(bytes.NewReader(data)).Decode(target)
}

// Content returns an answer, or the API server's error instead of it.
func Content(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	data, err := result.Raw()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, context.DeadlineExceeded
	}
	return data, err
}
