package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// pages is an API server with a list of four objects, that is asked by limits. The first two are so large that an answer may have
// one.
type pages struct{ asked []string }

// RoundTrip implements http.RoundTripper. It reads as the transports of our clients do.
func (p *pages) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	p.asked = append(p.asked, query.Get("continue")+":"+query.Get("limit"))
	var from, limit int
	_, _ = fmt.Sscan(query.Get("continue"), &from) // none is the first page
	_, _ = fmt.Sscan(query.Get("limit"), &limit)
	to, next := min(from+limit, 4), ""
	if to < 4 {
		next = fmt.Sprint(to)
	}
	var items []string
	for i := from; i < to; i++ {
		length := 1
		if i < 2 {
			length = 60
		}
		items = append(items, fmt.Sprintf(`{"note":%q}`, strings.Repeat("x", length)))
	}
	body := fmt.Sprintf(`{"metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
	response := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: -1,
		Body: http.NoBody, Request: request,
	}
	if len(body) > 140 {
		return nil, &Error{Why: "answers with more", tooLong: true}
	}
	response.Body = closing{strings.NewReader(body)}
	return response, nil
}

type closing struct{ *strings.Reader }

// Close implements io.Closer.
func (closing) Close() error { return nil }

// TestLargePages: a page that is longer than an answer may be is read in parts, and the next pages are large again.
func TestLargePages(t *testing.T) {
	server := &pages{}
	api := expect.Got(NewREST(&rest.Config{Host: "http://a", QPS: -1}, &http.Client{Transport: server}))(t)
	objects := 0
	_, err := List(context.Background(), Reader{REST: api, Page: 4, MostPages: 10}, "/list", url.Values{}, func(struct{}) error {
		objects++
		return nil
	})
	expect.OK(t, err)
	expect.Same(t, "objects", 4, objects)
	expect.Same(t, "what was asked for", []string{":4", ":2", ":1", "1:2", "3:4"}, server.asked)
}
