// Package reply holds what ARM says when it refuses, in the form and the words of its public reference.
//
// Sources of the sentences: [D] is Microsoft's page "Azure Virtual Machine error messages" or the page of the named feature, [V]
// a sentence that clients' sources or reports of errors quote, [I] our own guess where none is on record.
package reply

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Error is a refusal.
type Error struct {
	Status        int
	Code, Message string
	Target        string
	Details       []Error
	RetryAfter    time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// New returns a refusal.
func New(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// At returns the refusal with the name of the field that it is about.
func (e *Error) At(target string) *Error {
	e.Target = target
	return e
}

// Body is the error as ARM writes it: the value of "error" in answers and operations.
func (e *Error) Body() map[string]any {
	body := map[string]any{"code": e.Code, "message": e.Message}
	if e.Target != "" {
		body["target"] = e.Target
	}
	var details []any
	for _, d := range e.Details {
		details = append(details, d.Body())
	}
	if details != nil {
		body["details"] = details
	}
	return body
}

// Write sends the refusal.
func (e *Error) Write(w http.ResponseWriter) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	w.Header().Set("X-Ms-Failure-Cause", "gateway")
	JSON(w, e.Status, map[string]any{"error": e.Body()})
}

// JSON sends an answer.
func JSON(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// An error here means that the client has gone, which is its right.
	_ = json.NewEncoder(w).Encode(body)
}
