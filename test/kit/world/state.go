package world

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// State is what the API server has of a machine at a moment; nil is what it has not.
type State struct {
	Core    *clusterv1.Machine
	Windows *infrav1.WindowsMachine
	Config  *bootstrapv1.WindowsBootstrapConfig
	// Data is the bootstrap Secret.
	Data *corev1.Secret
	// Tokens are the bootstrap tokens that say they are this machine's.
	Tokens []corev1.Secret
	// Node is the node with the machine's provider ID.
	Node *corev1.Node
}

// Load reads the state.
func (m *Machine) Load(t *testing.T) State {
	t.Helper()
	return expect.Got(m.load(t.Context(), m.namespace.Client))(t)
}

func (m *Machine) load(ctx context.Context, api client.Reader) (s State, err error) {
	tokens, nodes := &corev1.SecretList{}, &corev1.NodeList{}
	cluster := api
	if n := m.namespace; n.Workload != n.own { // what is there is not watched
		cluster = n.Workload.Client
	}
	err = errors.Join(
		get(ctx, api, m.Key, &s.Core, &clusterv1.Machine{}),
		get(ctx, api, m.Key, &s.Windows, &infrav1.WindowsMachine{}),
		get(ctx, api, m.Key, &s.Config, &bootstrapv1.WindowsBootstrapConfig{}),
		get(ctx, api, m.Key, &s.Data, &corev1.Secret{}),
		cluster.List(ctx, tokens, client.InNamespace(metav1.NamespaceSystem)),
		cluster.List(ctx, nodes),
	)
	for _, token := range tokens.Items {
		description := string(token.Data[bootstrapapi.BootstrapTokenDescriptionKey])
		if token.Type == bootstrapapi.SecretTypeBootstrapToken && strings.Contains(description, m.Key.String()+" ") {
			s.Tokens = append(s.Tokens, token)
		}
	}
	id := m.remember(s.Windows)
	for _, node := range nodes.Items {
		if id != "" && node.Spec.ProviderID == id {
			s.Node = &node
		}
	}
	return s, err
}

// remember keeps the provider ID, by which the node is found when the WindowsMachine is gone.
func (m *Machine) remember(windows *infrav1.WindowsMachine) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if windows != nil && windows.Spec.ProviderID != "" {
		m.providerID = windows.Spec.ProviderID
	}
	return m.providerID
}

func get[O client.Object](ctx context.Context, api client.Reader, key client.ObjectKey, found *O, into O) error {
	err := api.Get(ctx, key, into)
	if err == nil {
		*found = into
	}
	return client.IgnoreNotFound(err)
}

// Await waits until nothing is missing in the state any more. It follows a watch: the API server is only asked whether what was
// seen there still is so.
func (m *Machine) Await(t *testing.T, what string, missing ...func(State) string) State {
	t.Helper()
	var s State
	ctx, cancel := wait.Within(t.Context(), wait.Patience)
	defer cancel()
	err := wait.Poll(ctx, func(ctx context.Context) (err error) {
		for _, reader := range []client.Reader{m.namespace.seen, m.namespace.Client} {
			if s, err = m.load(ctx, reader); err != nil {
				return err
			}
			if reader == m.namespace.seen && !m.shown(s) {
				continue // the watch is behind
			}
			for _, f := range missing {
				if text := f(s); text != "" {
					return errors.New(text)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("waiting for %s of machine %s: %v\n%s", what, m.Key, err, s)
	}
	m.attended(t, s)
	return s
}

// shown says whether a state has all that was created: what is not there is gone then. A machine that is on its way is asked for
// itself.
func (m *Machine) shown(s State) bool {
	if s.Core == nil || s.Windows == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.created, s.Core.UID)
	delete(m.created, s.Windows.UID)
	if s.Config != nil {
		delete(m.created, s.Config.UID)
	}
	return len(m.created) == 0
}

// String shows a state to a person who searches for what went wrong.
func (s State) String() string {
	var text strings.Builder
	if s.Core != nil {
		fmt.Fprintf(&text, "Machine phase %s, node %q, provider ID %q, deleted %v\n", s.Core.Status.Phase,
			s.Core.Status.NodeRef.Name, s.Core.Spec.ProviderID, s.Core.DeletionTimestamp)
		show(&text, s.Core.Status.Conditions)
	}
	if s.Windows != nil {
		fmt.Fprintf(&text, "WindowsMachine phase %s, provider ID %q, finalizers %v, deleted %v\n", s.Windows.Status.Phase,
			s.Windows.Spec.ProviderID, s.Windows.Finalizers, s.Windows.DeletionTimestamp)
		show(&text, s.Windows.Status.Conditions)
	}
	if s.Config != nil {
		fmt.Fprintf(&text, "WindowsBootstrapConfig finalizers %v, deleted %v\n", s.Config.Finalizers, s.Config.DeletionTimestamp)
		show(&text, s.Config.Status.Conditions)
	}
	fmt.Fprintf(&text, "bootstrap Secret %v, %d tokens, node %v\n", s.Data != nil, len(s.Tokens), s.Node != nil)
	return text.String()
}

func show(text *strings.Builder, all []metav1.Condition) {
	for _, c := range all {
		fmt.Fprintf(text, "    %s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
}

// Windows waits for a condition of the WindowsMachine: its type, status and reason, as in "Ready False NameTaken".
func Windows(want string) func(State) string {
	return func(s State) string {
		if s.Windows == nil {
			return "there is no WindowsMachine"
		}
		return condition("WindowsMachine", s.Windows, want)
	}
}

// Config waits for a condition of the WindowsBootstrapConfig.
func Config(want string) func(State) string {
	return func(s State) string {
		if s.Config == nil {
			return "there is no WindowsBootstrapConfig"
		}
		return condition("WindowsBootstrapConfig", s.Config, want)
	}
}

func condition(kind string, object conditions.Getter, want string) string {
	name, _, _ := strings.Cut(want, " ")
	if have := ConditionOf(object, name); have != want {
		return fmt.Sprintf("%s has %q and not %q", kind, have, want)
	}
	return ""
}

// ConditionOf is a condition in short.
func ConditionOf(object conditions.Getter, name string) string {
	c := conditions.Get(object, name)
	if c == nil {
		return name
	}
	return fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason)
}

// Gone waits until nothing is left of the machine but, for a while, its bootstrap Secret: Kubernetes' garbage collector removes
// that, and takes up to half a minute to learn of our kinds.
func Gone(s State) string {
	if s.Core != nil || s.Windows != nil || s.Config != nil || len(s.Tokens) > 0 || s.Node != nil {
		return "something is left of it"
	}
	return ""
}

// Tokens waits for a number of bootstrap tokens.
func Tokens(n int) func(State) string {
	return func(s State) string {
		if len(s.Tokens) != n {
			return fmt.Sprintf("there are %d tokens and not %d", len(s.Tokens), n)
		}
		return ""
	}
}

// DataSecretNamed waits until Cluster API has taken over the bootstrap Secret.
func DataSecretNamed(s State) string {
	if s.Core == nil || s.Core.Spec.Bootstrap.DataSecretName == nil {
		return "the Machine has no data secret"
	}
	return ""
}
