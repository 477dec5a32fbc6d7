package servers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// Ended says why the manager of a component ended; nil while it runs.
func (m *Management) Ended(component string) error {
	p, err := m.manager(component)
	if err != nil {
		return err
	}
	if !p.hasEnded() {
		return nil
	}
	return p.whyEnded()
}

// PeakMemory is the most bytes of memory that the manager of a component had at any time, as Linux says.
func (m *Management) PeakMemory(component string) (int, error) {
	p, err := m.manager(component)
	if err != nil {
		return 0, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0, fmt.Errorf("read memory of %s: %w", p.name, err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(kib)
	if err != nil {
		return 0, fmt.Errorf("read memory of %s: %w", p.name, err)
	}
	return n << 10, nil
}

func (m *Management) manager(component string) (*process, error) {
	return m.servers.process(managerProcess(component))
}

// Request is one that a manager of ours made.
type Request struct {
	Component, Namespace, Verb, Resource string
	// Secret is the name, where it is about one.
	Secret string
	// Conflict says that it would have changed an object of which the manager had seen an earlier version.
	Conflict bool
}

// Requests counts what our managers have asked the API server for so far.
func (m *Management) Requests() (map[Request]int, error) {
	log, err := os.ReadFile(m.auditLog)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	users := map[string]string{}
	for _, name := range Components {
		c, err := renderComponent(name)
		if err != nil {
			return nil, err
		}
		users["system:serviceaccount:"+c.account().Namespace+":"+c.account().Name] = name
	}
	counts := map[Request]int{}
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Namespace, Resource, Subresource, Name string }

			ResponseStatus struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || users[event.User.Username] == "" {
			continue // the last line may be half written
		}
		resource := strings.TrimSuffix(event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")
		request := Request{
			Component: users[event.User.Username], Namespace: event.ObjectRef.Namespace, Verb: event.Verb, Resource: resource,
			Conflict: event.ResponseStatus.Code == http.StatusConflict,
		}
		if resource == "secrets" {
			request.Secret = event.ObjectRef.Name
		}
		counts[request]++
	}
	return counts, lines.Err()
}
