package workload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"
)

const (
	// maxEvent has room for a Node with the names of 50 images, and for the largest ConfigMap that a guest may write: 16 KiB, each
	// byte of which JSON may write as six. What is larger is left out.
	maxEvent = 256 << 10
	// smallEvent is how large an event of each watch may be at the same time.
	smallEvent = 16 << 10
	// headSize is how much is kept of an event that is too large.
	headSize = 4 << 10
)

// Resource is what a watch is of.
type Resource struct {
	Group, Version, Name string
	// Namespace, Labels and Fields limit it, as far as they are not empty.
	Namespace, Labels, Fields string
}

// path is that of a watch which begins where the last one ended, or else with an event for each object that is there.
func (f *Feed) path(lasts time.Duration) string {
	path := "/api/" + url.PathEscape(f.Version)
	if f.Group != "" {
		path = "/apis/" + url.PathEscape(f.Group) + "/" + url.PathEscape(f.Version)
	}
	if f.Namespace != "" {
		path += "/namespaces/" + url.PathEscape(f.Namespace)
	}
	query := url.Values{"watch": {"true"}, "timeoutSeconds": {fmt.Sprint(int(lasts.Seconds()))}}
	for name, value := range map[string]string{"labelSelector": f.Labels, "fieldSelector": f.Fields, "resourceVersion": f.version} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Lists {
		query.Set("allowWatchBookmarks", "true")
		if f.version == "" && !f.plain {
			query.Set("sendInitialEvents", "true")
			query.Set("resourceVersionMatch", "NotOlderThan")
		}
	}
	return path + "/" + url.PathEscape(f.Name) + "?" + query.Encode()
}

// buffers are for small events: a watch that waits for its next one has none, as there may be thousands.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, smallEvent)) }}

// lines reads a line for each event. One that is too long is passed over.
type lines struct {
	from *bufio.Reader
	kept []byte
	// buffer is what kept has of the pool.
	buffer *[]byte
	// large is held while a line is longer than smallEvent.
	large chan struct{}
	held  bool
}

// next returns the next line, which is valid until the next call, or the head of one that is too long. After the last one, the
// error is io.EOF.
func (l *lines) next(ctx context.Context) (line []byte, tooLong bool, err error) {
	l.release()
	var head []byte
	for {
		part, err := l.from.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		last := errors.Is(err, io.EOF) && len(part)+len(l.kept) > 0
		if err != nil && !more && !last {
			return nil, false, err
		}
		if tooLong = tooLong || len(l.kept)+len(part) > maxEvent; tooLong {
			if head == nil {
				head = bytes.Clone(l.kept[:min(len(l.kept), headSize)])
			}
			l.kept = nil
		} else if err := l.keep(ctx, part); err != nil {
			return nil, false, err
		}
		if tooLong && !more {
			return head, true, nil
		}
		if !more {
			return l.kept, false, nil
		}
	}
}

func (l *lines) keep(ctx context.Context, part []byte) error {
	if len(l.kept)+len(part) > smallEvent && !l.held {
		select {
		case l.large <- struct{}{}:
			l.held = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if l.buffer == nil {
		l.buffer, _ = buffers.Get().(*[]byte) // it has nothing else
		l.kept = (*l.buffer)[:0]
	}
	l.kept = append(l.kept, part...)
	return nil
}

// release gives back what a large line has taken.
func (l *lines) release() {
	l.kept = nil
	if l.buffer != nil {
		buffers.Put(l.buffer)
		l.buffer = nil
	}
	if l.held {
		l.held = false
		<-l.large
	}
}
