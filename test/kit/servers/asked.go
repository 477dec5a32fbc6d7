package servers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// workloadAuditPolicy has the API server write down what the user of KubeconfigFile asks for, each request once it is answered,
// or begins to be where it is a watch. The heartbeats of nodes are left out.
const workloadAuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources:
  - {group: coordination.k8s.io, resources: [leases]}
  - {group: "", resources: [events, pods/status, nodes/status]}
- level: Metadata
  users: [kubernetes-super-admin]
`

func (w *Workload) auditArgs() ([]string, error) {
	if !w.options.Audited {
		return nil, nil
	}
	file := func(name string) string { return filepath.Join(w.servers.dir, name) }
	if err := os.WriteFile(file(auditPolicyFile), []byte(workloadAuditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write audit policy: %w", err)
	}
	return []string{"--audit-policy-file=" + file(auditPolicyFile), "--audit-log-path=" + file(auditLogFile)}, nil
}

// Asked is a request to a workload cluster that was answered well.
type Asked struct {
	At time.Time
	// Agent is who asked: the first word of the user agent, such as "capwin-manager" or "kubectl/v1.36.3".
	Agent string
	// Verb and Resource are those of RBAC, the latter with its group, such as "deployments.apps".
	Verb, Resource, Namespace, Name string
	// DryRun changes nothing.
	DryRun bool
}

// Writes says whether it may have changed something.
func (a Asked) Writes() bool {
	switch a.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return !a.DryRun
	}
	return false
}

// Asked is what an agent has asked an audited cluster for so far, with the kubeconfig that Cluster API and our managers have.
func (w *Workload) Asked(agent string) ([]Asked, error) {
	log, err := os.ReadFile(filepath.Join(w.servers.dir, auditLogFile))
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	var all []Asked
	lines := bufio.NewScanner(bytes.NewReader(linesWith(log, `"userAgent":"`+agent)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			auditEvent

			RequestReceivedTimestamp time.Time
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.ResponseStatus.Code >= 400 {
			continue // the last line may be half written
		}
		of := event.ObjectRef
		name, _, _ := strings.Cut(event.UserAgent, " ")
		all = append(all, Asked{
			At: event.RequestReceivedTimestamp, Agent: name, Verb: event.Verb,
			Resource:  strings.TrimSuffix(strings.TrimSuffix(of.Resource+"/"+of.Subresource, "/")+"."+of.APIGroup, "."),
			Namespace: of.Namespace, Name: of.Name, DryRun: strings.Contains(event.RequestURI, "dryRun=All"),
		})
	}
	return all, lines.Err()
}
