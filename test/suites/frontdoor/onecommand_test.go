package frontdoor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

const kubernetesVersion = "v1.36.3"

var all = flag.Bool("frontdoor.all", false,
	"rotate Linux machines, move the clusters, leave parts out, and take each kind of identity")

// endpoints counts the worlds of this process.
var endpoints atomic.Int32

// newEndpoint is the address of a control plane, on loopback, which no other test has.
func newEndpoint() string {
	return fmt.Sprintf("127.%d.%d.%d", 70+endpoints.Add(1), os.Getpid()>>8&0xff, os.Getpid()&0xff)
}

// TestOneCommand: one command of clusterctl makes a cluster in which a Windows pod runs. -frontdoor.all has all that may be done
// with that cluster, and all that may be left out.
//
//nolint:tparallel // because the kinds of identity set the environment of managers, which no parallel test may
func TestOneCommand(t *testing.T) {
	t.Run("vsphere", func(t *testing.T) {
		t.Parallel() // both wait for what others do more than they work
		w := newWorld(t)
		w.onVSphere()
		m := w.newManagement("management")
		w.oneCommand(m, w.vsphereVariables())
		w.smokeHolds(m)
		if *all {
			m = w.movesThereAndBack(m)
			w.losesLogin(m)
		}
		w.deletes(m)
	})
	t.Run("azure", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.inAzure()
		m := w.newManagement("management")
		w.shell(m, servicePrincipal, w.azureVariables()...)
		w.oneCommand(m, w.azureVariables())
		w.smokeHolds(m)
		if *all {
			w.rotates(m)
			m = w.movesThereAndBack(m)
		}
		w.deletes(m)
	})
	if !*all {
		return
	}
	t.Run("plain flavor rotates", plainRotates)
	t.Run("parts left out", leftOut)
	t.Run("workload identity lent", lent)
	t.Run("workload identity not lent", notLent)
}

func (w *world) onVSphere() {
	w.Helper()
	w.vsphere = w.startVSphere()
	w.vsphere.door = w.vsphere.Open(w.count)
	w.Cleanup(w.vsphere.door.Close)
	w.background(func(ctx context.Context) {
		if err := w.runGuests(ctx); err != nil && ctx.Err() == nil {
			w.tell("the guests end: %v", err)
		}
	})
}

// vsphereVariables are those that the head of the flavor asks for.
func (w *world) vsphereVariables() []string {
	w.Helper()
	server := w.vsphere.door.Listener.Addr().String()
	host, port, err := net.SplitHostPort(server)
	expect.OK(w, err)
	return []string{
		"WINDOWS_CLOUD=vsphere", "KUBERNETES_VERSION=" + kubernetesVersion, "VCENTER=" + host, "VSPHERE_PORT=" + port,
		"VSPHERE_SERVER=" + server, "VSPHERE_USERNAME=" + vcenter.Username, "VSPHERE_PASSWORD=" + vcenter.Password,
		"VSPHERE_TLS_THUMBPRINT_SHA256=" + soap.ThumbprintSHA256(w.vsphere.door.Certificate()),
		"VSPHERE_DATACENTER=" + vcenter.Datacenter, "VSPHERE_DATASTORE=LocalDS_0", "VSPHERE_FOLDER=" + vcenter.Folder,
		"VSPHERE_NETWORK=VM Network", "VSPHERE_RESOURCE_POOL=" + vcenter.ResourcePool, "VSPHERE_TEMPLATE=" + linuxTemplate,
		"VSPHERE_SSH_AUTHORIZED_KEY=ssh-ed25519 AAAA admin@example.com", "VSPHERE_WINDOWS_TEMPLATE=" + vcenter.Template,
		"CONTROL_PLANE_ENDPOINT_IP=" + w.endpoint,
	}
}

// The commands in the head of the flavor, and the one.
const (
	vsphereLogin = `kubectl create secret generic demo --from-literal=server="$VSPHERE_SERVER" \
  --from-literal=username="$VSPHERE_USERNAME" --from-literal=password="$VSPHERE_PASSWORD" \
  --from-literal=thumbprint="$VSPHERE_TLS_THUMBPRINT_SHA256"
`
	cloudProviderLogin = `kubectl create secret generic vsphere-cloud-secret --namespace kube-system --dry-run=client --output yaml \
  --from-literal=server_1="$VCENTER" --from-literal=username_1="$VSPHERE_USERNAME" \
  --from-literal=password_1="$VSPHERE_PASSWORD" |
  kubectl create secret generic demo-vsphere-cloud-secret --type addons.cluster.x-k8s.io/resource-set \
    --from-file=secret.yaml=/dev/stdin
`
	generate   = "clusterctl generate cluster demo -i windows --flavor windows"
	oneCommand = generate + " | kubectl apply -f -"
)

// oneCommand makes the cluster, and waits until a Windows pod runs in it.
func (w *world) oneCommand(m *management, variables []string) {
	w.Helper()
	if w.vsphere != nil {
		w.shell(m, vsphereLogin+cloudProviderLogin, variables...)
	}
	w.make(m, oneCommand, variables)
	if w.azure != nil {
		w.cloudControllerRuns()
	}
	w.windowsPodRuns()
	w.assertSteps()
	w.assertCluster(m)
}

// make runs the command, and what its clusters' pods do.
func (w *world) make(m *management, command string, variables []string) {
	w.Helper()
	w.commanded = time.Now()
	w.shell(m, command, variables...)
	w.watch(m)
	ctx, cancel := wait.Within(w.Context(), patience)
	defer cancel()
	err := wait.Poll(ctx, func(context.Context) error {
		for _, name := range w.vms.Names() {
			if err := w.vms.Find(name).Failure(); err != nil {
				return wait.Final(err)
			}
		}
		if _, api := w.demo().Workload(); api == nil {
			return errors.New("there is no API server")
		}
		return nil
	})
	if err != nil {
		w.Fatalf("the control plane: %v", err)
	}
	if w.operator != "" {
		return // it runs where its pod runs
	}
	workload, _ := w.demo().Workload()
	operator := &calico{
		client: expect.Got(client.New(workload.Config, client.Options{}))(w), workload: workload, byName: w.azure != nil,
	}
	w.background(func(ctx context.Context) { operator.run(ctx, w.quiet("calico")) })
}

// quiet tells each error once, and none of a cluster that is gone.
func (w *world) quiet(of string) func(error) {
	told := ""
	return func(err error) {
		if _, api := w.demo().Workload(); api != nil && told != err.Error() {
			told = err.Error()
			w.tell("%s: %v", of, err)
		}
	}
}
