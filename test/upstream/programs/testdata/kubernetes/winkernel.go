// Package winkernel stands in for that of Kubernetes, which speaks with HNS and so is for Windows alone: kube-proxy's own files
// for Windows need it to be built here. It takes what kube-proxy's informers bring, and says so on stdout in place of telling
// HNS.
package winkernel

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"k8s.io/kubernetes/pkg/proxy"
)

type (
	WindowsKernelCompatTester struct{}
	DualStackCompatTester     struct{}
)

func (DualStackCompatTester) DualStackCompatible(string) bool { return false }

func CanUseWinKernelProxier(any) (bool, error) { return true, nil }

func NewProxier(...any) (proxy.Provider, error) { return proxier{}, nil }

func NewDualStackProxier(...any) (proxy.Provider, error) { return proxier{}, nil }

// RegisterMetrics is called up to 1.30.
func RegisterMetrics() {}

// proxier has what any version of kube-proxy from 1.30 on wants of it.
type proxier struct{ proxy.Provider }

func have(what string) { fmt.Println("kube-proxy has its", what) }

func (proxier) OnServiceAdd(*corev1.Service)                          {}
func (proxier) OnServiceUpdate(_, _ *corev1.Service)                  {}
func (proxier) OnServiceDelete(*corev1.Service)                       {}
func (proxier) OnServiceSynced()                                      { have("Services") }
func (proxier) OnEndpointSliceAdd(*discoveryv1.EndpointSlice)         {}
func (proxier) OnEndpointSliceUpdate(_, _ *discoveryv1.EndpointSlice) {}
func (proxier) OnEndpointSliceDelete(*discoveryv1.EndpointSlice)      {}
func (proxier) OnEndpointSlicesSynced()                               { have("EndpointSlices") }
func (proxier) OnServiceCIDRsChanged([]string)                        { have("ServiceCIDRs") }
func (proxier) OnNodeAdd(*corev1.Node)                                { have("Node") }
func (proxier) OnNodeUpdate(_, _ *corev1.Node)                        {}
func (proxier) OnNodeDelete(*corev1.Node)                             {}
func (proxier) OnNodeSynced()                                         {}
func (proxier) OnTopologyChange(map[string]string)                    { have("Node") }
func (proxier) Sync()                                                 {}
func (proxier) SyncLoop()                                             { select {} }
