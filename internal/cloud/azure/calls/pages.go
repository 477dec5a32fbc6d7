package calls

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
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
	// maxItem is far more than an item of Azure's has, in bytes, and maxLink than the address of a page.
	maxItem = 1 << 20
	maxLink = 8 << 10
	// begunFor is how long the pages of a list are kept whose next one has to wait.
	begunFor = 5 * time.Minute
)

var (
	// errEndless ends a list whose pages go round in a circle, or are more than there can be.
	errEndless = errors.New("a list of Azure's does not end")
	errLarge   = errors.New("a part of the answer is larger than any of Azure's")
)

// begun is a list of which some pages are there.
type begun[T, K any] struct {
	held  *Held
	keep  func(T) (K, int)
	items []K // that are kept
	kept  int // bytes of the items
	read  int // items, whether they are kept or not
	pages int
	bytes int
	seen  map[[sha256.Size]byte]bool // the pages that were asked for
	query url.Values                 // the next one
	began time.Time                  // when the first was asked for
}

// Pages reads all pages of a list. The next page is asked for at our own endpoint, wherever the answer points to. If it has to
// wait for its turn, the pages that are there are kept, and the next call for the list goes on from them: else a list that is
// longer than our share of a bucket would never end.
//
// keep makes of an item what is kept of it, before the next page is asked for, and returns how many bytes that takes; 0 if
// nothing is kept. held is what is kept of the list before this one.
func Pages[T, K any](ctx context.Context, c *Client, q Call, held *Held, keep func(T) (K, int)) ([]K, Answer) {
	if c.Principal.Cloud.Chosen() {
		end, refusal := c.Bounds.beginList(held.Namespace)
		if refusal != nil {
			return nil, failed(refusal)
		}
		defer end()
	}
	key := held.Namespace + q.Path + "?" + q.Query.Encode()
	list := resume[T, K](c, key)
	if list == nil {
		list = &begun[T, K]{query: q.Query, began: c.now(), seen: map[[sha256.Size]byte]bool{}}
	}
	list.held, list.keep = held, keep
	for {
		q.Query = list.query
		next, a := readPage(ctx, c, q, list)
		switch {
		case cloud.IsLater(a.Err()) && list.pages > 0:
			c.unfinished.keep(key, unfinishedList{list, list.began, func() { held.Give(list.kept) }})
			return nil, a
		case a.Verdict != nil:
			held.Give(list.kept)
			return nil, a
		case next == nil:
			a.Began, a.Kept = list.began, list.kept
			return list.items, a
		}
		list.query = next
	}
}

// readPage reads a page at its place, and returns how to ask for the next one; nil after the last.
func readPage[T, K any](ctx context.Context, c *Client, q Call, list *begun[T, K]) (next url.Values, a Answer) {
	leave := func() {}
	defer func() { leave() }() //nolint:gocritic // because a place is entered later
	q.enter = func(ctx context.Context) (err error) {
		leave, err = c.Bounds.enter(ctx, c.Principal.Cloud.Chosen(), list.held.Namespace)
		return err
	}
	if a = c.Send(ctx, q); a.Verdict != nil {
		return nil, a
	}
	next, err := list.take(a.Body, q.Query)
	if err != nil {
		return nil, c.unanswered(err)
	}
	a.Body = nil
	return next, a
}

// take takes a page over, and returns how to ask for the next one; nil after the last.
func (b *begun[T, K]) take(body []byte, asked url.Values) (url.Values, error) {
	var page struct {
		Value    items[T, K]
		NextLink string
	}
	page.Value.list = b
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, err
	}
	b.pages++
	b.bytes += len(body)
	b.seen[digestOf(asked)] = true
	next, err := url.Parse(page.NextLink)
	if page.NextLink == "" || err != nil {
		return nil, nil //nolint:nilerr // because what is no link leads nowhere
	}
	if b.pages >= maxPages || b.bytes > maxList || b.seen[digestOf(next.Query())] || len(page.NextLink) > maxLink {
		return nil, errEndless
	}
	return next.Query(), nil
}

func digestOf(query url.Values) [sha256.Size]byte { return sha256.Sum256([]byte(query.Encode())) }

// items are read one after the other, into what is kept of the list: a megabyte of empty ones would take a hundred.
type items[T, K any] struct{ list *begun[T, K] }

// UnmarshalJSON implements json.Unmarshaler.
func (i *items[T, K]) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); begin != json.Delim('[') {
		return err // null is no items
	}
	var raw json.RawMessage
	for decoder.More() {
		raw = raw[:0]
		if err := decoder.Decode(&raw); err != nil {
			return err
		}
		if err := i.list.add(raw); err != nil {
			return err
		}
	}
	return nil
}

// add reads an item, and keeps of it what is wanted, if its namespace has room.
func (b *begun[T, K]) add(raw json.RawMessage) error {
	if b.read++; b.read > maxItems {
		return errEndless
	}
	if len(raw) > maxItem {
		return errLarge
	}
	var item T
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	if kept, bytes := b.keep(item); bytes > 0 && b.held.take(bytes) {
		b.items, b.kept = append(b.items, kept), b.kept+bytes
	}
	return nil
}

// unfinished are lists whose next page has to wait, by what was asked for.
type unfinished struct {
	mu    sync.Mutex
	lists map[string]unfinishedList
}

// unfinishedList is a *begun. What is given up gives its room back.
type unfinishedList struct {
	list   any
	began  time.Time
	giveUp func()
}

// resume gives the pages that are there of a list to the first caller, and gives up all lists that wait for too long.
func resume[T, K any](c *Client, key string) *begun[T, K] {
	u, now := &c.unfinished, c.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.lists, func(_ string, l unfinishedList) bool {
		old := now.Sub(l.began) > begunFor
		if old {
			l.giveUp()
		}
		return old
	})
	list, _ := u.lists[key].list.(*begun[T, K])
	delete(u.lists, key)
	return list
}

// giveUp gives up all lists.
func (u *unfinished) giveUp() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, l := range u.lists {
		l.giveUp()
	}
	u.lists = nil
}

// keep keeps the pages of a list until it is asked for again.
func (u *unfinished) keep(key string, list unfinishedList) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lists == nil {
		u.lists = map[string]unfinishedList{}
	}
	u.lists[key] = list
}
