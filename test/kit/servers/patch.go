package servers

import (
	"encoding/base64"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// webhookEndpoint is where a manager that runs outside the cluster serves its webhooks.
type webhookEndpoint struct {
	url string
	ca  []byte
	// certificates is the folder of what the manager serves with.
	certificates string
}

// patch points every webhook of the objects at the endpoint.
func (e webhookEndpoint) patch(objects []unstructured.Unstructured) error {
	for i := range objects {
		if err := e.patchObject(objects[i].Object); err != nil {
			return fmt.Errorf("patch webhook of %s %s: %w", objects[i].GetKind(), objects[i].GetName(), err)
		}
	}
	return nil
}

func (e webhookEndpoint) patchObject(object map[string]any) error {
	// Nobody would act on it, but it names a cert-manager that is not there.
	unstructured.RemoveNestedField(object, "metadata", "annotations", "cert-manager.io/inject-ca-from")
	kind, _, err := unstructured.NestedString(object, "kind")
	if err != nil {
		return err
	}
	if kind == "CustomResourceDefinition" {
		return e.patchConversion(object)
	}
	return e.patchWebhooks(object)
}

func (e webhookEndpoint) patchConversion(crd map[string]any) error {
	webhook, found, err := unstructured.NestedMap(crd, "spec", "conversion", "webhook")
	if err != nil || !found {
		return err
	}
	if err := e.redirect(webhook, "/convert"); err != nil {
		return err
	}
	return unstructured.SetNestedMap(crd, webhook, "spec", "conversion", "webhook")
}

func (e webhookEndpoint) patchWebhooks(configuration map[string]any) error {
	webhooks, _, err := unstructured.NestedSlice(configuration, "webhooks")
	if err != nil {
		return err
	}
	for _, webhook := range webhooks {
		fields, ok := webhook.(map[string]any)
		if !ok {
			return fmt.Errorf("webhook is a %T", webhook)
		}
		if err := e.redirect(fields, ""); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(configuration, webhooks, "webhooks")
}

// redirect replaces the Service of a clientConfig by our URL and keeps its path.
func (e webhookEndpoint) redirect(webhook map[string]any, defaultPath string) error {
	path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
	if err != nil {
		return err
	}
	if !found {
		path = defaultPath
	}
	return unstructured.SetNestedMap(webhook, map[string]any{
		"url":      strings.TrimSuffix(e.url, "/") + path,
		"caBundle": base64.StdEncoding.EncodeToString(e.ca),
	}, "clientConfig")
}
