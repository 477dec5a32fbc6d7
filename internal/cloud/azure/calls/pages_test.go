package calls

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// seenOf are pages that were asked for.
func seenOf(token string) map[[sha256.Size]byte]bool {
	return map[[sha256.Size]byte]bool{digestOf(url.Values{"$skiptoken": {token}}): true}
}

// numbers is a list of which so much is there; it keeps all items.
type numbers struct{ read, bytes, pages int }

func (n numbers) begun(seen map[[sha256.Size]byte]bool) *begun[int, int] {
	keep := func(item int) (int, int) { return item, 1 }
	b := &begun[int, int]{held: &Held{}, keep: keep, read: n.read, bytes: n.bytes, pages: n.pages, seen: seen}
	if seen == nil {
		b.seen = map[[sha256.Size]byte]bool{}
	}
	return b
}

// TestPagesEnd: what is no list of Azure's ends.
func TestPagesEnd(t *testing.T) {
	page := func(next string) []byte { return fmt.Appendf(nil, `{"value":[1],"nextLink":%q}`, next) }
	for name, c := range map[string]struct {
		list numbers
		seen map[[sha256.Size]byte]bool
		page []byte
		ends bool
		err  bool
	}{
		"another page":    {page: page("https://elsewhere.example/x?$skiptoken=2")},
		"the last one":    {page: page(""), ends: true},
		"no link":         {page: page("http://[::1"), ends: true},
		"no page":         {page: []byte("<html>"), err: true},
		"the same again":  {page: page("?$skiptoken=1"), err: true},
		"one before":      {seen: seenOf("0"), page: page("?$skiptoken=0"), err: true},
		"too many pages":  {list: numbers{pages: maxPages - 1}, page: page("?$skiptoken=2"), err: true},
		"a link too long": {page: page("?$skiptoken=" + strings.Repeat("x", maxLink)), err: true},
		"a long link":     {page: page("?$skiptoken=" + strings.Repeat("x", maxLink-20))},
		"too many bytes":  {list: numbers{bytes: maxList}, page: page("?$skiptoken=2"), err: true},
		"the last of all": {list: numbers{bytes: maxList, pages: maxPages - 1}, page: page(""), ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			next, err := c.list.begun(c.seen).take(c.page, url.Values{"$skiptoken": {"1"}})
			expect.Same(t, "an error", c.err, err != nil)
			if err == nil {
				expect.Same(t, "ends", c.ends, next == nil)
			}
		})
	}
}

// TestPagesAreForgotten: what was kept of a list is not mixed with much later pages.
func TestPagesAreForgotten(t *testing.T) {
	for age, found := range map[time.Duration]bool{begunFor: true, begunFor + 1: false} {
		began, givenUp := time.Unix(1_800_000_000, 0), 0
		c := &Client{now: func() time.Time { return began.Add(age) }}
		for _, key := range []string{"a", "b"} {
			c.unfinished.keep(key, unfinishedList{numbers{pages: 1}.begun(nil), began, func() { givenUp++ }})
		}
		expect.Same(t, "pages are kept for "+age.String(), found, resume[int, int](c, "a") != nil)
		expect.Same(t, "other lists are kept for "+age.String(), found, len(c.unfinished.lists) == 1)
		c.unfinished.giveUp()
		expect.Same(t, "lists that gave their room back", map[bool]int{true: 1, false: 2}[found], givenUp)
	}
}

// TestEndlessListIsNamed: who has a broken proxy reads that lists do not end, and not that nothing answers.
func TestEndlessListIsNamed(t *testing.T) {
	c := &Client{Endpoint: "https://proxy.example", circuit: newCircuit(time.Now)}
	message := c.unanswered(errEndless).Err().Error()
	if !strings.Contains(message, "https://proxy.example") || !strings.Contains(message, "do not end") {
		t.Error(message)
	}
}

// TestLongEndpoint: what a user wrote is told up to a length, to the letter.
func TestLongEndpoint(t *testing.T) {
	for over, cut := range []bool{false, true} {
		c := &Client{Endpoint: strings.Repeat("x", 256+over), circuit: newCircuit(time.Now)}
		for _, cause := range []error{errEndless, io.EOF} {
			if message := c.unanswered(cause).Err().Error(); strings.Contains(message, "...") != cut {
				t.Error(message)
			}
		}
	}
}

// TestItemsEnd: no more items are read than a list may have, however few bytes they take.
func TestItemsEnd(t *testing.T) {
	type none = struct{}
	all := begun[none, none]{held: &Held{}, keep: func(item none) (none, int) { return item, 1 }}
	err := json.Unmarshal([]byte("["+strings.Repeat("{},", 2*maxItems)+"{}]"), &items[none, none]{&all})
	if !errors.Is(err, errEndless) || len(all.items) > maxItems {
		t.Errorf("%d items are read: %v", len(all.items), err)
	}
}

// TestLimitsOfAList: a list that is too long is none, to the item and to the byte, and neither is one that is no list.
func TestLimitsOfAList(t *testing.T) {
	const more = `,"nextLink":"https://a?b"}`
	zeros := func(n int) string { return `{"value":[` + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }
	for name, c := range map[string]struct {
		have, bytes int
		text        string
		endless, ok bool
	}{
		"nothing":                 {0, 0, `{"value":null}`, false, true},
		"no list":                 {0, 0, `{"value":{}}`, false, true},
		"another type":            {0, 0, `{"value":["x"]}`, false, false},
		"as many as can be":       {0, 0, zeros(maxItems) + "}", false, true},
		"one more":                {0, 0, zeros(maxItems+1) + "}", true, false},
		"as many as fit":          {maxItems - 2, 0, zeros(2) + "}", false, true},
		"one more than fit":       {maxItems - 1, 0, zeros(2) + "}", true, false},
		"as many bytes as fit":    {0, maxList - len(zeros(1)+more), zeros(1) + more, false, true},
		"a byte more than fits":   {0, maxList - len(zeros(1)+more) + 1, zeros(1) + more, true, false},
		"bytes of the last page":  {0, maxList, zeros(1) + "}", false, true},
		"a text that is cut off":  {0, 0, `{"value":[0`, false, false},
		"a next page that is odd": {0, 0, zeros(1) + `,"nextLink":"%zz"}`, false, true},
	} {
		_, err := numbers{read: c.have, bytes: c.bytes}.begun(nil).take([]byte(c.text), nil)
		expect.Same(t, name+": is taken", c.ok, err == nil)
		expect.Same(t, name+": has no end", c.endless, errors.Is(err, errEndless))
	}
}
