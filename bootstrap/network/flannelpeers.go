package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf16"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// Where Flannel's own manifest keeps the settings of its Linux nodes (flannel-io/flannel cdf76059,
// Documentation/kube-flannel.yml). Before v0.20 it was in kube-system.
const (
	FlannelConfigMap = "kube-flannel-cfg"
	FlannelConfigKey = "net-conf.json"
)

// FlannelNamespaces are where it may be, in the order in which it is looked for.
func FlannelNamespaces() []string { return []string{"kube-flannel", "kube-system"} }

// backend is what flanneld of Windows and Linux must have in common.
type backend struct {
	Type      string
	VNI, Port int
}

// FlannelMismatch returns why nodes with this spec and the Linux nodes with these settings would not reach each other's pods, and
// which command mends that. It is empty when they do. Flannel's backend for Windows refuses a VNI below 4096 and another port
// (flannel-io/flannel cdf76059, pkg/backend/vxlan/vxlan_windows.go); Linux has VNI 1 and port 8472 if its settings name none.
func FlannelMismatch(spec bootstrapv1.Network, namespace, settings string) string {
	tree, found, err := readSettings(settings)
	if err != nil {
		return fmt.Sprintf("%s of ConfigMap %s/%s cannot be read (%.200s); mend it: %s", FlannelConfigKey, namespace, FlannelConfigMap,
			err, edit(namespace))
	}
	want := wantedBackend(spec)
	faults := compare(found, want)
	if len(faults) == 0 {
		return ""
	}
	return fmt.Sprintf("ConfigMap %s/%s of the Linux nodes has %s; pods on Windows need %s. Change both sides to the same: %s, and "+
		"then kubectl rollout restart daemonset -n %s kube-flannel-ds", namespace, FlannelConfigMap, strings.Join(faults, ", "),
		want, patchCommand(namespace, tree, want), namespace)
}

func wantedBackend(spec bootstrapv1.Network) backend {
	if spec.Mode != bootstrapv1.NetworkOverlay {
		return backend{Type: "host-gw"}
	}
	return backend{Type: "vxlan", VNI: vniOf(spec), Port: vxlanNumber}
}

// String is in the words of net-conf.json.
func (b backend) String() string {
	if b.VNI == 0 {
		return fmt.Sprintf("Backend.Type %q", b.Type)
	}
	return fmt.Sprintf("Backend.Type %q, VNI %d (spec.network.vni) and Port %d", b.Type, b.VNI, b.Port)
}

// readSettings also fills in the defaults of Linux.
func readSettings(settings string) (tree map[string]any, found backend, err error) {
	if settings == "" {
		return nil, found, errors.New("the key is missing or empty")
	}
	if err := json.Unmarshal([]byte(settings), &tree); err != nil {
		return nil, found, err
	}
	typed := struct{ Backend backend }{backend{VNI: 1, Port: 8472}}
	if err := json.Unmarshal([]byte(settings), &typed); err != nil {
		return nil, found, err
	}
	if tree == nil {
		return nil, found, errors.New("it is null")
	}
	return tree, typed.Backend, nil
}

func compare(found, want backend) (faults []string) {
	if !strings.EqualFold(found.Type, want.Type) {
		return []string{fmt.Sprintf("Backend.Type %+.40q", found.Type)}
	}
	if want.VNI == 0 {
		return nil
	}
	if found.VNI != want.VNI {
		faults = append(faults, fmt.Sprintf("VNI %d", found.VNI))
	}
	if found.Port != want.Port {
		faults = append(faults, fmt.Sprintf("Port %d", found.Port))
	}
	return faults
}

// longestPatch is of what a person may still copy from a condition.
const longestPatch = 1024

// patchCommand is the command that makes the settings of Linux fit. Who writes the ConfigMap is not trusted by whoever copies it.
func patchCommand(namespace string, tree map[string]any, want backend) string {
	tree = maps.Clone(tree)
	maps.DeleteFunc(tree, func(key string, _ any) bool { return strings.EqualFold(key, "Backend") })
	tree["Backend"] = map[string]any{"Type": want.Type}
	if want.VNI != 0 {
		tree["Backend"] = map[string]any{"Type": want.Type, "VNI": want.VNI, "Port": want.Port}
	}
	settings := inert(tree)
	text := inert(map[string]any{"data": map[string]any{FlannelConfigKey: settings}})
	if len(text) > longestPatch {
		return edit(namespace)
	}
	return fmt.Sprintf("kubectl patch configmap -n %s %s --type merge -p '%s'", namespace, FlannelConfigMap, text)
}

func edit(namespace string) string {
	return fmt.Sprintf("kubectl edit configmap -n %s %s", namespace, FlannelConfigMap)
}

// inert is JSON of printable ASCII in which no quote ends an argument of a shell.
func inert(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // what came from JSON becomes JSON again
	}
	var b strings.Builder
	for _, r := range string(text) {
		if r != '\'' && r >= ' ' && r <= '~' {
			b.WriteRune(r)
			continue
		}
		for _, half := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, half)
		}
	}
	return b.String()
}
