// Package linuxvm stands in for the managers of Cluster API Provider vSphere, where REAL has no real one, and Cluster API
// Provider Azure, and for the Linux VMs that they make: on their real kinds it does what they do, and a VM does what the
// bootstrap provider's user data say, with the real kubeadm, on a real API server.
//
//	capv.go, clone.go the provider of vSphere on its kinds, and in the vCenter
//	capz.go, azurejson.go
//	                  that of Azure; manager.go is what they have in common
//	vms.go            the VMs, which outlive a manager: a cluster may be moved
//	vm.go             a VM: its user data, kubeadm init or join
//	userdata.go, disk.go
//	                  what cloud-init does
//	join.go           kubeadm join of a node
//	etcd.go           the etcd of a control plane, with a member on each of its machines
//	node.go           its kubelet
//	forward.go        an address in front of a control plane: kube-vip's, or a load balancer's
//	cloudpods.go      what pods of a cloud provider do once the scheduler has bound them
package linuxvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

// VMs are the Linux VMs of all clusters, and the clusters that they carry.
type VMs struct {
	Binaries servers.Binaries
	// Dir has a folder for each VM and for each cluster.
	Dir string
	// Progress is told what goes wrong.
	Progress io.Writer
	// Network of a cluster's nodes.
	Network *traffic.Cluster
	// Program is what containers do, of the cloud's provider or of Calico, that the network does not know; nil is none.
	Program func(ctx context.Context, vm *VM, p *pods.Process) (is bool, err error)

	said     sync.Map
	mu       sync.Mutex
	all      map[string]*VM
	clusters map[client.ObjectKey]*Cluster
}

// Cluster is what the Linux VMs of a Cluster carry.
type Cluster struct {
	Key client.ObjectKey
	vms *VMs
	// front is the address before the control plane that its cloud gives, if it gives one.
	front *front

	mu       sync.Mutex
	workload *servers.Workload
	client   kubernetes.Interface
	// etcd is empty before there is a control plane.
	etcd etcd
	// cloudPod is the pod whose cloud controller manager runs.
	cloudPod string
}

// Workload is nil until the first machine of the control plane has started it.
func (c *Cluster) Workload() (*servers.Workload, kubernetes.Interface) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workload, c.client
}

// Cluster of a key.
func (v *VMs) Cluster(key client.ObjectKey) *Cluster {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.clusters == nil {
		v.clusters = map[client.ObjectKey]*Cluster{}
	}
	if v.clusters[key] == nil {
		v.clusters[key] = &Cluster{Key: key, vms: v}
	}
	return v.clusters[key]
}

// Ensure switches a VM on, unless it is.
func (v *VMs) Ensure(spec Spec) *VM {
	cluster := v.Cluster(spec.Cluster)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[string]*VM{}
	}
	if vm := v.all[spec.Name]; vm != nil {
		return vm
	}
	ctx, stop := context.WithCancel(context.Background())
	vm := &VM{Spec: spec, cluster: cluster, stop: stop, over: make(chan struct{})}
	vm.disk = disk{root: filepath.Join(v.Dir, "vm-"+spec.Name), programs: v.Binaries.Dir}
	v.all[spec.Name] = vm
	go func() {
		defer close(vm.over)
		if err := vm.live(ctx); err != nil && ctx.Err() == nil {
			v.tell("the VM %s: %v", spec.Name, err)
			vm.fail(err)
		}
	}()
	return vm
}

// Find returns the VM of a name, or nil.
func (v *VMs) Find(name string) *VM {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.all[name]
}

// Remove switches a VM off for ever. With the last one its cluster ends.
func (v *VMs) Remove(name string) error {
	vm := v.Find(name)
	if vm == nil {
		return nil
	}
	vm.stop()
	<-vm.over
	v.mu.Lock()
	delete(v.all, name)
	last := true
	for _, other := range v.all {
		last = last && other.cluster != vm.cluster
	}
	v.mu.Unlock()
	if !last {
		return nil
	}
	return vm.cluster.end()
}

// Names are those of the VMs that are there.
func (v *VMs) Names() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names []string
	for name := range v.all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Stop ends all VMs and their clusters.
func (v *VMs) Stop() error {
	var errs []error
	for _, name := range v.Names() {
		errs = append(errs, v.Remove(name))
	}
	return errors.Join(errs...)
}

// tell says each sentence once, however often it is true.
func (v *VMs) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if _, said := v.said.LoadOrStore(text, true); !said && v.Progress != nil {
		fmt.Fprintln(v.Progress, text)
	}
}

func (c *Cluster) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.front != nil {
		c.front.leadTo()
	}
	var err error
	if c.workload != nil {
		err = c.workload.Stop()
	}
	c.etcd.end()
	c.workload, c.client, c.cloudPod, c.etcd = nil, nil, "", etcd{}
	return err
}

// start is kubeadm init: it starts the control plane of the cluster.
func (c *Cluster) start(ctx context.Context, init *servers.Init) (*servers.Workload, error) {
	dir := filepath.Join(c.vms.Dir, "cluster-"+c.Key.Namespace+"-"+c.Key.Name)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	w, err := servers.StartWorkload(ctx, servers.WorkloadOptions{
		Binaries: c.vms.Binaries, Dir: dir, WithoutNode: true, Egress: c.vms.Network.Socket(), Init: init,
	})
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(w.Config)
	config.QPS, config.Burst = 200, 400
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	c.vms.Network.Connect(api)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workload, c.client = w, api
	return w, nil
}
