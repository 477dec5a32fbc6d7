package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// followTime is how long one watch lasts. Then the kubeconfig is read anew, and all objects are told again.
	followTime = 5 * time.Minute
	// maxEvent has room for the largest ConfigMap that a guest may write, with its metadata: 16 KiB, each byte of which JSON may
	// write as six. With less, one guest could end the watch for all of its cluster, again and again.
	maxEvent = 128 << 10
	// eventPace is how many events of one cluster are read in a second, and eventBurst how many at once.
	eventPace, eventBurst = 200, 5000
)

// Follow tells of the ConfigMaps of a namespace: of all that are there, and then of each change, until ctx or the watch ends. A
// watch has a connection of its own, beside the few of other calls, and what a cluster sends on it is bounded in size and pace.
func (c *Clusters) Follow(
	ctx context.Context, key client.ObjectKey, namespace string, told func(watch.EventType, *corev1.ConfigMap),
) error {
	kubeconfig, err := c.kubeconfig(ctx, key)
	if err != nil {
		return fmt.Errorf("get kubeconfig: %w", err)
	}
	access, err := c.vetOne(kubeconfig, key.Name+kubeconfigSuffix)
	if err != nil {
		return err
	}
	wire := transport(access)
	defer wire.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, followTime+callTime)
	defer cancel()
	// Without a version, an API server begins with an event for each object that is there.
	where := fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps?watch=true&timeoutSeconds=%d",
		access.server, url.PathEscape(namespace), int(followTime.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, http.NoBody)
	if err != nil {
		return fmt.Errorf("watch configmaps: %w", err)
	}
	introduce(request, c.UserAgent, access.token)
	request.Header.Set("Accept", "application/json")
	response, err := wire.RoundTrip(request)
	if err != nil {
		return &UnreachableError{Why: away, cause: err.Error()}
	}
	defer closeBody(response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("watch configmaps: %s", response.Status)
	}
	return readEvents(ctx, response.Body, told)
}

// readEvents reads a line for each event.
func readEvents(ctx context.Context, from io.Reader, told func(watch.EventType, *corev1.ConfigMap)) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxEvent)
	pace := flowcontrol.NewTokenBucketRateLimiter(eventPace, eventBurst)
	for lines.Scan() {
		var event struct {
			Type   watch.EventType   `json:"type"`
			Object *corev1.ConfigMap `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		if event.Type == watch.Error || event.Object == nil {
			return fmt.Errorf("the watch of configmaps ended with %q", event.Type)
		}
		told(event.Type, event.Object)
		if err := pace.Wait(ctx); err != nil {
			return err
		}
	}
	return lines.Err()
}
