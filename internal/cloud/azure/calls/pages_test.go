package calls

import (
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

// TestPagesEnd: what is no list of Azure's ends.
func TestPagesEnd(t *testing.T) {
	page := func(next string) []byte { return fmt.Appendf(nil, `{"value":[1],"nextLink":%q}`, next) }
	for name, c := range map[string]struct {
		list begun[int]
		page []byte
		ends bool
		err  bool
	}{
		"another page":    {page: page("https://elsewhere.example/x?$skiptoken=2")},
		"the last one":    {page: page(""), ends: true},
		"no link":         {page: page("http://[::1"), ends: true},
		"no page":         {page: []byte("<html>"), err: true},
		"the same again":  {page: page("?$skiptoken=1"), err: true},
		"one before":      {list: begun[int]{seen: map[string]bool{"%24skiptoken=0": true}}, page: page("?$skiptoken=0"), err: true},
		"too many pages":  {list: begun[int]{pages: maxPages - 1}, page: page("?$skiptoken=2"), err: true},
		"too many bytes":  {list: begun[int]{bytes: maxList}, page: page("?$skiptoken=2"), err: true},
		"the last of all": {list: begun[int]{bytes: maxList, pages: maxPages - 1}, page: page(""), ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.list.seen == nil {
				c.list.seen = map[string]bool{}
			}
			next, err := c.list.take(c.page, url.Values{"$skiptoken": {"1"}})
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
		now := time.Unix(1_800_000_000, 0)
		var kept unfinished
		kept.keep("a", &begun[int]{began: now, pages: 1})
		now = now.Add(age)
		expect.Same(t, "pages are kept for "+age.String(), found, resume[int](&kept, "a", now) != nil)
		expect.Same(t, "lists that are kept", 0, len(kept.lists))
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
	var all items[struct{}]
	err := json.Unmarshal([]byte("["+strings.Repeat("{},", 2*maxItems)+"{}]"), &all)
	if !errors.Is(err, errEndless) || len(all) > maxItems {
		t.Errorf("%d items are read: %v", len(all), err)
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
		b := begun[int]{items: make([]int, c.have), bytes: c.bytes, seen: map[string]bool{}}
		_, err := b.take([]byte(c.text), nil)
		expect.Same(t, name+": is taken", c.ok, err == nil)
		expect.Same(t, name+": has no end", c.endless, errors.Is(err, errEndless))
	}
}
