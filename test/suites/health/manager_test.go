package health

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// unstarted is a manager that is never started: controllers are set up with it, and then called. It keeps what would run beside
// them, for whoever starts that.
type unstarted struct {
	ctrl.Manager
	api       client.Client
	informers *informertest.FakeInformers
	beside    []manager.Runnable
}

func newUnstarted(t *testing.T, api client.Client) *unstarted {
	t.Helper()
	u := &unstarted{api: api, informers: &informertest.FakeInformers{Scheme: api.Scheme()}}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://management", Transport: deleter{api}, QPS: -1}, ctrl.Options{
		Scheme:         api.Scheme(),
		Metrics:        server.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return api.RESTMapper(), nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return api, nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return u.informers, nil },
		Controller:     config.Controller{SkipNameValidation: new(true)},
	})
	u.Manager = expect.Got(mgr, err)(t)
	return u
}

// Add keeps what a started manager would run, but for the controllers.
func (u *unstarted) Add(runnable manager.Runnable) error {
	if _, is := runnable.(controller.Controller); !is {
		u.beside = append(u.beside, runnable)
	}
	return nil
}

// GetFieldIndexer returns what makes indexes.
func (u *unstarted) GetFieldIndexer() client.FieldIndexer { return u }

// IndexField makes an index.
func (u *unstarted) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	return fake.AddIndex(u.api, o, field, values)
}

// GetEventRecorderFor returns a recorder that forgets: a manager's own one sends Events from goroutines that never end.
func (*unstarted) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// GetEventRecorder does the same for our controllers.
func (*unstarted) GetEventRecorder(string) events.EventRecorder { return &events.FakeRecorder{} }

// deleter is an API server that can delete. Cluster API deletes Machines and MachineSets by HTTP, because it needs the answer:
// the object when it waits for its finalizers, or a Status (https://kubernetes.io/docs/reference/using-api/api-concepts/).
type deleter struct{ api client.Client }

// RoundTrip answers a request.
func (d deleter) RoundTrip(request *http.Request) (*http.Response, error) {
	path := strings.Split(request.URL.Path, "/") // /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME
	kinds := map[string]client.Object{"machines": &clusterv1.Machine{}, "machinesets": &clusterv1.MachineSet{}}
	object := kinds[path[len(path)-2]]
	if request.Method != http.MethodDelete || object == nil {
		return answerStatus(request, metav1.Status{Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed})
	}
	key := client.ObjectKey{Namespace: path[len(path)-3], Name: path[len(path)-1]}
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	if err := d.api.Delete(request.Context(), object); err != nil {
		return answerError(request, err)
	}
	switch err := d.api.Get(request.Context(), key, object); {
	case apierrors.IsNotFound(err):
		return answerStatus(request, metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusOK})
	case err != nil:
		return answerError(request, err)
	}
	return answer(request, http.StatusOK, object)
}

func answerError(request *http.Request, err error) (*http.Response, error) {
	status, is := errors.AsType[*apierrors.StatusError](err)
	if !is {
		return nil, err
	}
	return answerStatus(request, status.ErrStatus)
}

func answerStatus(request *http.Request, status metav1.Status) (*http.Response, error) {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return answer(request, int(status.Code), status)
}

func answer(request *http.Request, code int, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Request: request, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(text))),
	}, nil
}
