package lab

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"sync"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// azureCloud is the name of the lab's cloud in the managers' file of clouds.
const azureCloud = "LabCloud"

// startAzure starts the simulator of Azure Resource Manager, whose clock follows the time or runs faster, and writes the file of
// the managers.
func (l *Lab) startAzure() error {
	begin := time.Now()
	l.Azure = armsim.Start("127.0.0.1:0", begin)
	l.Azure.Change(func(w *armsim.Inside) {
		// Azure takes half a minute each; its order stays.
		w.Compute.Times.Network, w.Compute.Times.Allocate = 200*time.Millisecond, 400*time.Millisecond
		w.Compute.Times.Boot, w.Compute.Times.Delete = 600*time.Millisecond, time.Second
	})
	ctx, cancel := context.WithCancel(context.Background())
	var clock sync.WaitGroup
	clock.Go(func() { l.Azure.Run(ctx, max(l.options.AzureSpeed, 1)) })
	l.stopAzure = func() { cancel(); clock.Wait(); l.Azure.Close() }
	if err := l.Azure.WriteFile(l.cloudsFile(), azureCloud); err != nil {
		return fmt.Errorf("write the clouds: %w", err)
	}
	l.step("Azure Resource Manager", begin)
	return nil
}

// buildManager builds our manager while other things start, with the clock for Azure that Azure has.
func (l *Lab) buildManager(ctx context.Context, program string) <-chan error {
	var values []string
	if l.options.AzureSpeed > 0 {
		values = append(values, fmt.Sprintf("%s=%d", servers.AzureSpeed, l.options.AzureSpeed))
	}
	built := make(chan error, 1)
	go func() { built <- servers.BuildManager(ctx, program, values...) }()
	return built
}

func (l *Lab) cloudsFile() string { return filepath.Join(l.Dir(), "clouds.json") }

//go:embed azurecluster.yaml
var azureClusterYAML string

// azureCluster is the lab's cluster as Cluster API Provider Azure would show it, and the identity of its machines.
func (l *Lab) azureCluster() (cluster, identity, secret *unstructured.Unstructured, err error) {
	var text bytes.Buffer
	err = template.Must(template.New("cluster").Parse(azureClusterYAML)).Execute(&text, map[string]any{
		"Name": ClusterName, "Namespace": Namespace, "Host": l.Workload.Host, "Port": l.Workload.Port,
		"Subscription": armsim.Subscription, "Group": armsim.Group, "NetworkGroup": armsim.NetworkGroup, "Location": armsim.Location,
		"VNet": armsim.VNet, "Subnet": armsim.SubnetName, "Tenant": armsim.Tenant, "Client": armsim.ClientID, "Secret": armsim.Secret,
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("render azurecluster: %w", err)
	}
	objects, err := decode(text.Bytes())
	if err != nil {
		return nil, nil, nil, err
	}
	return objects[0], objects[1], objects[2], nil
}
