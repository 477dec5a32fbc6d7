package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/build"
)

// The two components of this project, as users install them, by their folder in config.
const (
	Infrastructure = "infrastructure"
	Bootstrap      = "bootstrap"
)

// Components are both.
var Components = []string{Infrastructure, Bootstrap}

// ownComponent is what users install of one, rendered.
type ownComponent struct {
	name       string
	deployment unstructured.Unstructured
	// objects are all others.
	objects []unstructured.Unstructured
}

// components are the objects of each component. They are built once, which takes a tenth of a second: the
// audit needs them often.
var components = sync.OnceValues(func() (map[string][]unstructured.Unstructured, error) {
	root, err := repositoryRoot()
	built := map[string][]unstructured.Unstructured{}
	for _, name := range Components {
		if err == nil {
			built[name], err = kustomized(filepath.Join(root, "config", name))
		}
	}
	return built, err
})

// ComponentsDigest is the same for the same objects in both components.
func ComponentsDigest() (string, error) {
	built, err := components()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(built)
	if err != nil {
		return "", fmt.Errorf("sum up the components: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func renderComponent(name string) (ownComponent, error) {
	built, err := components()
	if err != nil {
		return ownComponent{}, err
	}
	c := ownComponent{name: name}
	for _, o := range built[name] {
		c.objects = append(c.objects, *o.DeepCopy()) // some change them
	}
	i := slices.IndexFunc(c.objects, func(o unstructured.Unstructured) bool { return o.GetKind() == deploymentKind })
	if i < 0 {
		return ownComponent{}, fmt.Errorf("component %s has no deployment", name)
	}
	c.deployment = c.objects[i]
	c.objects = slices.Delete(c.objects, i, i+1)
	return c, nil
}

// account is the one that the Deployment gives to its Pod.
func (c ownComponent) account() *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{}
	account.Namespace = c.deployment.GetNamespace()
	// One that is not there is found out when a token is asked for.
	account.Name, _, _ = unstructured.NestedString(c.deployment.Object, "spec", "template", "spec", "serviceAccountName")
	return account
}

// InstallComponents puts this project's components on a management cluster, as users get them, and leaves out no more than the
// Deployments: no Pod runs here.
func InstallComponents(ctx context.Context, m *Management) error {
	api, err := m.client()
	if err != nil {
		return err
	}
	for _, name := range Components {
		c, err := renderComponent(name)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(c.objects, func(o unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
		if err := apply(ctx, api, c.objects[i:i+1]); err != nil {
			return err
		}
		if err := apply(ctx, api, slices.Delete(c.objects, i, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// ManagerConfig logs in as the manager of an installed component does, with a token of its account.
func ManagerConfig(ctx context.Context, m *Management, name string) (*rest.Config, error) {
	c, err := renderComponent(name)
	if err != nil {
		return nil, err
	}
	return m.LogIn(ctx, c.account())
}

// LogIn logs in as an account does that is there.
func (m *Management) LogIn(ctx context.Context, account *corev1.ServiceAccount) (*rest.Config, error) {
	api, err := m.client()
	if err != nil {
		return nil, err
	}
	config, err := logIn(ctx, api, m.Config, account)
	if err == nil && m.guest != nil {
		config.UserAgent = m.guest.Agent
	}
	return config, err
}

// logIn gets a token of an account for a client of the same server as an admin's.
func logIn(ctx context.Context, api client.Client, admin *rest.Config, account *corev1.ServiceAccount) (*rest.Config, error) {
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(lifetime.Seconds()))},
	}
	if err := api.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("get token of account %s/%s: %w", account.Namespace, account.Name, err)
	}
	config := rest.AnonymousClientConfig(admin)
	config.QPS, config.BearerToken = admin.QPS, request.Status.Token
	return config, nil
}

// Manager is a running manager of ours.
type Manager struct {
	Component string
	// Metrics is the URL where they are read.
	Metrics string
	// MemoryLimit is how many bytes its container may have in production. Nothing enforces it here, but the manager knows it.
	MemoryLimit int64
}

// patientLease is for managers on a machine that has other work: an API server that takes ten seconds for an answer ends none of
// them. Which defaults users get, and that a lease is given up at the end, TestClusters asserts.
var patientLease = []string{"--leader-elect-lease-duration=2m", "--leader-elect-renew-deadline=90s"}

// StartManagers builds this project's manager and runs it as a plain process for each component, until the cluster is stopped:
// with the arguments of its Deployment, these after them, and as its account.
func StartManagers(ctx context.Context, m *Management, more ...string) ([]Manager, error) {
	if m.guest != nil {
		m.guest.managers.Store(true)
	}
	program := m.program
	if program == "" {
		program = filepath.Join(m.servers.dir, "manager")
		if err := BuildManager(ctx, program); err != nil {
			return nil, err
		}
	}
	var managers []Manager
	var tier []server
	for _, name := range Components {
		c, err := renderComponent(name)
		if err != nil {
			return nil, err
		}
		s, manager, err := m.ownManager(ctx, program, c, more)
		if err != nil {
			return nil, err
		}
		tier, managers = append(tier, s), append(managers, manager)
	}
	return managers, m.servers.start(ctx, tier...)
}

// AzureSpeed is a variable of our manager: how many times as fast as the time its clock for Azure runs.
const AzureSpeed = "github.com/capwin/cluster-api-provider-windows/internal/manager.azureSpeed"

// BuildManager builds our manager, with these values of variables, such as AzureSpeed, beside what is usual.
func BuildManager(ctx context.Context, program string, values ...string) error {
	return ownProgram(ctx, ".", program, values...)
}

// BuildPlugin builds our plugin of clusterctl.
func BuildPlugin(ctx context.Context, program string) error {
	return ownProgram(ctx, "./cmd/clusterctl-windows", program)
}

func ownProgram(ctx context.Context, pkg, program string, values ...string) error {
	root, err := repositoryRoot()
	if err != nil {
		return err
	}
	return build.Program(ctx, root, pkg, program, values...)
}

func (m *Management) ownManager(ctx context.Context, program string, c ownComponent, more []string) (server, Manager, error) {
	arguments, err := managerArguments(c.deployment)
	if err != nil {
		return server{}, Manager{}, err
	}
	kubeconfig := filepath.Join(m.servers.dir, c.name+".kubeconfig")
	if err := m.writeManagerKubeconfig(ctx, c, kubeconfig); err != nil {
		return server{}, Manager{}, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return server{}, Manager{}, err
	}
	limit, err := c.memoryLimit()
	if err != nil {
		return server{}, Manager{}, err
	}
	health, diagnostics := address(ports[0]), address(ports[1])
	return server{
		name: managerProcess(c.name),
		path: program,
		// Later flags win over those of the Deployment.
		args: slices.Concat(arguments, patientLease,
			[]string{"--kubeconfig=" + kubeconfig, "--health-addr=" + health, "--diagnostics-address=" + diagnostics}, more),
		env: append([]string{
			"POD_NAMESPACE=" + c.deployment.GetNamespace(), fmt.Sprintf("CAPWIN_MEMORY_LIMIT=%d", limit),
			"GOGC=100", // as for users, whatever the tests run with: tests measure the memory of managers
		}, m.Environment...),
		ready: answersOK(healthClient, "http://"+health+"/readyz"),
	}, Manager{Component: c.name, Metrics: "https://" + diagnostics + "/metrics", MemoryLimit: limit}, nil
}

// memoryLimit is how many bytes the Deployment lets its container have.
func (c ownComponent) memoryLimit() (int64, error) {
	containers, _, _ := unstructured.NestedSlice(c.deployment.Object, "spec", "template", "spec", "containers")
	if len(containers) != 1 {
		return 0, fmt.Errorf("deployment of component %s has %d containers, not one", c.name, len(containers))
	}
	container, _ := containers[0].(map[string]any)
	text, _, _ := unstructured.NestedString(container, "resources", "limits", "memory")
	limit, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("read memory limit of component %s: %w", c.name, err)
	}
	return limit.Value(), nil
}

func managerProcess(component string) string { return "capwin-" + component }

func (m *Management) writeManagerKubeconfig(ctx context.Context, c ownComponent, file string) error {
	login, err := m.LogIn(ctx, c.account())
	if err != nil {
		return err
	}
	return writeLogin(login, c.name, file)
}

// writeLogin writes a kubeconfig that logs in with a token.
func writeLogin(login *rest.Config, name, file string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: login.Host, CertificateAuthorityData: login.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: login.BearerToken}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write kubeconfig of %s: %w", name, err)
	}
	return nil
}
