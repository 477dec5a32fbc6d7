// Package smoke tries on a workload cluster what pods of its Windows Nodes need: the connections between Linux and Windows pods,
// Services, node ports, the node itself and the world outside, and what the API server asks a kubelet for.
//
// Prepare asks the cluster and makes nothing. Run makes a namespace with pods of the image agnhost and removes it on every way
// out. The rest is pure: which nodes (nodes.go), which connections (connections.go), which pods (pods.go), the state of a pod
// (judge.go), and the sentence that helps (causes.go, report.go).
package smoke

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Options are what a person chooses.
type Options struct {
	// Nodes are names of Windows Nodes; without any, one Node of each build of Windows is taken.
	Nodes []string
	// Registry and Tag are those of the image agnhost.
	Registry, Tag string
	// Outwards is the HOST:PORT of a server outside of the cluster; empty tries none.
	Outwards string
	// Start is how long a pod may take until it runs. A Windows node pulls an image for minutes.
	Start time.Duration
}

// The image of upstream's own tests. This release has builds for Windows Server 2019, 2022 and 2025 (kubernetes v1.36.3,
// test/images/agnhost/VERSION and BASEIMAGE), and version 23H2 runs that of 2022.
const (
	DefaultRegistry = "registry.k8s.io/e2e-test-images"
	DefaultTag      = "2.63.0"
)

// DefaultImage is the image of the pods if a person names no other one.
const DefaultImage = DefaultRegistry + agnhost + DefaultTag

const agnhost = "/agnhost:"

func (o Options) image() string { return o.Registry + agnhost + o.Tag }

// Plan is what Run will do.
type Plan struct {
	api     *api
	options Options
	targets []target
	// linux are the tolerations of the Linux pods.
	linux []corev1.Toleration
	// namespace is the name of the one that is made, and id what marks it as this run's.
	namespace, id string
	// findings are those that need nothing to be made.
	findings []cloud.Finding
}

// Prepare asks the cluster which rights there are and which Nodes, and refuses what cannot succeed.
func Prepare(ctx context.Context, server *remote.Server, options Options) (*Plan, error) {
	api := newAPI(server)
	p := &Plan{api: api, options: options, namespace: namePrefix + rand.String(5), id: uuid.NewString()}
	if err := api.checkRights(ctx, p.namespace); err != nil {
		return nil, err
	}
	nodes, err := api.nodes(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.choose(nodes); err != nil {
		return nil, err
	}
	earlier, err := api.earlierNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	p.findings = append(p.findings, leftOver(earlier, time.Now())...)
	return p, nil
}

func (p *Plan) choose(nodes []corev1.Node) error {
	var err error
	if p.targets, p.findings, err = chooseWindows(nodes, p.options.Nodes); err != nil {
		return err
	}
	var note string
	if p.linux, note, err = chooseLinux(nodes); err != nil {
		return err
	}
	if note != "" {
		p.findings = append(p.findings, cloud.Finding{Check: "Linux Nodes", Result: cloud.CheckWarning, Text: note})
	}
	return nil
}

// Steps is how often Run reports a step.
func (p *Plan) Steps() int {
	return 2 + len(p.targets)*(len(connections)+len(questions))
}

// finalizing is how long the API server may take to remove a namespace before a finding reports it.
const finalizing = 2 * time.Minute

// leftOver reports the namespaces of earlier runs, which were ended before they could remove them.
func leftOver(earlier []corev1.Namespace, now time.Time) (found []cloud.Finding) {
	for i := range earlier {
		ns := &earlier[i]
		if ns.DeletionTimestamp != nil && now.Sub(ns.DeletionTimestamp.Time) < finalizing {
			continue
		}
		age := now.Sub(ns.CreationTimestamp.Time).Truncate(time.Minute)
		text := fmt.Sprintf("%s is %s old and not of this run: if no other run needs it, kubectl delete namespace %s",
			ns.Name, age, ns.Name)
		if ns.DeletionTimestamp != nil {
			text = fmt.Sprintf("%s of an earlier run is still being removed: kubectl get namespace %s -o yaml shows what it waits for",
				ns.Name, ns.Name)
		}
		found = append(found, cloud.Finding{Check: "earlier runs", Result: cloud.CheckWarning, Text: text})
	}
	return found
}
