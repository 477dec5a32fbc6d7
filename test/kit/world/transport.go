package world

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// transport is a gate in front of an API server.
type transport struct {
	gate *Gate
	side string // "management" or "workload"
	next http.RoundTripper
}

// Wrap is for rest.Config.WrapTransport.
func (g *Gate) Wrap(side string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return transport{g, side, next} }
}

// RoundTrip lets a request pass the gate.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	name, changes, err := nameOf(request)
	if err != nil {
		return nil, err
	}
	name = t.side + " " + name
	if t.gate.loses(name) {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	if !changes {
		if err := t.gate.Read(name); err != nil {
			return nil, err
		}
		return t.next.RoundTrip(request)
	}
	var response *http.Response
	var failed error
	killed := t.gate.Change(name, func() bool {
		response, failed = t.next.RoundTrip(uncut(request)) //nolint:bodyclose // because who gets the response closes it
		return failed == nil && response.StatusCode < http.StatusMultipleChoices
	})
	if killed != nil {
		if response != nil {
			_ = response.Body.Close()
		}
		return nil, killed
	}
	return response, failed
}

// uncut is a change whose answer is awaited even if its caller waits no longer: it may take effect all the same, and is counted.
func uncut(request *http.Request) *http.Request {
	return request.WithContext(context.WithoutCancel(request.Context()))
}

// nameOf names a request in a way that stays the same from run to run: "PATCH windowsmachines/status Ready=Joined". Leases
// and events are not state.
func nameOf(request *http.Request) (name string, changes bool, err error) {
	resource := resourceOf(request.URL.Path)
	name = request.Method + " " + resource
	if request.Method == http.MethodGet || resource == "leases" || resource == "events" || strings.HasSuffix(resource, "reviews") {
		return name, false, nil
	}
	if request.Method != http.MethodPatch || request.Body == nil {
		return name, true, nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return "", false, err
	}
	_ = request.Body.Close()
	request.Body = io.NopCloser(bytes.NewReader(body))
	return name + " " + contentOf(body), true, nil
}

// resourceOf reads /api/v1/... and /apis/GROUP/VERSION/... up to, and without, the object's name.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) <= skip {
		return strings.Join(parts, "/")
	}
	parts = parts[skip:]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return parts[0]
}

// contentOf says what a merge patch changes: the reason of the Ready condition if it has one, and what the guest does while the
// VM runs, otherwise the fields.
func contentOf(body []byte) string {
	var patch struct {
		Metadata map[string]any `json:"metadata"`
		Spec     map[string]any `json:"spec"`
		Data     map[string]any `json:"data"`
		Status   map[string]any `json:"status"`
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		return "?"
	}
	if reason := reasonOf(patch.Status, "Ready"); reason == "Running" {
		return "Ready=Running, guest=" + reasonOf(patch.Status, "BootstrapSucceeded")
	} else if reason != "" {
		return "Ready=" + reason
	}
	delete(patch.Metadata, "resourceVersion")
	var fields []string
	for _, part := range []map[string]any{patch.Metadata, patch.Spec, patch.Data, patch.Status} {
		fields = append(fields, slices.Sorted(maps.Keys(part))...)
	}
	return strings.Join(fields, ",")
}

func reasonOf(status map[string]any, condition string) string {
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == condition {
			reason, _ := c["reason"].(string)
			return reason
		}
	}
	return ""
}
