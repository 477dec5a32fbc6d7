package servers

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// Still does something while Cluster API's core manager and the controllers of Kubernetes are stopped and no webhook is asked. It
// is for those who write thousands of objects that are finished: these have nothing to do for them, and take longer than the API
// server to find that out. When it returns, they run again, and webhooks answer.
func (m *Management) Still(ctx context.Context, do func()) error {
	var stopped []*process
	for _, name := range []string{providers[0].name, kubeControllerManager} {
		p := m.servers.find(name)
		if p == nil {
			return fmt.Errorf("stop %s: it does not run", name)
		}
		if err := p.stop(stopGrace); err != nil {
			return err
		}
		stopped = append(stopped, p)
	}
	api, err := m.client()
	if err != nil {
		return err
	}
	webhooks, err := takeWebhooks(ctx, api)
	if err != nil {
		return err
	}
	do()
	ctx, cancel := wait.Within(ctx, startLimit)
	defer cancel()
	for _, p := range stopped {
		err = errors.Join(err, m.servers.again(ctx, p))
	}
	return errors.Join(err, createAll(ctx, api, webhooks...), webhooksAnswer(ctx, api))
}

// takeWebhooks deletes all that say which webhook is asked, and returns them as they may be created again.
func takeWebhooks(ctx context.Context, api client.Client) (taken []client.Object, err error) {
	var mutating admissionv1.MutatingWebhookConfigurationList
	var validating admissionv1.ValidatingWebhookConfigurationList
	if err := errors.Join(api.List(ctx, &mutating), api.List(ctx, &validating)); err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	for i := range mutating.Items {
		taken = append(taken, &mutating.Items[i])
	}
	for i := range validating.Items {
		taken = append(taken, &validating.Items[i])
	}
	for _, o := range taken {
		if err := api.Delete(ctx, o); err != nil {
			return nil, fmt.Errorf("delete webhooks %s: %w", o.GetName(), err)
		}
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetManagedFields(nil)
	}
	return taken, webhooksGone(ctx, api)
}
