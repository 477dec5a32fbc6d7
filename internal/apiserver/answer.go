package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
)

// Limits are how much of an answer is taken, in bytes.
type Limits struct {
	// Object is for an object, List for a page of a list, and Refusal for what comes instead of either.
	Object, List, Refusal int64
	Shape                 Shape
}

// Shape is what an answer may be made of, whatever its size: each of these takes far more memory when it is decoded than it has
// bytes. A value on top is one of a list's items, of which even null takes as much as a Node, or a field beside them.
type Shape struct{ Depth, Objects, Values, OnTop int }

// Error is the reason why an answer is not taken. It quotes nothing of the answer.
type Error struct {
	// Why follows "the API server" in a sentence; empty if the answer broke off.
	Why string
	// Err is the cause, if it broke off.
	Err error

	tooLong bool
}

// ErrTooLong matches an error of an answer with more bytes than are taken.
var ErrTooLong = errors.New("the answer is too long")

// Is implements errors.Is.
func (e *Error) Is(target error) bool { return e.tooLong && target == ErrTooLong }

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "it " + e.Why
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Redirects is why an answer is not taken that leads elsewhere.
const Redirects = "answers with a redirect, which is not followed"

// Read reads an answer to its end. It removes the headers that a client would obey or log. The caller closes the body.
func (l Limits) Read(response *http.Response) ([]byte, error) {
	if reason := Unusable(response); reason != "" {
		return nil, &Error{Why: reason}
	}
	response.Header.Del("Retry-After")
	response.Header.Del("Warning")
	body, err := ReadAtMost(response, l.limit(response))
	if err == nil && response.StatusCode < http.StatusBadRequest && !l.Shape.Sound(body) {
		return nil, &Error{Why: "answers with JSON that is not that of an API server"}
	}
	return body, err
}

// ReadAtMost reads a body that has at most so many bytes.
func ReadAtMost(response *http.Response, limit int64) ([]byte, error) {
	tooLong := &Error{Why: fmt.Sprintf("answers with more than %d KiB", limit>>10), tooLong: true}
	if response.ContentLength > limit {
		return nil, tooLong
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, &Error{Err: err}
	case int64(len(body)) > limit:
		return nil, tooLong
	}
	return body, nil
}

func (l Limits) limit(response *http.Response) int64 {
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		return l.Refusal
	case response.Request != nil && response.Request.URL.Query().Has("limit"):
		return l.List
	default:
		return l.Object
	}
}

// Unusable returns why an answer is not even read.
func Unusable(response *http.Response) string {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch reason := Foreign(response); {
	case reason != "":
		return reason
	case response.StatusCode >= 400:
		return "" // what stands between us may answer as it likes
	case err != nil || kind != runtime.ContentTypeJSON:
		return "answers with something that is not JSON"
	}
	return ""
}

// Foreign returns why an answer is not even read, whatever it has.
func Foreign(response *http.Response) string {
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return Redirects
	case response.StatusCode < 200:
		return "answers with something that is not HTTP"
	case response.Header.Get("Content-Encoding") != "":
		return "answers in an encoding that was not requested"
	}
	return ""
}

// Sound reports whether an answer is JSON that can be decoded without surprise.
func (s Shape) Sound(body []byte) bool {
	return s.holds(body) && json.Valid(body)
}

// Weight is how many objects, lists and values JSON has: what counts for the memory that it takes.
func Weight(body []byte) int {
	var n int
	scan(body, func(b byte, _ int) bool {
		if b == '{' || b == '[' || b == ',' {
			n++
		}
		return true
	})
	return n
}

func (s Shape) holds(body []byte) bool {
	var objects, values, onTop int
	return scan(body, func(b byte, depth int) bool {
		switch b {
		case '{', '[':
			objects++
		case ',':
			values++
			if depth <= 2 {
				onTop++
			}
		}
		return depth <= s.Depth && objects <= s.Objects && values <= s.Values && onTop <= s.OnTop
	})
}

// scan calls visit with every byte that is not in a text, and with its depth, until visit returns false.
func scan(body []byte, visit func(b byte, depth int) (proceed bool)) (finished bool) {
	var depth int
	var quoted, escaped bool
	for _, b := range body {
		switch {
		case escaped:
			escaped = false
			continue
		case quoted:
			escaped, quoted = b == '\\', b != '"'
			continue
		case b == '"':
			quoted = true
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			depth--
		}
		if !visit(b, depth) {
			return false
		}
	}
	return true
}
