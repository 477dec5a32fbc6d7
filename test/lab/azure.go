package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
)

// azureCloud is the name of the lab's cloud in the managers' file of clouds.
const azureCloud = "LabCloud"

// startAzure starts the simulator of Azure Resource Manager, whose clock follows the time, and writes the managers' file.
func (l *Lab) startAzure() error {
	begin := time.Now()
	l.Azure = armsim.Start("127.0.0.1:0", begin)
	l.Azure.Change(func(w *armsim.Inside) {
		// Azure takes half a minute each; its order stays.
		w.Compute.Times.Network, w.Compute.Times.Allocate = 200*time.Millisecond, 400*time.Millisecond
		w.Compute.Times.Boot, w.Compute.Times.Delete = 600*time.Millisecond, time.Second
	})
	l.stopAzure = l.followTime(begin)
	file, err := json.Marshal(map[string][]clouds.Cloud{"clouds": {{
		Name: azureCloud, ResourceManager: l.Azure.Endpoint(), Authority: l.Azure.Endpoint(), CABundle: string(l.Azure.CA()),
	}}})
	if err == nil {
		err = os.WriteFile(l.cloudsFile(), file, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the clouds: %w", err)
	}
	l.step("Azure Resource Manager", begin)
	return nil
}

func (l *Lab) cloudsFile() string { return filepath.Join(l.Dir(), "clouds.json") }

// followTime moves the simulator's clock until stop.
func (l *Lab) followTime(begin time.Time) (stop func()) {
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-ended:
				tick.Stop()
				return
			case now := <-tick.C:
				l.Azure.Advance(now.Sub(begin) - l.Azure.Now().Sub(begin))
			}
		}
	}()
	return func() { close(ended); <-over; l.Azure.Close() }
}

// azureCredentials are the Secret of a pool in Azure.
func azureCredentials() map[string][]byte {
	return map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
		"cloud": []byte(azureCloud),
	}
}
