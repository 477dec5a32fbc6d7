package smoke

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const (
	// timeout is how long the API server may take for an answer.
	timeout = 8 * time.Second
	// settling is how long a new namespace may take until it has the service account that each pod needs.
	settling = 20 * time.Second
)

// api is the API server of the workload cluster.
type api struct {
	config *rest.Config
	core   coreclient.CoreV1Interface
	rights authorizationclient.SelfSubjectAccessReviewInterface
	// removing is how long is tried to remove the namespace.
	removing time.Duration
}

func connect(config *rest.Config) (*api, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100 // of one command, which asks once a second
	core, err := coreclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	authorization, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &api{config: config, core: core, rights: authorization.SelfSubjectAccessReviews(), removing: 30 * time.Second}, nil
}

// right is one that this command needs.
type right struct {
	verb, resource, subresource string
	namespaced                  bool
}

func (r right) String() string {
	if r.subresource == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + "/" + r.subresource
}

// rights are all that is asked of the API server later. exec is a GET by WebSocket and a POST by SPDY.
var rights = []right{
	{"list", "nodes", "", false},
	{"get", "nodes", "proxy", false},
	{"list", "namespaces", "", false},
	{"create", "namespaces", "", false},
	{"delete", "namespaces", "", false},
	{"create", "services", "", true},
	{"create", "pods", "", true},
	{"list", "pods", "", true},
	{"get", "pods", "exec", true},
	{"create", "pods", "exec", true},
	{"get", "pods", "log", true},
	{"list", "events", "", true},
}

// checkRights is an error that names each right which the user lacks.
func (a *api) checkRights(ctx context.Context, namespace string) error {
	var lacking []string
	for _, one := range rights {
		may, err := a.may(ctx, one, namespace)
		if err != nil {
			return fmt.Errorf("the cluster %s cannot be asked: %w", address(a.config.Host), explain(err))
		}
		if !may {
			lacking = append(lacking, one.String())
		}
	}
	if len(lacking) > 0 {
		return fmt.Errorf("the user of this kubeconfig lacks rights in the cluster %s, so nothing was made: %s; a ClusterRole must "+
			"give them, because the namespace is a new one", address(a.config.Host), strings.Join(lacking, ", "))
	}
	return nil
}

func (a *api) may(ctx context.Context, one right, namespace string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	attributes := &authorizationv1.ResourceAttributes{Verb: one.verb, Resource: one.resource, Subresource: one.subresource}
	if one.namespaced {
		attributes.Namespace = namespace
	}
	answer, err := a.rights.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
	}, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed, err
}

func (a *api) nodes(ctx context.Context) ([]corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list, err := a.core.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Nodes: %w", explain(err))
	}
	return list.Items, nil
}

// earlierNamespaces are those that other runs have made.
func (a *api) earlierNamespaces(ctx context.Context) ([]corev1.Namespace, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list, err := a.core.Namespaces().List(ctx, metav1.ListOptions{LabelSelector: labelSmoke})
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", explain(err))
	}
	return list.Items, nil
}

// makeNamespace makes it even while the user ends the program, because a request that is cut off may have succeeded. It returns
// the namespace wherever there may be one to remove.
func (a *api) makeNamespace(ctx context.Context, wanted *corev1.Namespace) (*corev1.Namespace, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*timeout)
	defer cancel()
	made, err := a.core.Namespaces().Create(ctx, wanted, metav1.CreateOptions{})
	if err == nil {
		return made, nil
	}
	failed := fmt.Errorf("make namespace %s: %w", wanted.Name, explain(err))
	if there, err := a.core.Namespaces().Get(ctx, wanted.Name, metav1.GetOptions{}); err == nil && sameRun(there, wanted) {
		return there, failed
	}
	return nil, failed
}

func sameRun(a, b *corev1.Namespace) bool {
	return a.Annotations[annotationRun] == b.Annotations[annotationRun]
}

// removeNamespace removes the one that was made, and no other of its name.
func (a *api) removeNamespace(ctx context.Context, made *corev1.Namespace) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.removing)
	defer cancel()
	for {
		only := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}
		err := a.core.Namespaces().Delete(ctx, made.Name, only)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return &leftError{namespace: made.Name, why: explain(err)}
		case <-time.After(every):
		}
	}
}

// leftError is of a namespace that could not be removed.
type leftError struct {
	namespace string
	why       error
}

func (l *leftError) Error() string {
	return fmt.Sprintf("the namespace %s is left: %v; kubectl delete namespace %s removes it", l.namespace, l.why, l.namespace)
}

func (l *leftError) Unwrap() error { return l.why }

// Left is what an error says of a namespace that could not be removed; nil if it says nothing of one.
func Left(err error) error {
	if left, ok := errors.AsType[*leftError](err); ok {
		return left
	}
	return nil
}

func (a *api) makeService(ctx context.Context, namespace string, wanted *corev1.Service) (*corev1.Service, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return a.core.Services(namespace).Create(ctx, wanted, metav1.CreateOptions{})
}

// makePod waits for the service account of a new namespace, without which the API server forbids pods.
func (a *api) makePod(ctx context.Context, namespace string, wanted *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for {
		_, err := a.core.Pods(namespace).Create(ctx, wanted, metav1.CreateOptions{})
		if err == nil || !apierrors.IsForbidden(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(every / 2):
		}
	}
}

// list is what there is of the run's pods.
func (a *api) list(ctx context.Context, namespace string) ([]corev1.Pod, []corev1.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pods, err := a.core.Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	events, err := a.core.Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	return pods.Items, events.Items, nil
}

// explain is what a user needs of an error: what the API server says, or why it cannot be reached.
func explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it has not answered within %s; look at the address in the kubeconfig", timeout)
	}
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%w; look at the address in the kubeconfig", unreachable.Err)
	}
	return err
}

// address is that of a server without a password.
func address(host string) string {
	if parsed, err := url.Parse(host); err == nil {
		return parsed.Redacted()
	}
	return "of the kubeconfig"
}
