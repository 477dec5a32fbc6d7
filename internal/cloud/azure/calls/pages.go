package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// maxPages, maxItems and maxList, in bytes, are more than a subscription can fill: Azure has at most 25,000 VMs of a region in
	// it, of 4 KiB each. A user's own cloud may answer with anything.
	maxPages = 4000
	maxItems = 50_000
	maxList  = 128 << 20
	// begunFor is how long the pages of a list are kept whose next one has to wait.
	begunFor = 5 * time.Minute
)

// errEndless ends a list whose pages go round in a circle, or are more than there can be.
var errEndless = errors.New("a list of Azure's does not end")

// begun is a list of which some pages are there.
type begun[T any] struct {
	items []T
	pages int
	bytes int
	seen  map[string]bool // the pages that were asked for
	query url.Values      // the next one
	began time.Time       // when the first was asked for
}

// Pages reads all pages of a list. The next page is asked for at our own endpoint, wherever the answer points to. If it has to
// wait for its turn, the pages that are there are kept, and the next call for the list goes on from them: else a list that is
// longer than our share of a bucket would never end.
func Pages[T any](ctx context.Context, c *Client, q Call) ([]T, Answer) {
	key := q.Path + "?" + q.Query.Encode()
	list := resume[T](&c.unfinished, key, c.now())
	if list == nil {
		list = &begun[T]{seen: map[string]bool{}, query: q.Query, began: c.now()}
	}
	for {
		q.Query = list.query
		a := c.Send(ctx, q)
		if cloud.IsLater(a.Err()) && list.pages > 0 {
			c.unfinished.keep(key, list)
		}
		if a.Verdict != nil {
			return nil, a
		}
		next, err := list.take(a.Body, q.Query)
		if err != nil {
			return nil, c.unanswered(err)
		}
		if next == nil {
			a.Began = list.began
			return list.items, a
		}
		list.query = next
	}
}

// take takes a page over, and returns how to ask for the next one; nil after the last.
func (b *begun[T]) take(body []byte, asked url.Values) (url.Values, error) {
	var page struct {
		Value    items[T]
		NextLink string
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, err
	}
	if len(b.items)+len(page.Value) > maxItems {
		return nil, errEndless
	}
	b.items = append(b.items, page.Value...)
	b.pages++
	b.bytes += len(body)
	b.seen[asked.Encode()] = true
	next, err := url.Parse(page.NextLink)
	if page.NextLink == "" || err != nil {
		return nil, nil //nolint:nilerr // because what is no link leads nowhere
	}
	if b.pages >= maxPages || b.bytes > maxList || b.seen[next.Query().Encode()] {
		return nil, errEndless
	}
	return next.Query(), nil
}

// items are read one after the other: a megabyte of empty ones would take a hundred.
type items[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (i *items[T]) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); begin != json.Delim('[') {
		return err // null is no items
	}
	for decoder.More() {
		if len(*i) >= maxItems {
			return errEndless
		}
		var item T
		if err := decoder.Decode(&item); err != nil {
			return err
		}
		*i = append(*i, item)
	}
	return nil
}

// unfinished are lists whose next page has to wait, by what was asked for; each is a *begun.
type unfinished struct {
	mu    sync.Mutex
	lists map[string]any
}

// resume gives the pages that are there of a list to the first caller.
func resume[T any](u *unfinished, key string, now time.Time) *begun[T] {
	u.mu.Lock()
	defer u.mu.Unlock()
	list, _ := u.lists[key].(*begun[T])
	delete(u.lists, key)
	if list == nil || now.Sub(list.began) > begunFor {
		return nil
	}
	return list
}

// keep keeps the pages of a list until it is asked for again.
func (u *unfinished) keep(key string, list any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lists == nil {
		u.lists = map[string]any{}
	}
	u.lists[key] = list
}
