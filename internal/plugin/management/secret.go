// Package management reads from clusters what the plugin's files lack: the login of a pool from its management cluster
// (secret.go), and from a workload cluster what its Calico has (calico.go).
package management

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// timeout is how long an API server may take: who waits at a terminal learns within 10 seconds that it is dead.
const timeout = 8 * time.Second

// Secret returns a Secret as JSON.
func Secret(ctx context.Context, config *rest.Config, key types.NamespacedName) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	data, err := get(ctx, config, key)
	if err == nil {
		return data, nil
	}
	return nil, fmt.Errorf("the Secret %s is not in the files, and cannot be read from the cluster %s: %w", key, shown(config.Host),
		reason(err))
}

func get(ctx context.Context, config *rest.Config, key types.NamespacedName) ([]byte, error) {
	client, err := connect(config)
	if err != nil {
		return nil, err
	}
	return content(client.Get().Namespace(key.Namespace).Resource("secrets").Name(key.Name).Do(ctx))
}

// content is an object as JSON, or what the API server says of it.
func content(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// connect returns a client that reads objects as they are, in JSON.
func connect(config *rest.Config) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = codecs()
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	return rest.RESTClientFor(config)
}

// codecs decode what an API server says when it refuses. The object itself stays as it is.
func codecs() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// reason is what a user needs of an error: what the API server says, or why it cannot be reached.
func reason(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return errors.New("it is not there; name its namespace with -n")
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it has not answered within %s; look at the address in the kubeconfig", timeout)
	}
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%w; look at the address in the kubeconfig", unreachable.Err)
	}
	return err
}

// shown is the address of a server without a password.
func shown(host string) string {
	if address, err := url.Parse(host); err == nil {
		return address.Redacted()
	}
	return "of the kubeconfig"
}
