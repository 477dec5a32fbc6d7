package programs

import (
	"encoding/json"
	"errors"
	"fmt"
)

// FlannelCommit is the commit of flannel-io/cni-plugin whose code Delegate follows.
const FlannelCommit = "092e6d26e43c0c09c5bd4e8c49231d69cc2673be"

// Delegate is the configuration that flannel.exe hands to win-bridge or win-overlay. The program can not be had where modules
// come from, so this says anew what it checks and sets: flannel.go (NetConf, cmdAdd) and flannel_windows.go (doCmdAdd) of
// flannel-io/cni-plugin at FlannelCommit.
func Delegate(text, subnet, network string) ([]byte, error) {
	var conf struct {
		CNIVersion    string         `json:"cniVersion"`
		Name          string         `json:"name"`
		IPAM          map[string]any `json:"ipam"`
		SubnetFile    string         `json:"subnetFile"`
		DataDir       string         `json:"dataDir"`
		Delegate      map[string]any `json:"delegate"`
		RuntimeConfig map[string]any `json:"runtimeConfig"`
	}
	if err := json.Unmarshal([]byte(text), &conf); err != nil {
		return nil, fmt.Errorf("load netconf: %w", err)
	}
	delegate := conf.Delegate
	if delegate == nil {
		delegate = map[string]any{"type": "win-bridge"}
	}
	if _, ok := delegate["type"].(string); !ok {
		return nil, errors.New("delegate's type is not a text")
	}
	for _, taken := range []string{"name", "ipam"} {
		if _, ok := delegate[taken]; ok {
			return nil, fmt.Errorf("delegate has a field %s, which flannel sets", taken)
		}
	}
	delegate["name"] = conf.Name
	delegate["ipMasq"], delegate["ipMasqNetwork"] = false, network
	delegate["cniVersion"] = conf.CNIVersion
	delegate["ipam"] = map[string]any{"type": "host-local", "subnet": subnet}
	return json.Marshal(delegate)
}
