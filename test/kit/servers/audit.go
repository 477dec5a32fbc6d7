package servers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	auditPolicyFile = "audit-policy.yaml"
	auditLogFile    = "audit.log"
	// auditPolicy has the API server write down what accounts ask for, each request once it is answered. Nobody else here
	// works as an account: Cluster API and the controllers of Kubernetes are admins.
	auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: [system:serviceaccounts]
`
)

func (m *Management) writeAuditPolicy() error {
	err := os.WriteFile(filepath.Join(m.servers.dir, auditPolicyFile), []byte(auditPolicy), 0o600)
	if err != nil {
		return fmt.Errorf("write audit policy: %w", err)
	}
	return nil
}

// Permission is what a rule of a role gives to the manager of a component, and what a request takes.
type Permission struct{ Component, Group, Resource, Verb string }

// String is the permission for people.
func (p Permission) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s: %s %s.%s", p.Component, p.Verb, p.Resource, p.Group), ".")
}

// Stolen is the user agent of a test that has taken an account's token. What it asks for is not what the manager needs.
const Stolen = "stolen"

// auditEvent is what we want of a line of the audit log.
type auditEvent struct {
	Verb, RequestURI, UserAgent string
	User                        struct{ Username string }
	ObjectRef                   struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus              struct {
		Code    int
		Message string
	}
}

// Audit says what our managers were given, what of it they asked for, and what they asked for and were not given.
type Audit struct {
	Granted, Used []Permission
	// Refused are in words.
	Refused []string
	// Calls are the requests that took a permission, without names: "POST /api/v1/namespaces/NAMESPACE/secrets".
	Calls map[Permission][]string
	// Policies are the short names of those that bound what a permission gives.
	Policies map[Permission][]string
}

// Audit reads what has happened so far. In a cluster that others use as well, it is what this process and its managers did.
func (m *Management) Audit() (Audit, error) { return m.AuditOf(m.asks) }

// AuditOf reads what those did whose user agents are chosen.
func (m *Management) AuditOf(chosen func(agent string) bool) (Audit, error) {
	log, err := os.ReadFile(m.auditLog)
	if err != nil {
		return Audit{}, fmt.Errorf("read audit log: %w", err)
	}
	audit := Audit{Calls: map[Permission][]string{}, Policies: map[Permission][]string{}}
	for _, name := range Components {
		c, err := renderComponent(name)
		if err != nil {
			return Audit{}, err
		}
		if err := audit.addRoles(c); err != nil {
			return Audit{}, err
		}
		if err := audit.addPolicies(c); err != nil {
			return Audit{}, err
		}
		if err := audit.addRequests(c, log, chosen); err != nil {
			return Audit{}, fmt.Errorf("read audit log: %w", err)
		}
	}
	return audit, nil
}

// Read lists the objects of a namespace that our managers asked for by name, as in "secrets/vcenter".
func (m *Management) Read(namespace string) (read []string, err error) {
	log, err := os.ReadFile(m.auditLog)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	for _, name := range Components {
		c, err := renderComponent(name)
		if err != nil {
			return nil, err
		}
		err = c.requests(linesWith(log, namespace), func(event auditEvent) {
			if event.Verb == "get" && event.ObjectRef.Namespace == namespace {
				read = append(read, event.ObjectRef.Resource+"/"+event.ObjectRef.Name)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
	}
	return read, nil
}

func (a *Audit) addRoles(c ownComponent) error {
	for _, object := range c.objects {
		if object.GetKind() != "Role" && object.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			return fmt.Errorf("read role %s: %w", object.GetName(), err)
		}
		for _, rule := range role.Rules {
			a.Granted = append(a.Granted, permissions(c, rule)...)
		}
	}
	return nil
}

func permissions(c ownComponent, rule rbacv1.PolicyRule) (all []Permission) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, Permission{c.name, group, resource, verb})
			}
		}
	}
	return all
}

func (a *Audit) addRequests(c ownComponent, log []byte, chosen func(agent string) bool) error {
	return c.requests(log, func(event auditEvent) {
		if chosen(event.UserAgent) {
			a.add(c, event)
		}
	})
}

// requests reads what the component's manager asked for.
func (c ownComponent) requests(log []byte, each func(auditEvent)) error {
	account := c.account()
	user := "system:serviceaccount:" + account.Namespace + ":" + account.Name
	lines := json.NewDecoder(bytes.NewReader(linesWith(log, user)))
	for {
		var event auditEvent
		err := lines.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last line may be half written
			return nil
		}
		if err != nil {
			return err
		}
		if event.User.Username == user && event.UserAgent != Stolen {
			each(event)
		}
	}
}

// linesWith returns the lines that hold the text: reading all of a long log takes seconds.
func linesWith(log []byte, text string) (found []byte) {
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(text)) {
			found = append(found, line...)
		}
	}
	return found
}

func (a *Audit) add(c ownComponent, event auditEvent) {
	taken := Permission{c.name, event.ObjectRef.APIGroup, event.ObjectRef.Resource, event.Verb}
	if event.ObjectRef.Subresource != "" {
		taken.Resource += "/" + event.ObjectRef.Subresource
	}
	refused := taken.String() + " (" + event.RequestURI + ")"
	switch {
	case c.refusedByATest(event.ResponseStatus.Message) || event.ofAnEnd():
	case event.ResponseStatus.Code != http.StatusForbidden && taken.Resource != "":
		a.take(taken, event)
	case event.ResponseStatus.Code == http.StatusForbidden && !slices.Contains(a.Refused, refused):
		a.Refused = append(a.Refused, refused)
	}
}

// refusedByATest says whether a policy refused the request that is not the component's own.
func (c ownComponent) refusedByATest(message string) bool {
	const by = ": ValidatingAdmissionPolicy '"
	return strings.Contains(message, by) && !strings.Contains(message, by+c.deployment.GetNamespace()+"-")
}

// ofAnEnd says whether it is an event about what is in a namespace that is being deleted. Nothing new is made in one.
func (e auditEvent) ofAnEnd() bool {
	return e.ObjectRef.Resource == "events" && strings.Contains(e.ResponseStatus.Message, "because it is being terminated")
}

func (a *Audit) take(taken Permission, event auditEvent) {
	if !slices.Contains(a.Used, taken) {
		a.Used = append(a.Used, taken)
	}
	if call := event.call(); !slices.Contains(a.Calls[taken], call) {
		a.Calls[taken] = append(a.Calls[taken], call)
	}
}

// methods are those of HTTP, by verb.
var methods = map[string]string{
	"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE",
}

// call is the request without the names in it.
func (e auditEvent) call() string {
	path, _, _ := strings.Cut(e.RequestURI, "?")
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		switch parts[i-1] {
		case "namespaces":
			parts[i] = "NAMESPACE"
		case e.ObjectRef.Resource:
			parts[i] = "NAME"
		}
	}
	call := methods[e.Verb] + " " + strings.Join(parts, "/")
	if e.Verb == "watch" {
		call += "?watch=true"
	}
	return call
}
