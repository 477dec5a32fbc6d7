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

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
)

const (
	// settling is how long a new namespace may take until it has the service account that each pod needs.
	settling = 20 * time.Second
	// makeTime is how long is tried to make the namespace, even while the user ends the program.
	makeTime = 16 * time.Second
)

// api is the API server of the workload cluster.
type api struct {
	server *remote.Server
	// removing is how long is tried to remove the namespace.
	removing time.Duration
}

func newAPI(server *remote.Server) *api { return &api{server: server, removing: 30 * time.Second} }

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

// rights are all that is asked of the API server later. exec is a GET, for which servers from 1.35 on want create, too.
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
	for _, right := range rights {
		allowed, err := a.allowed(ctx, right, namespace)
		if err != nil {
			return fmt.Errorf("the cluster %s cannot be read: %w", a.server, a.server.Reason(err))
		}
		if !allowed {
			lacking = append(lacking, right.String())
		}
	}
	if len(lacking) > 0 {
		return fmt.Errorf("the user of this kubeconfig lacks rights in the cluster %s, so nothing was made: %s; a ClusterRole must "+
			"give them, because the namespace is a new one", a.server, strings.Join(lacking, ", "))
	}
	return nil
}

func (a *api) allowed(ctx context.Context, r right, namespace string) (bool, error) {
	attributes := &authorizationv1.ResourceAttributes{Verb: r.verb, Resource: r.resource, Subresource: r.subresource}
	if r.namespaced {
		attributes.Namespace = namespace
	}
	const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	var answer authorizationv1.SelfSubjectAccessReview
	err := a.server.Post(ctx, path, nil, &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
	}, &answer)
	return err == nil && answer.Status.Allowed, err
}

// nodes are those of the cluster, with what is looked at.
func (a *api) nodes(ctx context.Context) (nodes []corev1.Node, err error) {
	_, err = remote.List(ctx, a.server, "/api/v1/nodes", nil, func(node corev1.Node) error {
		node.ManagedFields, node.Annotations, node.Status.Images = nil, nil, nil
		nodes = append(nodes, node)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list Nodes: %w", a.server.Reason(err))
	}
	return nodes, nil
}

// earlierNamespaces are those that other runs have made.
func (a *api) earlierNamespaces(ctx context.Context) ([]corev1.Namespace, error) {
	found, err := list[corev1.Namespace](ctx, a, "/api/v1/namespaces", url.Values{"labelSelector": {labelSmoke}})
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", a.server.Reason(err))
	}
	return found, nil
}

func list[T any](ctx context.Context, a *api, path string, query url.Values) (items []T, err error) {
	_, err = remote.List(ctx, a.server, path, query, func(item T) error {
		items = append(items, item)
		return nil
	})
	return items, err
}

// makeNamespace makes it even while the user ends the program, because a request that is cut off may have succeeded. It returns
// the namespace wherever there may be one to remove.
func (a *api) makeNamespace(ctx context.Context, wanted *corev1.Namespace) (*corev1.Namespace, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeTime)
	defer cancel()
	var made, found corev1.Namespace
	err := a.server.Post(ctx, "/api/v1/namespaces", nil, wanted, &made)
	if err == nil {
		made.Name = wanted.Name // whatever a server makes of it, it is this one that is removed
		return &made, nil
	}
	failed := fmt.Errorf("make namespace %s: %w", wanted.Name, a.server.Reason(err))
	if ok, err := a.server.Get(ctx, "/api/v1/namespaces/"+wanted.Name, &found); err == nil && ok && sameRun(&found, wanted) {
		found.Name = wanted.Name
		return &found, failed
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
	var lastErr error
	for {
		err := a.server.Delete(ctx, "/api/v1/namespaces/"+made.Name, metav1.DeleteOptions{
			TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
			Preconditions: metav1.NewUIDPreconditions(string(made.UID)),
		})
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		if ctx.Err() == nil || lastErr == nil { // a call that the time has cut off has no reason of its own
			lastErr = err
		}
		select {
		case <-ctx.Done():
			return &leftError{namespace: made.Name, reason: a.server.Reason(lastErr)}
		case <-time.After(pollInterval):
		}
	}
}

// leftError is of a namespace that could not be removed.
type leftError struct {
	namespace string
	reason    error
}

func (l *leftError) Error() string {
	return fmt.Sprintf("the namespace %s is left: %v; kubectl delete namespace %s removes it", l.namespace, l.reason, l.namespace)
}

func (l *leftError) Unwrap() error { return l.reason }

// Left is the part of an error that names a namespace which could not be removed; nil if there is none.
func Left(err error) error {
	if left, ok := errors.AsType[*leftError](err); ok {
		return left
	}
	return nil
}

func namespaced(namespace, resource string) string {
	return "/api/v1/namespaces/" + namespace + "/" + resource
}

func (a *api) makeService(ctx context.Context, namespace string, wanted *corev1.Service) (*corev1.Service, error) {
	var made corev1.Service
	if err := a.server.Post(ctx, namespaced(namespace, "services"), nil, wanted, &made); err != nil {
		return nil, err
	}
	if len(made.Spec.Ports) != len(wanted.Spec.Ports) {
		return nil, errors.New("the API server has made another Service than was requested")
	}
	return &made, nil
}

// makePod waits for the service account of a new namespace, without which the API server forbids pods.
func (a *api) makePod(ctx context.Context, namespace string, wanted *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	var forbidden error
	for {
		var ignored corev1.Pod
		err := a.server.Post(ctx, namespaced(namespace, "pods"), nil, wanted, &ignored)
		switch {
		case err != nil && ctx.Err() != nil && forbidden != nil: // a call that the time has cut off has no reason of its own
			return forbidden
		case !apierrors.IsForbidden(err):
			return err
		}
		forbidden = err
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pollInterval / 2):
		}
	}
}

// list is what there is of the run's pods.
func (a *api) list(ctx context.Context, namespace string) ([]corev1.Pod, []corev1.Event, error) {
	pods, err := list[corev1.Pod](ctx, a, namespaced(namespace, "pods"), nil)
	if err != nil {
		return nil, nil, err
	}
	events, err := list[corev1.Event](ctx, a, namespaced(namespace, "events"), nil)
	return pods, events, err
}
