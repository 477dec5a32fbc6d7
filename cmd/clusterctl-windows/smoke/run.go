package smoke

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// pollInterval is the time between two looks at the pods.
	pollInterval = time.Second
	// silence is how long the API server may fail to list them.
	silence = 30 * time.Second
)

// run is a Plan that is being carried out.
type run struct {
	*Plan
	step           func(action string)
	linuxServer    *served
	windowsServers []*served
	trials         []*trial
	// answers are what the kubelets of the targets were asked for.
	answers map[int][]cloud.Finding
}

// Run tries all of it, and removes what it made. When the findings are there, an error is of what came after them: the namespace
// is left, and the error has the command that removes it.
func (p *Plan) Run(ctx context.Context, step func(action string)) (found []cloud.Finding, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	made, err := p.api.makeNamespace(ctx, p.namespaceObject())
	if made != nil {
		defer func() { err = errors.Join(err, p.api.removeNamespace(ctx, made)) }()
	}
	if err != nil {
		return nil, err
	}
	r := &run{Plan: p, step: step, answers: map[int][]cloud.Finding{}}
	if err := r.serve(ctx); err != nil {
		return nil, err
	}
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	r.askKubelets(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r.report(), nil
}

// serve starts the pods that answer, and waits for them.
func (r *run) serve(ctx context.Context) error {
	r.step("starting pods that answer")
	r.linuxServer = r.start(ctx, r.linuxServerPod(), corev1.ServiceTypeClusterIP)
	for i := range r.targets {
		r.windowsServers = append(r.windowsServers, r.start(ctx, r.windowsServerPod(i), corev1.ServiceTypeNodePort))
	}
	servers := append([]*served{r.linuxServer}, r.windowsServers...)
	return r.watch(ctx, func(look func(pod string) sight) (finished bool) {
		open := 0
		for _, server := range servers {
			if !server.settled() {
				server.look(look(server.name), r.options.Start)
			}
			if !server.settled() {
				open++
			}
		}
		return open == 0
	})
}

// start makes a server pod and its Service. If the API server refuses them, the pod has failed with that message.
func (r *run) start(ctx context.Context, pod *corev1.Pod, kind corev1.ServiceType) *served {
	s := &served{name: pod.Name}
	var err error
	if s.service, err = r.api.makeService(ctx, r.namespace, service(pod.Name, kind)); err == nil {
		err = r.api.makePod(ctx, r.namespace, pod)
	}
	if err != nil {
		s.failure = &failure{cause: refusedByServer, words: err.Error()}
	}
	return s
}

// connect starts the pods that try the connections, and waits for what comes of them.
func (r *run) connect(ctx context.Context) error {
	r.step("starting pods that connect")
	for i := range r.targets {
		if r.windowsServers[i].address == "" {
			continue
		}
		trials := r.trialsOf(i, r.addressesOf(i, r.windowsServers[i], r.linuxServer))
		r.trials = append(r.trials, trials...)
		for _, source := range places {
			r.startClient(ctx, source, i, trials)
		}
	}
	return r.watch(ctx, func(look func(pod string) sight) (finished bool) {
		open := 0
		for _, t := range r.trials {
			if t.finished {
				continue
			}
			if t.look(look(t.pod), r.options.Start, time.Now()); t.finished {
				r.step(r.check(t.target, t.name))
				continue
			}
			open++
		}
		return open == 0
	})
}

func (r *run) startClient(ctx context.Context, source place, i int, trials []*trial) {
	started := slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool { return t.source != source })
	if len(started) == 0 {
		return
	}
	if err := r.api.makePod(ctx, r.namespace, r.clientPod(source, i, started)); err != nil {
		for _, t := range started {
			t.finished, t.unstarted, t.outcome.failure = true, true, &failure{cause: refusedByServer, words: err.Error()}
		}
	}
}

// askKubelets asks each of them once: the API server repeats failed requests itself.
func (r *run) askKubelets(ctx context.Context) {
	for i, target := range r.targets {
		ask := &asker{api: r.api, namespace: r.namespace, pod: r.server(i), node: target.node}
		for _, q := range questions {
			check := r.check(i, q.name)
			r.step(check)
			if r.windowsServers[i].address == "" && q.ofPod {
				r.answers[i] = append(r.answers[i], skipped(check, "not tried: no Windows pod runs on this node"))
				continue
			}
			r.answers[i] = append(r.answers[i], ask.finding(ctx, check, q))
		}
	}
}

// watch looks at the pods until look returns true.
func (r *run) watch(ctx context.Context, look func(func(pod string) sight) (finished bool)) error {
	begun, answered := time.Now(), time.Now()
	for {
		pods, events, err := r.api.list(ctx, r.namespace)
		now := time.Now()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			answered = now
			if look(func(name string) sight { return sightOf(pods, events, name, now.Sub(begun)) }) {
				return nil
			}
		case now.Sub(answered) > silence:
			return fmt.Errorf("list the pods of namespace %s: %w", r.namespace, r.api.server.Reason(err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

func sightOf(pods []corev1.Pod, events []corev1.Event, name string, waited time.Duration) sight {
	s := sight{waited: waited}
	for i := range pods {
		if pods[i].Name == name {
			s.pod = &pods[i]
		}
	}
	for i := range events {
		if events[i].InvolvedObject.Name == name && events[i].InvolvedObject.Kind == "Pod" {
			s.events = append(s.events, events[i])
		}
	}
	return s
}
