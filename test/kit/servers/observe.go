package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Observed is a running manager of ours of which everything that it prints is kept.
type Observed struct {
	Manager
	process *process
}

// Observe builds this project's manager with a clock for Azure of this speed, and runs it for each component, beside any others
// of the cluster, with these arguments after its own. They are installed as docs/security.md says of the managers for one tenant:
// their accounts, which are in a namespace of their own, have their role in the tenant's namespace alone.
func Observe(ctx context.Context, m *Management, namespace string, azureSpeed int, more ...string) ([]*Observed, error) {
	program := filepath.Join(m.servers.dir, "observed-manager")
	if err := BuildManager(ctx, program, fmt.Sprintf("%s=%d", AzureSpeed, azureSpeed)); err != nil {
		return nil, err
	}
	arguments := append([]string{"--namespace=" + namespace}, more...)
	var all []*Observed
	for _, name := range Components {
		c, err := renderComponent(name)
		if err != nil {
			return nil, err
		}
		c.moveTo(namespace + "-managers")
		if err := bindIn(ctx, m, namespace, c); err != nil {
			return nil, err
		}
		s, manager, err := m.ownManager(ctx, program, c, arguments)
		if err != nil {
			return nil, err
		}
		s.name += "-" + namespace
		if err := m.servers.start(ctx, s); err != nil {
			return nil, err
		}
		all = append(all, &Observed{Manager: manager, process: m.servers.find(s.name)})
	}
	return all, nil
}

// moveTo puts a component's Deployment, account and lease into another namespace, and leaves all else out.
func (c *ownComponent) moveTo(namespace string) {
	c.objects = slices.DeleteFunc(c.objects, func(o unstructured.Unstructured) bool {
		return !slices.Contains([]string{rbacv1.ServiceAccountKind, "Role", "RoleBinding"}, o.GetKind())
	})
	c.deployment.SetNamespace(namespace)
	for _, o := range c.objects {
		o.SetNamespace(namespace)
		subjects, _ := o.Object["subjects"].([]any)
		for _, subject := range subjects {
			if s, ok := subject.(map[string]any); ok {
				s["namespace"] = namespace
			}
		}
	}
}

// bindIn creates what a component has in its own namespace, and gives its account the component's role in another one.
func bindIn(ctx context.Context, m *Management, namespace string, c ownComponent) error {
	api, err := m.client()
	if err != nil {
		return err
	}
	account := c.account()
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: account.Namespace}}
	if err := createAll(ctx, api, home); err != nil {
		return err
	}
	if err := apply(ctx, api, c.objects); err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}}
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	return createAll(ctx, api,
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account.Name},
			RoleRef:    role("capwin-" + c.name + "-system-manager"), Subjects: subjects,
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + account.Name},
			RoleRef:    role("system:auth-delegator"), Subjects: subjects,
		},
	)
}

// Printed is all that the manager has printed so far.
func (o *Observed) Printed() (string, error) {
	text, err := os.ReadFile(o.process.log)
	if err != nil {
		return "", fmt.Errorf("read log of %s: %w", o.process.name, err)
	}
	return string(text), nil
}

// Quit ends the manager by SIGQUIT: Go prints the stacks of all goroutines.
func (o *Observed) Quit(ctx context.Context) error {
	if err := o.process.signal(syscall.SIGQUIT); err != nil {
		return err
	}
	select {
	case <-o.process.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s to end: %w", o.process.name, ctx.Err())
	}
}

// Refusal runs the manager with arguments that it must not take, and returns what it prints.
func Refusal(ctx context.Context, dir string, arguments ...string) (string, error) {
	program := filepath.Join(dir, "manager")
	if err := BuildManager(ctx, program); err != nil {
		return "", err
	}
	output, err := command(ctx, program, arguments...).CombinedOutput()
	if err == nil {
		return "", fmt.Errorf("the manager took %v", arguments)
	}
	return string(output), nil
}
