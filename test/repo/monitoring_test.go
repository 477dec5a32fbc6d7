package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/config/crd"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// monitoringBuild is what `kubectl apply -k` of a folder of config applies.
func monitoringBuild(t *testing.T, folder string) resmap.ResMap {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	return expect.Got(krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config", folder)))(t)
}

func monitoringOf(t *testing.T, from resmap.ResMap, kind string) []*resource.Resource {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(from.Resources()), func(r *resource.Resource) bool { return r.GetKind() != kind })
	if len(found) == 0 {
		t.Fatalf("no %s among what is applied", kind)
	}
	return found
}

func monitoringInto(t *testing.T, from *resource.Resource, to any) {
	t.Helper()
	expect.OK(t, yaml.Unmarshal(expect.Got(from.AsYAML())(t), to))
}

// TestScraperFindsTheManagers: the Services select the pods of the components as they are released, and the port that they name.
func TestScraperFindsTheManagers(t *testing.T) {
	monitoring := monitoringBuild(t, "monitoring")
	services := monitoringOf(t, monitoring, "Service")
	expect.Same(t, "Services", 2, len(services))
	var monitor struct {
		Spec struct {
			NamespaceSelector struct{ MatchNames []string }
			Selector          struct{ MatchLabels map[string]string }
			Endpoints         []struct{ Port, Scheme string }
		}
	}
	monitoringInto(t, monitoringOf(t, monitoring, "ServiceMonitor")[0], &monitor)
	for i, component := range []string{"infrastructure", "bootstrap"} {
		var service corev1.Service
		monitoringInto(t, services[i], &service)
		deployment := monitoringOf(t, monitoringBuild(t, component), "Deployment")[0]
		var pod struct {
			Spec struct {
				Template corev1.PodTemplateSpec
			}
		}
		monitoringInto(t, deployment, &pod)
		expect.Same(t, "namespace of the Service", deployment.GetNamespace(), service.Namespace)
		for label, value := range service.Spec.Selector {
			expect.Same(t, "label "+label+" of the pod", value, pod.Spec.Template.Labels[label])
		}
		ports, port := pod.Spec.Template.Spec.Containers[0].Ports, service.Spec.Ports[0].TargetPort.String()
		if !slices.ContainsFunc(ports, func(p corev1.ContainerPort) bool { return p.Name == port }) {
			t.Errorf("no port of the pod is named %s", port)
		}
		for label, value := range monitor.Spec.Selector.MatchLabels {
			expect.Same(t, "label "+label+" of the Service", value, service.Labels[label])
		}
		expect.Same(t, "namespaces", true, slices.Contains(monitor.Spec.NamespaceSelector.MatchNames, service.Namespace))
		expect.Same(t, "port of the Service", monitor.Spec.Endpoints[0].Port, service.Spec.Ports[0].Name)
	}
	expect.Same(t, "scheme", "https", monitor.Spec.Endpoints[0].Scheme)
}

// TestScraperMayOnlyScrape: the token of Prometheus is shown to the managers, so it opens nothing else there.
func TestScraperMayOnlyScrape(t *testing.T) {
	var role rbacv1.ClusterRole
	monitoringInto(t, monitoringOf(t, monitoringBuild(t, "monitoring"), "ClusterRole")[0], &role)
	expect.Same(t, "rules", []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, role.Rules)
}

// What kube-state-metrics reads of its configuration, by the types of its package customresourcestate. We leave the rest out.
type (
	stateResources struct {
		Kind string `json:"kind"`
		Spec struct {
			Resources []stateResource `json:"resources"`
		} `json:"spec"`
	}
	stateResource struct {
		GroupVersionKind struct {
			Group   string `json:"group"`
			Version string `json:"version"`
			Kind    string `json:"kind"`
		} `json:"groupVersionKind"`
		MetricNamePrefix string              `json:"metricNamePrefix"`
		LabelsFromPath   map[string][]string `json:"labelsFromPath"`
		Metrics          []stateMetric       `json:"metrics"`
	}
	stateMetric struct {
		Name      string `json:"name"`
		Help      string `json:"help"`
		ErrorLogV int    `json:"errorLogV"`
		Each      struct {
			Type  string      `json:"type"`
			Info  *stateValue `json:"info"`
			Gauge *stateValue `json:"gauge"`
		} `json:"each"`
	}
	stateValue struct {
		Path           []string            `json:"path"`
		ValueFrom      []string            `json:"valueFrom"`
		LabelsFromPath map[string][]string `json:"labelsFromPath"`
	}
)

// TestStateMetrics: each path is a field of the kind that it is for, and what becomes a number can be one.
func TestStateMetrics(t *testing.T) {
	content := expect.Got(os.ReadFile(filepath.Join(root, "config", "monitoring", "kube-state-metrics", "resources.yaml")))(t)
	var config stateResources
	expect.OK(t, yaml.UnmarshalStrict(content, &config))
	expect.Same(t, "kind", "CustomResourceStateMetrics", config.Kind)
	schemas := stateSchemas(t)
	series := map[string][]string{}
	for _, r := range config.Spec.Resources {
		name := r.GroupVersionKind.Group + "/" + r.GroupVersionKind.Version + " " + r.GroupVersionKind.Kind
		schema, ok := schemas[name]
		if !ok {
			t.Errorf("no kind of ours is %s, or it is there twice", name)
			continue
		}
		delete(schemas, name)
		expect.Same(t, "prefix", "capwin_"+strings.ToLower(r.GroupVersionKind.Kind), r.MetricNamePrefix)
		stateLabels(t, schema, r.LabelsFromPath)
		for _, m := range r.Metrics {
			series[r.MetricNamePrefix+"_"+m.Name] = stateMetricLabels(t, schema, m)
		}
	}
	for name := range schemas {
		t.Errorf("%s is left out", name)
	}
	expect.Same(t, "series that docs/metrics.md lists", stateListed(t), series)
}

// stateMetricLabels checks a metric and returns its own labels.
func stateMetricLabels(t *testing.T, schema apiextensionsv1.JSONSchemaProps, m stateMetric) []string {
	t.Helper()
	value, number := m.Each.Info, false
	if m.Each.Type == "Gauge" {
		value, number = m.Each.Gauge, true
	}
	if value == nil || m.Help == "" || number == strings.HasSuffix(m.Name, "info") {
		t.Errorf("%s: its type, its name and its value do not fit, or it has no help", m.Name)
		return nil
	}
	// Where a path leads to nothing, kube-state-metrics logs an error each time that it sees the object (compiledGauge.value in
	// pkg/customresourcestate/registry_factory.go, main at 0195b25a), unless errorLogV keeps that to a log that says more.
	if isAlways := slices.Equal(value.Path, []string{"metadata", "creationTimestamp"}); number && isAlways == (m.ErrorLogV > 0) {
		t.Errorf("%s: %v is always there: %t, but errors are logged from verbosity %d on", m.Name, value.Path, isAlways, m.ErrorLogV)
	}
	at := stateField(t, schema, value.Path)
	if at.Type == "array" {
		at = *at.Items.Schema
	}
	if got := stateField(t, at, value.ValueFrom); number && got.Format != "date-time" {
		t.Errorf("%s: %v%v is no time", m.Name, value.Path, value.ValueFrom)
	}
	return stateLabels(t, at, value.LabelsFromPath)
}

func stateLabels(t *testing.T, schema apiextensionsv1.JSONSchemaProps, labels map[string][]string) []string {
	t.Helper()
	names := []string{}
	for name, path := range labels {
		names = append(names, name)
		if got := stateField(t, schema, path); got.Type != "string" {
			t.Errorf("label %s: %v is no text", name, path)
		}
	}
	slices.Sort(names)
	return names
}

// stateField is the field that a path leads to.
func stateField(t *testing.T, schema apiextensionsv1.JSONSchemaProps, path []string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	for _, part := range path {
		field, ok := schema.Properties[part]
		if values := schema.AdditionalProperties; !ok && values != nil {
			field, ok = *values.Schema, true
		}
		if !ok {
			t.Errorf("%v: there is no field %s", path, part)
			return apiextensionsv1.JSONSchemaProps{}
		}
		schema = field
	}
	return schema
}

// stateSchemas are our kinds with their schemas. CRDs do not tell what all objects have in metadata.
func stateSchemas(t *testing.T) map[string]apiextensionsv1.JSONSchemaProps {
	t.Helper()
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	moment := apiextensionsv1.JSONSchemaProps{Type: "string", Format: "date-time"}
	metadata := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"name": text, "namespace": text, "creationTimestamp": moment, "deletionTimestamp": moment,
		"labels": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}},
	}}
	found := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, file := range expect.Got(crd.Bases.ReadDir("bases"))(t) {
		var definition apiextensionsv1.CustomResourceDefinition
		expect.OK(t, yaml.UnmarshalStrict(expect.Got(crd.Bases.ReadFile("bases/"+file.Name()))(t), &definition))
		for _, version := range definition.Spec.Versions {
			schema := *version.Schema.OpenAPIV3Schema
			schema.Properties["metadata"] = metadata
			found[definition.Spec.Group+"/"+version.Name+" "+definition.Spec.Names.Kind] = schema
		}
	}
	if _, ok := found[infrav1.GroupVersion.String()+" WindowsMachine"]; !ok || len(found) != 4 {
		t.Fatalf("%d kinds, want ours", len(found))
	}
	return found
}

// stateListed are the series of the page's table, with their labels.
func stateListed(t *testing.T) map[string][]string {
	t.Helper()
	listed := map[string][]string{}
	for _, row := range rowsOf(pageSection(t, "docs/metrics.md", "Which machine it is: kube-state-metrics")) {
		labels := []string{}
		for label := range strings.SplitSeq(row[1], ", ") {
			if label != "" {
				labels = append(labels, strings.Trim(label, "`"))
			}
		}
		slices.Sort(labels)
		listed[strings.Trim(row[0], "`")] = labels
	}
	return listed
}
