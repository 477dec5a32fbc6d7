package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// followTime is how long watches last at most. Then the kubeconfig is read anew.
	followTime = 5 * time.Minute
	// answerTime is how long an API server may take to begin a watch.
	answerTime = 10 * time.Second
	// eventPace is how many events of one connection are read in a second, and eventBurst how many at once.
	eventPace, eventBurst = 200, 5000
)

// Watcher has the connection of the watches of a Cluster, beside the few of other calls. An API server that does not speak HTTP/2
// gets a connection for each watch. What a cluster sends is bounded in size and pace.
type Watcher struct {
	access    access
	userAgent string
	lasts     time.Duration
	wire      *http.Transport
	// opening has one watch begin at a time: the first makes the connection, and no cluster that hangs gets many.
	opening chan struct{}
	// large has one event at a time take much memory.
	large chan struct{}
	pace  flowcontrol.RateLimiter
}

// Watcher reads the kubeconfig of a Cluster. Nothing is sent yet. Close ends its connections.
func (c *Clusters) Watcher(ctx context.Context, key client.ObjectKey) (*Watcher, error) {
	kubeconfig, err := c.kubeconfig(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get kubeconfig: %w", err)
	}
	access, err := c.vetOne(kubeconfig, key.Name+kubeconfigSuffix)
	if err != nil {
		return nil, err
	}
	return &Watcher{
		access: access, userAgent: c.UserAgent, wire: watching(access),
		//nolint:gosec // because it only has not all clusters connect at the same time
		lasts:   followTime - rand.N(followTime/5),
		opening: make(chan struct{}, 1), large: make(chan struct{}, 1),
		pace: flowcontrol.NewTokenBucketRateLimiter(eventPace, eventBurst),
	}, nil
}

// Close ends what is left of the connections.
func (w *Watcher) Close() { w.wire.CloseIdleConnections() }

// Follow is Watcher.Follow of the only watch on a connection.
func (c *Clusters) Follow(ctx context.Context, key client.ObjectKey, feed *Feed) error {
	w, err := c.Watcher(ctx, key)
	if err != nil {
		return err
	}
	defer w.Close()
	return Guard(ctx, func() error { return w.Follow(ctx, feed) })
}

// errEnded ends all watches of a connection with one of them.
var errEnded = errors.New("a watch has ended as it should")

// FollowAll tells of all feeds, on one connection if that can be had, until ctx or one of them ends; without an error, it ended
// as it should. What the API server does not show is Hidden, and ends no other feed.
func (c *Clusters) FollowAll(ctx context.Context, key client.ObjectKey, feeds ...*Feed) error {
	w, err := c.Watcher(ctx, key)
	if err != nil {
		return err
	}
	defer w.Close()
	all, one := errgroup.WithContext(ctx)
	for _, feed := range feeds {
		all.Go(func() error { return Guard(one, func() error { return w.followOne(one, feed) }) })
	}
	if err := all.Wait(); !errors.Is(err, errEnded) {
		return err
	}
	return ctx.Err()
}

func (w *Watcher) followOne(ctx context.Context, feed *Feed) error {
	err := w.Follow(ctx, feed)
	if err == nil {
		return errEnded
	}
	if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
		return err
	}
	feed.version = ""
	feed.tell(Event{Type: Hidden, Why: err})
	select {
	case <-ctx.Done():
	case <-time.After(w.lasts): // where nothing is shown
	}
	return errEnded
}

// Follow tells of the objects of a feed until ctx or the watch ends; without an error, it ended as it should. The error says that
// it is forbidden or not found if the API server does not show or have the resource, and no other watch has to end for that.
func (w *Watcher) Follow(ctx context.Context, feed *Feed) error {
	ctx, cancel := context.WithTimeout(ctx, w.lasts+answerTime)
	defer cancel()
	body, err := w.open(ctx, feed)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		if feed.Lists && !feed.plain && feed.version == "" { // it cannot tell when a list ends
			feed.plain = true
			body, err = w.open(ctx, feed)
		}
	}
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			feed.version = ""
		}
		return err
	}
	defer closeBody(body)
	return feed.read(ctx, w, body)
}

// open begins a watch, one at a time.
func (w *Watcher) open(ctx context.Context, feed *Feed) (io.ReadCloser, error) {
	select {
	case w.opening <- struct{}{}:
		defer func() { <-w.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.access.server+feed.path(w.lasts), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", feed.Name, err)
	}
	introduce(request, w.userAgent, w.access.token)
	request.Header.Set("Accept", "application/json")
	response, err := w.wire.RoundTrip(request)
	if err != nil {
		return nil, &UnreachableError{Why: away, cause: err.Error()}
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer closeBody(response.Body)
	return nil, notWatched(feed.Resource, response)
}

// notWatched is the error of an API server's refusal.
func notWatched(of Resource, response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	switch {
	case response.StatusCode < http.StatusBadRequest || response.StatusCode == http.StatusUnauthorized:
		return &UnreachableError{Why: unusable(response), cause: response.Status}
	case err != nil || response.StatusCode >= http.StatusInternalServerError:
		return &UnreachableError{Why: away, cause: response.Status}
	}
	var told struct{ Message string }
	_ = json.Unmarshal(refusal(body), &told) // else its code says enough
	return apierrors.NewGenericServerResponse(response.StatusCode, "watch", schema.GroupResource{Group: of.Group, Resource: of.Name},
		"", told.Message, 0, true)
}

// Feed follows one resource, through one watch after another. It is for one goroutine.
type Feed struct {
	Resource
	// Lists has Begun and Listed told, and a later watch go on where the last one ended. Without it, each watch tells all objects.
	Lists bool
	// Told gets each event.
	Told func(Event)

	// version is where the next watch goes on; plain says that the API server does not tell when a list ends.
	version string
	plain   bool

	mu sync.Mutex // Told is called with it
	// listing says that a list is being told.
	listing bool
}

// read tells of each line.
func (f *Feed) read(ctx context.Context, w *Watcher, body io.Reader) error {
	if f.Lists && f.version == "" {
		f.tell(Event{Type: Begun})
	}
	calm := f.whenCalm()
	defer calm.Stop()
	lines := &lines{from: bufio.NewReader(body), large: w.large}
	defer lines.release()
	for {
		line, tooLong, err := lines.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case tooLong:
			f.tell(leftOut(line))
		default:
			if err := f.take(line); err != nil {
				return err
			}
		}
		if f.plain {
			calm.Reset(calmTime)
		}
		if err := w.pace.Wait(ctx); err != nil {
			return err
		}
	}
}

// calmTime is how long nothing comes after a list: an API server sends it as fast as it can.
const calmTime = 2 * time.Second

// whenCalm tells that the list is complete where the API server does not.
func (f *Feed) whenCalm() *time.Timer {
	calm := time.AfterFunc(calmTime, func() { f.endList() })
	if !f.plain {
		calm.Stop()
	}
	return calm
}

func (f *Feed) tell(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listing = e.Type == Begun || f.listing
	f.Told(e)
}

func (f *Feed) endList() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listing {
		f.listing = false
		f.Told(Event{Type: Listed})
	}
}

// take tells of one event.
func (f *Feed) take(line []byte) error {
	var event Event
	switch {
	case !json.Valid(line):
		return fmt.Errorf("the watch of %s tells what is no event", f.Name)
	case !sound(line):
		f.tell(leftOut(line[:min(len(line), headSize)]))
		return nil
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("read event of %s: %w", f.Name, err)
	}
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		if !f.Lists {
			f.tell(event)
			return nil
		}
	case watch.Bookmark:
	case watch.Error:
		f.version = "" // most often it is too old
		return fmt.Errorf("the watch of %s ended with an error", f.Name)
	default:
		return fmt.Errorf("the watch of %s tells %.20q", f.Name, event.Type)
	}
	return f.takeVersion(event)
}

// takeVersion remembers where the next watch goes on.
func (f *Feed) takeVersion(event Event) error {
	var object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
			Annotations     struct {
				// EndOfList is the bookmark's that ends a list (k8s.io/apimachinery v0.36.3, meta/v1, InitialEventsAnnotationKey).
				EndOfList string `json:"k8s.io/initial-events-end"`
			} `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(event.Object, &object); err != nil {
		return fmt.Errorf("read object of %s: %w", f.Name, err)
	}
	if event.Type != watch.Bookmark {
		f.tell(event)
	} else if f.plain || object.Metadata.Annotations.EndOfList == "true" {
		f.endList()
	}
	if version := object.Metadata.ResourceVersion; !f.isListing() && len(version) <= maxVersion {
		f.version = version // a list that did not end begins anew
	}
	return nil
}

// maxVersion is longer than a number of 64 bits.
const maxVersion = 32

func (f *Feed) isListing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listing
}
