package apiserver

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var few = Limits{Object: 100, List: 200, Refusal: 50, Shape: Shape{Depth: 3, Objects: 5, Values: 5, OnTop: 3}}

// counted counts what is read of a body.
type counted struct {
	io.Reader
	read *int64
}

// Read implements io.Reader.
func (c counted) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	*c.read += int64(n)
	return n, err
}

// answered is an answer to a call of an address, and how much of its body has been read.
func answered(t *testing.T, address string, status int, body io.Reader, headers ...string) (*http.Response, *int64) {
	t.Helper()
	read := new(int64)
	response := &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: -1,
		Body: io.NopCloser(counted{body, read}), Request: &http.Request{URL: expect.Got(url.Parse(address))(t)},
	}
	for pair := range slices.Chunk(headers, 2) {
		response.Header.Set(pair[0], pair[1])
	}
	t.Cleanup(func() { expect.Fine(t, response.Body.Close()) })
	return response, read
}

// endless is a body that never ends.
func endless() io.Reader { return iotest.OneByteReader(forever{}) }

type forever struct{}

// Read implements io.Reader.
func (forever) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = 'x'
	}
	return len(into), nil
}

// TestBytesRead: of an answer without end as much is read as its kind may have, and one byte.
func TestBytesRead(t *testing.T) {
	for address, want := range map[string][2]int64{
		"https://a/api/v1/nodes?limit=20": {201, 51}, "https://a/api/v1/nodes/n": {101, 51}, "https://a/version?x=limit": {101, 51},
	} {
		for i, status := range []int{http.StatusOK, http.StatusBadRequest} {
			response, read := answered(t, address, status, endless()) //nolint:bodyclose // because answered closes it
			_, err := few.Read(response)
			expect.Says(t, address, err, "it answers with more than 0 KiB")
			expect.Same(t, address, want[i], *read)
		}
	}
}

// TestReadsNothing: what cannot be used is not read, whatever it has.
func TestReadsNothing(t *testing.T) {
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	_, err := pack.Write(bytes.Repeat([]byte(" "), 1<<20))
	expect.OK(t, err)
	expect.OK(t, pack.Close())
	for why, c := range map[string]struct {
		status  int
		headers []string
	}{
		"answers with a redirect, which is not followed": {307, []string{"Location", "http://elsewhere"}},
		"answers in an encoding that was not requested":  {200, []string{"Content-Encoding", "gzip"}},
		"answers with something that is not HTTP":        {101, nil},
		"answers with something that is not JSON":        {200, []string{"Content-Type", "application/vnd.kubernetes.protobuf"}},
		"something that is not JSON":                     {200, []string{"Content-Type", "application/json;stream=watch;;"}},
	} {
		//nolint:bodyclose // because answered closes it
		response, read := answered(t, "https://a", c.status, bytes.NewReader(packed.Bytes()), c.headers...)
		_, err := few.Read(response)
		expect.Says(t, why, err, why)
		expect.Same(t, why+": bytes read", int64(0), *read)
	}
	response, read := answered(t, "https://a", http.StatusOK, endless()) //nolint:bodyclose // because answered closes it
	response.ContentLength = 1 << 40
	_, err = few.Read(response)
	expect.Says(t, "what is too long by its own word", err, "answers with more than 0 KiB")
	expect.Same(t, "bytes read", int64(0), *read)
}

// TestHeadersOfOthers: a client neither waits as long as a server says nor logs its words.
func TestHeadersOfOthers(t *testing.T) {
	//nolint:bodyclose // because answered closes it
	response, _ := answered(t, "https://a", http.StatusOK, strings.NewReader("{}"), "Retry-After", "3600", "Warning", "299 - x")
	expect.Same(t, "body", "{}", string(expect.Got(few.Read(response))(t)))
	expect.Same(t, "headers", http.Header{"Content-Type": {"application/json"}}, response.Header)
}

// TestShapes: a small text may be large when it is decoded.
func TestShapes(t *testing.T) {
	for body, want := range map[string]bool{
		`{"a":[{}]}`: true, `{"a":[[{}]]}`: false, `[[],[],[],[]]`: true, `[[1,2,3,4,5,6]]`: false, `{"items":[1,2,3,4]}`: true,
		`{"items":[1,2,3,4,5]}`: false, `[[[],[],[],[],[]]]`: false, `{"a":"[[[[[[[,,,,,,,\"[[["}`: true, `{`: false, "": false,
		`"\\"`: true, `"\\",[[[[[`: false,
	} {
		expect.Same(t, body, want, few.Shape.Sound([]byte(body)))
	}
	expect.Same(t, "weight", 6, Weight([]byte(`{"a":[1,2],"b":["x,y",{}]}`))-1)
}

// TestErrors: an answer that breaks off has its cause, and every other none.
func TestErrors(t *testing.T) {
	//nolint:bodyclose // because answered closes it
	response, _ := answered(t, "https://a", http.StatusOK, iotest.ErrReader(io.ErrUnexpectedEOF))
	_, err := few.Read(response)
	expect.Says(t, "broken off", err, io.ErrUnexpectedEOF.Error())
	//nolint:bodyclose // because answered closes it
	response, _ = answered(t, "https://a", http.StatusOK, strings.NewReader("[[[[]]]]"))
	_, err = few.Read(response)
	expect.Says(t, "of another shape", err, "it answers with JSON that is not that of an API server")
}

// TestHeadersWithoutEnd: a server cannot fill a client before its answer begins.
func TestHeadersWithoutEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 2 * maxHeaders / 100 {
			w.Header().Add("X", strings.Repeat("x", 100))
		}
	}))
	t.Cleanup(server.Close)
	request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody))(t)
	response, err := NewTransport(&tls.Config{MinVersion: tls.VersionTLS12}, time.Second).RoundTrip(request)
	if err == nil {
		expect.OK(t, response.Body.Close())
	}
	expect.Says(t, "the answer", err, "server response headers exceeded")
}
