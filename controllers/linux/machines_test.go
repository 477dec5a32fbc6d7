package linux

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// machines are those of a cache, which finds them by namespace and label.
type machines struct {
	client.Reader
	all     []clusterv1.Machine
	windows []infrav1.WindowsMachine
	fails   string // the type of a list
}

// List implements client.Reader.
func (m machines) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if fmt.Sprintf("%T", list) == m.fails {
		return errLinux
	}
	has := func(o client.Object) bool {
		return o.GetNamespace() == asked.Namespace && asked.LabelSelector.Matches(labels.Set(o.GetLabels()))
	}
	switch found := list.(type) {
	case *clusterv1.MachineList:
		for _, one := range m.all {
			if has(&one) {
				found.Items = append(found.Items, one)
			}
		}
	case *infrav1.WindowsMachineList:
		for _, one := range m.windows {
			if has(&one) {
				found.Items = append(found.Items, one)
			}
		}
	}
	return nil
}
