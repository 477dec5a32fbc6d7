package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// caaph is Cluster API Add-on Provider Helm, which installs charts in clusters by HelmChartProxies.
var caaph = pinnedProgram{
	pinned: pinned{
		path: "sigs.k8s.io/cluster-api-addon-provider-helm", version: "v0.6.4",
		sum: "h1:Hc2B7KrnDSJEYzau/SBkft55c72ulSl8j+fHpPtMLD4=",
	},
	name: "caaph", folder: "caaph", cost: 2 * time.Minute,
}

// caaphProvider is what of its source says how it is installed.
var caaphProvider = provider{name: caaph.name, config: "config/default"}

// HelmChartProxy is the kind by which users ask for a chart in the clusters that a selector finds.
var HelmChartProxy = schema.GroupVersionKind{Group: "addons.cluster.x-k8s.io", Version: "v1alpha1", Kind: "HelmChartProxy"}

// EnsureCAAPH returns the folder with the add-on provider's program and its manifest. What is missing is made first.
func EnsureCAAPH(ctx context.Context, progress io.Writer) (Binaries, error) {
	b, source, err := caaph.ensure(ctx, progress)
	if err != nil {
		return Binaries{}, err
	}
	s := store{Binaries: b, progress: progress}
	if s.has(caaphProvider.file()) {
		return b, nil
	}
	if err := s.render(caaphProvider, source); err != nil {
		return Binaries{}, fmt.Errorf("render manifests of %s: %w", caaph.name, err)
	}
	return b, nil
}

// StartCAAPH installs the add-on provider on a management cluster that has Cluster API: its kinds, its webhooks, and its manager,
// which runs as a plain process until the cluster is stopped, with this environment besides ours. It is built first, once. When
// StartCAAPH returns, webhooks answer.
func StartCAAPH(ctx context.Context, m *Management, progress io.Writer, environment ...string) error {
	b, err := EnsureCAAPH(ctx, progress)
	if err != nil {
		return err
	}
	ctx, cancel := wait.Within(ctx, startLimit)
	defer cancel()
	if err := m.startCAAPH(ctx, b, environment); err != nil {
		return fmt.Errorf("start %s: %w", caaph.name, err)
	}
	return nil
}

func (m *Management) startCAAPH(ctx context.Context, b Binaries, environment []string) error {
	folder := filepath.Join(m.servers.dir, caaph.name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	endpoint, err := newEndpoint(folder)
	if err != nil {
		return err
	}
	manager, objects, err := m.prepare(b, caaphProvider, endpoint)
	if err != nil {
		return err
	}
	manager.env = append(helmFolders(folder), environment...)
	api, err := m.client()
	if err != nil {
		return err
	}
	if err := apply(ctx, api, objects); err != nil {
		return err
	}
	if err := m.servers.start(ctx, manager); err != nil {
		return err
	}
	return caaphAnswers(ctx, api)
}

// helmFolders are where Helm keeps what it has downloaded: nothing of the person who runs us, and nothing for the next run.
func helmFolders(folder string) []string {
	var all []string
	for _, name := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "XDG_STATE_HOME"} {
		all = append(all, name+"="+filepath.Join(folder, name))
	}
	return append(all, "KUBECACHEDIR="+filepath.Join(folder, "kube"))
}

// CAAPHPrinted is what the add-on provider's manager has printed so far.
func (m *Management) CAAPHPrinted() (string, error) {
	text, err := os.ReadFile(filepath.Join(m.servers.dir, caaph.name+".log"))
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	return string(text), nil
}

// caaphAnswers waits until the API server asks the add-on provider's webhook, which is the only one to refuse this URL.
func caaphAnswers(ctx context.Context, api client.Client) error {
	chart := &unstructured.Unstructured{}
	chart.SetGroupVersionKind(HelmChartProxy)
	chart.SetNamespace(metav1.NamespaceDefault)
	chart.SetName("unacceptable")
	chart.Object["spec"] = map[string]any{"clusterSelector": map[string]any{}, "chartName": "none", "repoURL": "not a URL"}
	err := wait.Poll(ctx, func(ctx context.Context) error {
		err := api.Create(ctx, chart.DeepCopy(), client.DryRunAll)
		if apierrors.IsForbidden(err) {
			return nil
		}
		if err == nil {
			return errors.New("the webhook of HelmChartProxies is not asked yet")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for webhooks: %w", err)
	}
	return nil
}
