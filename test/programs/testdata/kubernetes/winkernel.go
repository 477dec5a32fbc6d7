// Package winkernel stands in for that of Kubernetes, which speaks with HNS and so is for Windows alone: kube-proxy's own files
// for Windows need it to be built here. Nobody calls it: what is asked ends before kube-proxy looks for its network.
package winkernel

import (
	"errors"

	"k8s.io/kubernetes/pkg/proxy"
)

type (
	WindowsKernelCompatTester struct{}
	DualStackCompatTester     struct{}
)

func (DualStackCompatTester) DualStackCompatible(string) bool { return false }

func CanUseWinKernelProxier(any) (bool, error) { return false, errNotHere }

func NewProxier(...any) (proxy.Provider, error) { return nil, errNotHere }

func NewDualStackProxier(...any) (proxy.Provider, error) { return nil, errNotHere }

var errNotHere = errors.New("this is not Windows")
