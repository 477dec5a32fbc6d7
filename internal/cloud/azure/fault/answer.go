// Package fault explains Azure's errors: of which kind they are, when to try again, what they close for other machines, and what
// people should do. All of it is in one table. It calls nothing and remembers nothing.
package fault

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Answer is an error as Azure reports it: the answer to a request, the end of an operation, or the state in a VM's view.
type Answer struct {
	Status     int // of HTTP; zero where there was no request
	Code       string
	Message    string
	Details    []Answer
	RetryAfter time.Duration
	// Foreign is true if a 404 is not Azure Resource Manager's own: it is a proxy's, which does not know what there is.
	Foreign bool
	// ByID is true if the request was a look at one resource, or its deletion, so that a 404 is about that resource.
	ByID bool
}

// maxBody is more than Azure's errors have.
const maxBody = 64 << 10

// Read reads an answer of Azure that is not a success. A body that is not Azure's, such as that of a proxy, leaves the code
// empty.
func Read(status int, header http.Header, body []byte) Answer {
	var read struct{ Error wire }
	if len(body) <= maxBody {
		_ = json.Unmarshal(body, &read) // what cannot be read has no code
	}
	answer := read.Error.answer(2)
	answer.Status = status
	answer.Code = cmp.Or(answer.Code, header.Get("x-ms-error-code"))
	answer.RetryAfter = retryAfter(header, answer.Message)
	answer.Foreign = status == http.StatusNotFound && isForeign(header, body)
	return answer
}

// isForeign reports whether an answer did not come from Azure Resource Manager, which gives each of its own an id ("Azure
// Resource Manager request details", Microsoft Learn), and never answers in HTML.
func isForeign(header http.Header, body []byte) bool {
	signed := header.Get("X-Ms-Request-Id") != "" || header.Get("X-Ms-Correlation-Request-Id") != ""
	return !signed || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// wire is an error of Azure's, as its REST guidelines define it.
type wire struct {
	Code, Message string
	Details       []wire
}

func (w wire) answer(depth int) Answer {
	a := Answer{Code: w.Code, Message: w.Message}
	if depth > 0 {
		for _, detail := range w.Details[:min(len(w.Details), 8)] {
			a.Details = append(a.Details, detail.answer(depth-1))
		}
	}
	return a
}

const failedState = "provisioningstate/failed/"

// OfView reads a status of a VM's instance view: ProvisioningState/failed/CODE and its message.
func OfView(code, message string) (Answer, bool) {
	if len(code) <= len(failedState) || !strings.EqualFold(code[:len(failedState)], failedState) {
		return Answer{}, false
	}
	return Answer{Code: code[len(failedState):], Message: message}, true
}

// The shortest and the longest that Azure may have us wait.
const (
	shortestWait = time.Second
	longestWait  = time.Hour
)

var tryAgainAfter = regexp.MustCompile(`try again after '?(\d{1,5})'? seconds`)

// retryAfter is how long Azure asks us to wait; zero if it does not. Its dates are not read: they are of another clock.
func retryAfter(header http.Header, message string) time.Duration {
	for name, unit := range map[string]time.Duration{
		"Retry-After-Ms": time.Millisecond, "X-Ms-Retry-After-Ms": time.Millisecond, "Retry-After": time.Second,
	} {
		if count, err := strconv.Atoi(header.Get(name)); err == nil && count >= 0 && header.Get(name) != "" {
			return bounded(count, unit)
		}
	}
	if found := tryAgainAfter.FindStringSubmatch(message); found != nil {
		count, _ := strconv.Atoi(found[1]) // digits alone
		return bounded(count, time.Second)
	}
	return 0
}

func bounded(count int, unit time.Duration) time.Duration {
	count = min(count, int(longestWait/unit))
	return max(time.Duration(count)*unit, shortestWait)
}

// codes are the codes of an answer and its details, in lower case.
func (a Answer) codes() []string {
	codes := []string{strings.ToLower(a.Code)}
	for _, detail := range a.Details {
		codes = append(codes, detail.codes()...)
	}
	return codes
}

// texts are the messages of an answer and its details, in lower case.
func (a Answer) texts() string {
	var text strings.Builder
	text.WriteString(strings.ToLower(a.Message))
	for _, detail := range a.Details {
		text.WriteString("\n" + detail.texts())
	}
	return text.String()
}
