package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// agent tolerates every taint and names no operating system, as many agents that run on each node.
const agent = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: agent, image: "example.com/agent:v1"}]
`

// web is for Windows, and says so.
const web = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows}
  tolerations: [{key: os, value: windows, effect: NoSchedule}]
  containers: [{name: web, image: "example.com/iis:ltsc2022"}]
`

// tellPods shows where pods go: an agent for every node to Linux alone, as an admission policy of ours adds the selector, and a
// pod for Windows to Windows.
func (s *story) tellPods(ctx context.Context) error {
	s.screen.title("An agent that tolerates every taint and names no operating system; a pod for Windows")
	s.screen.printf("  agent.yaml has no nodeSelector. The API server adds one, by the policy that our manager has written:\n")
	begin := time.Now()
	for name, manifest := range map[string]string{"agent.yaml": agent, "web.yaml": web} {
		if err := os.WriteFile(filepath.Join(s.lab.Dir(), name), []byte(manifest), 0o600); err != nil {
			return fmt.Errorf("write manifest: %w", err)
		}
	}
	for _, args := range [][]string{
		{"get", "mutatingadmissionpolicies"},
		{"apply", "-f", "agent.yaml", "-f", "web.yaml"},
		{"rollout", "status", "daemonset/agent", "--timeout=1m"},
		{"wait", "--for=condition=Ready", "pod/web", "--timeout=1m"},
		{"get", "daemonset", "agent", "-o", "custom-columns=DAEMONSET:.metadata.name,SELECTS:.spec.template.spec.nodeSelector"},
		{"get", "pods", "-o", "custom-columns=POD:.metadata.name,NODE:.spec.nodeName,PHASE:.status.phase"},
		{"get", "nodes", "-L", "kubernetes.io/os"},
	} {
		if err := s.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	if err := s.onLinux(ctx); err != nil {
		return err
	}
	s.screen.done(time.Since(begin))
	return nil
}

// onLinux fails if the agent is not on each Linux node, or on any other.
func (s *story) onLinux(ctx context.Context) error {
	on, err := s.ask(ctx, "get", "pods", "-l", "app=agent", "-o", "jsonpath={range .items[*]}{.spec.nodeName} {end}")
	if err != nil {
		return err
	}
	linux, err := s.ask(ctx, "get", "nodes", "-l", "kubernetes.io/os=linux", "-o",
		"jsonpath={range .items[*]}{.metadata.name} {end}")
	if err != nil {
		return err
	}
	for node := range strings.FieldsSeq(on) {
		if !strings.Contains(linux, node+" ") {
			return fmt.Errorf("a pod of the agent is on %s, which does not run Linux", node)
		}
	}
	if len(strings.Fields(on)) != len(strings.Fields(linux)) {
		return fmt.Errorf("the agent is on %s and not on %s", on, linux)
	}
	return nil
}

// kubectl runs the real one in the workload cluster, and shows what a user would see.
func (s *story) kubectl(ctx context.Context, args ...string) error {
	s.screen.printf("  %s\n", s.screen.paint(bold, "$ kubectl "+strings.Join(args, " ")))
	said, err := s.ask(ctx, args...)
	for line := range strings.Lines(said) {
		s.screen.printf("    %s", line)
	}
	return err
}

func (s *story) ask(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(s.lab.Programs(), "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.lab.Workload.KubeconfigFile)
	command.Dir = s.lab.Dir()
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return said.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return said.String(), nil
}
