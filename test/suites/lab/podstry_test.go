package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
)

// try lives a cell to its end.
func (w *podWorld) try(t *testing.T, c *cell) outcome {
	settled := sync.OnceFunc(func() {
		if c.condition == rightsMissing {
			w.lacking.Done()
		}
	})
	defer settled()
	c.image(t.TempDir(), w.Version)
	c.guest.Network = w.network
	userData, err := w.userData(c)
	if err != nil {
		return outcome{sentence: "render: " + err.Error()}
	}
	patience := wait.Patience
	if c.condition == rightsMissing {
		patience *= 5 // it waits for others
	}
	ctx, cancel := wait.Within(t.Context(), patience)
	over := make(chan error, 1)
	defer func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("%s: %v", c.computer(), err)
		}
	}()
	go func() { over <- c.guest.Boot(ctx, guest.NewMemoryVM("uid-"+c.computer(), c.computer(), userData)) }()
	if why := w.join(ctx, c); why != "" {
		return outcome{sentence: why}
	}
	if c.condition == daemonLate {
		early := *c
		early.condition = daemonMissing
		if r := w.outcome(ctx, &early, time.Time{}); r.falseReady || r.service {
			r.sentence = "not late at all: " + r.sentence
			return r
		}
		c.clock.Skip(lateness)
	}
	r := w.outcome(ctx, c, time.Time{})
	switch c.condition {
	case rebooted, rebootedPools:
		start := c.clock.Now()
		if err := c.guest.Restart(ctx); err != nil {
			return outcome{sentence: err.Error()}
		}
		r = w.outcome(ctx, c, start)
	case rightsMissing:
		settled()
		<-w.turns // others have theirs first: all of these wait for the last one
		w.awaitRights(&cell{pair: c.pair})
		w.turns <- struct{}{}
		err := wait.Poll(ctx, func(ctx context.Context) error { // informers ask again within 30 s, by the host's clock
			if late := w.look(ctx, c, time.Time{}); !late.service {
				return fmt.Errorf("%+v", late)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s, %s: once the nodes have their rights: %v", c.name, c.year, err)
		}
	case twoProxies:
		err := wait.Poll(ctx, func(context.Context) error { // the first one may be done before the second one starts
			if !c.logHas(portTaken) {
				return errors.New("neither kube-proxy says that the other one has its port")
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s, %s: %v", c.name, c.year, err)
		}
	}
	return r
}

// portTaken is what the second kube-proxy says of the port for questions for its health.
const portTaken = "listen tcp 0.0.0.0:10256: bind: Only one usage"

// logHas looks into the logs of both kube-proxies: that of a pod is the kubelet's here.
func (c *cell) logHas(text string) bool {
	logs, err := filepath.Glob(filepath.Join(c.guest.Dir, "C", "var", "log", "kube*", "*.log"))
	return err == nil && slices.ContainsFunc(logs, func(path string) bool {
		log, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(log), text)
	})
}

// join waits for the end of the bootstrap, and does what controllers do with the Node. It says why not.
func (w *podWorld) join(ctx context.Context, c *cell) (why string) {
	err := wait.Poll(ctx, func(ctx context.Context) error {
		report, err := c.reportOf()
		switch {
		case err != nil:
			return err
		case report.State == plan.StateFailed:
			return wait.Final(fmt.Errorf("%s: %s", report.Reason, report.Message))
		}
		node := w.node(ctx, c)
		if node == nil {
			return fmt.Errorf("the bootstrap is in %s %s; there is no Node", report.Phase.Name, report.Step)
		}
		if err := w.initialize(ctx, c, node); err != nil {
			return err
		}
		if report.State != plan.StateSucceeded {
			return fmt.Errorf("the bootstrap is in %s %s", report.Phase.Name, report.Step)
		}
		return nil
	})
	if err == nil {
		err = w.makePod(ctx, c)
	}
	if err != nil {
		return strings.TrimSpace(err.Error())
	}
	return ""
}

// lostNetwork: Calico removes all networks at each start of Windows, some seconds after its plug-in has given one to the first
// pods. On a busy machine the cell's pod is among these, and its user does what docs/networks.md says: to delete it.
const lostNetwork = "was removed"

// outcome is what comes of a cell, if need be with a second pod.
func (w *podWorld) outcome(ctx context.Context, c *cell, start time.Time) outcome {
	first := w.settled(ctx, c, start)
	if c.cni != bootstrapv1.CNICalico || !strings.Contains(first.sentence, lostNetwork) {
		return first
	}
	second := w.replacePod(ctx, c)
	second.falseReady = second.falseReady || first.falseReady
	return second
}

// replacePod deletes the cell's pod, as a user would, and makes it anew.
func (w *podWorld) replacePod(ctx context.Context, c *cell) outcome {
	pods := w.client.CoreV1().Pods("default")
	err := pods.Delete(ctx, c.computer(), metav1.DeleteOptions{})
	if err == nil {
		err = wait.Poll(ctx, func(ctx context.Context) error {
			if _, err := pods.Get(ctx, c.computer(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the pod is still there: %w", err)
			}
			return nil
		})
	}
	if err == nil {
		err = w.makePod(ctx, c)
	}
	if err != nil {
		return outcome{sentence: err.Error()}
	}
	return w.settled(ctx, c, c.clock.Now())
}

// falselyReady is for how long a Node may be Ready while no pod gets an address there. A kubelet tries every 10 s; on a busy host
// the guest's clock runs on between two tries, so that the tries are counted as well.
const (
	falselyReady  = 30 * time.Second
	falseAttempts = 3
)

// settled waits until all is well, or until what is wrong has not changed for so long by the guest's clock that it is the end.
// What is not the end that has to come gets more time: a busy host is slow, and the guest's clock is not. A node that was
// falsely Ready at any time before stays so.
func (w *podWorld) settled(ctx context.Context, c *cell, start time.Time) outcome {
	const patience, morePatience = 100 * time.Second, 350 * time.Second
	good, sentence := c.want()
	var last outcome
	falseReady := false
	since := c.clock.Now()
	_ = wait.Poll(ctx, func(ctx context.Context) error { // the last look counts, also where the time is over
		now := w.look(ctx, c, start)
		falseReady = falseReady || now.falseReady
		if now.falseReady = false; now != last {
			last, since = now, c.clock.Now()
		}
		unchanged := c.clock.Now().Sub(since)
		if now.service || unchanged > morePatience || unchanged > patience && !good && strings.Contains(now.sentence, sentence) {
			return nil
		}
		return errors.New("not yet")
	})
	last.falseReady = falseReady
	return last
}

// look is what is there of a cell now. A pod that runs since before a start of Windows is what the API remembers of it.
func (w *podWorld) look(ctx context.Context, c *cell, start time.Time) outcome {
	r := outcome{joined: true}
	node := w.node(ctx, c)
	if node == nil {
		r.sentence = "there is no Node"
		return r
	}
	var readySince time.Time
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			r.ready, r.sentence = condition.Status == corev1.ConditionTrue, condition.Message
			readySince = condition.LastTransitionTime.Time
		}
	}
	pod, err := w.client.CoreV1().Pods("default").Get(ctx, c.computer(), metav1.GetOptions{})
	if err != nil || !r.ready {
		return r
	}
	events := w.events(ctx, c, start)
	if len(events) > 0 {
		r.sentence = events[len(events)-1].Message
	}
	until := c.clock.Now()
	for _, container := range pod.Status.ContainerStatuses {
		running := container.State.Running
		r.address = pod.Status.PodIP != "" && running != nil && !running.StartedAt.Time.Before(start.Truncate(time.Second))
		if r.address {
			until = running.StartedAt.Time
		}
	}
	refused := slices.DeleteFunc(events, func(e corev1.Event) bool { return !strings.Contains(e.Message, "failed (add): ") })
	if attempts := attemptsOf(refused); attempts > falseAttempts {
		since := slices.MaxFunc([]time.Time{readySince, refused[0].FirstTimestamp.Time, start}, time.Time.Compare)
		r.falseReady = until.Sub(since) > falselyReady
	}
	for _, condition := range pod.Status.Conditions {
		if r.address && condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			r.service, r.sentence = true, ""
		}
	}
	if c.condition == rebootedPools && r.address {
		if why := c.lost(); why != "" {
			r.service, r.address, r.sentence = false, false, why
		}
	}
	return r
}

// attemptsOf is how often the events came.
func attemptsOf(events []corev1.Event) (attempts int32) {
	for _, e := range events {
		attempts += e.Count
	}
	return attempts
}

// events of the cell's pod since a time, the last one last.
func (w *podWorld) events(ctx context.Context, c *cell, since time.Time) []corev1.Event {
	list, err := w.client.CoreV1().Events("default").List(ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod,involvedObject.name=" + c.computer()})
	if err != nil {
		return nil
	}
	isOld := func(e corev1.Event) bool { return e.LastTimestamp.Time.Before(since.Truncate(time.Second)) }
	all := slices.DeleteFunc(list.Items, isOld)
	slices.SortFunc(all, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return all
}
