package agree

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// server is the API server with its definitions, policies and webhooks, asked without an effect.
type server struct {
	api       client.Client
	namespace string

	mu sync.Mutex
	// said is the answer to each object, by its content: most are in many files.
	said map[string]verdict
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{
		api:       client.WithFieldValidation(shared.Client, metav1.FieldValidationStrict),
		namespace: "agree-dry", said: map[string]verdict{},
	}
	expect.OK(t, s.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
	return s
}

// judgeAll says what the server makes of the files.
func (s *server) judgeAll(t *testing.T, all []file, said []verdict) {
	t.Helper()
	var asking errgroup.Group
	asking.SetLimit(4)
	for i, f := range all {
		asking.Go(func() (err error) {
			said[i], err = s.judge(t.Context(), f)
			return err
		})
	}
	expect.OK(t, asking.Wait())
}

// judge asks for each object of a file: kubectl goes on after a refusal, too.
func (s *server) judge(ctx context.Context, f file) (verdict, error) {
	var sentences []string
	by := good
	for _, one := range f.objects() {
		v, err := s.ask(ctx, one)
		if err != nil {
			return v, err
		}
		if v.refused() {
			by, sentences = v.by, append(sentences, strings.Split(v.says, "\n")...)
		}
	}
	return refusal(by, sentences...), nil
}

func (s *server) ask(ctx context.Context, one object) (verdict, error) {
	data, err := json.Marshal(one)
	if err != nil {
		return verdict{}, err
	}
	s.mu.Lock()
	v, judged := s.said[string(data)]
	s.mu.Unlock()
	if judged {
		return v, nil
	}
	made := &unstructured.Unstructured{}
	if err := made.UnmarshalJSON(data); err != nil {
		return verdict{}, err
	}
	made.SetNamespace(s.namespace)
	if v, err = answerOf(s.api.Create(ctx, made, client.DryRunAll)); err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[string(data)] = v
	return v, nil
}

var unknownField = regexp.MustCompile(`(unknown|duplicate) field "[^"]*"`)

// answerOf reads the answer of an API server: one sentence of each cause. An error that is no refusal is one of the test.
func answerOf(err error) (verdict, error) {
	if err == nil {
		return verdict{by: good}, nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) {
		return verdict{}, err
	}
	by, message := bySchema, status.Status().Message
	if strings.HasPrefix(message, "admission webhook") {
		by = byWebhook
	}
	if unknown := unknownField.FindAllString(message, -1); len(unknown) > 0 {
		return refusal(by, unknown...), nil
	}
	sentences := map[string]bool{}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Field != "" && cause.Field != "<nil>" {
				sentences[cause.Field+": "+strings.ReplaceAll(cause.Message, "\n", " ")] = true
			}
		}
	}
	if len(sentences) == 0 {
		return refusal(by, message), nil
	}
	return refusal(by, slices.Sorted(maps.Keys(sentences))...), nil
}
