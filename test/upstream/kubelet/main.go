// Command kubelet asks the real kubelet of k8s.io/kubernetes what it takes, and whether it takes what we render.
//
// It is built with an overlay (see ./overlay) by which the files that Kubernetes has for Windows take the place of those
// for Linux: flags and validation are those of a kubelet.exe, though it runs here.
//
//	kubelet dump          prints flags, feature gates and configuration fields as JSON
//	kubelet takes FILE...   decodes each file as a kubelet does, strictly, validates it, and fails if one is refused
//	kubelet refuses FILE... does the same, and fails if one is taken
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // as cmd/kubelet does
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/configfiles"
	utilfs "k8s.io/kubernetes/pkg/util/filesystem"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// As cmd/kubelet does before anything else.
	if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "dump":
		return dump()
	case len(args) > 1 && (args[0] == "takes" || args[0] == "refuses"):
		return check(args[1:], args[0] == "takes")
	}
	return fmt.Errorf("usage: kubelet dump | kubelet takes FILE... | kubelet refuses FILE...")
}

// knowledge is what a kubelet takes; test/upstream/kubelet/versions has one for each minor version.
type knowledge struct {
	Fields []string `json:"fields"`
	Flags  []string `json:"flags"`
	// Gates are "on" or "off" by default, and "locked" when they can not be changed.
	Gates map[string]string `json:"gates"`
	// Needs are the gates that must be on where a gate is: the kubelet panics where one is off. Only from 1.35 on.
	Needs map[string][]string `json:"needs,omitempty"`
}

func dump() error {
	known := knowledge{Gates: map[string]string{}}
	server, err := options.NewKubeletServer()
	if err != nil {
		return err
	}
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	server.AddFlags(flags)
	flags.VisitAll(func(flag *pflag.Flag) { known.Flags = append(known.Flags, flag.Name) })
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		known.Gates[string(name)] = gate(spec)
	}
	// The controller manager's, which is linked into this version of the kubelet and which it has no use for.
	delete(known.Gates, "ControllerManagerReleaseLeaderElectionLockOnExit")
	delete(known.Gates, "AllAlpha")
	delete(known.Gates, "AllBeta")
	known.Needs = needs()
	known.Fields = fields(reflect.TypeFor[kubeletv1.KubeletConfiguration]())
	slices.Sort(known.Flags)
	slices.Sort(known.Fields)
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(known)
}

// needs asks the kubelet's own gates which of them need others. Before 1.35 they have no such question.
func needs() map[string][]string {
	gates, ok := utilfeature.DefaultMutableFeatureGate.(interface {
		Dependencies() map[featuregate.Feature][]featuregate.Feature
	})
	if !ok {
		return nil
	}
	found := map[string][]string{}
	for name, needed := range gates.Dependencies() {
		for _, one := range needed {
			found[string(name)] = append(found[string(name)], string(one))
		}
		slices.Sort(found[string(name)])
	}
	return found
}

func gate(spec featuregate.FeatureSpec) string {
	words := "off"
	if spec.Default {
		words = "on"
	}
	if spec.LockToDefault {
		words += " locked"
	}
	return words
}

// fields are the names at the top of a configuration.
func fields(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		name, rest, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name != "" && !strings.Contains(rest, "inline") {
			names = append(names, name)
		}
	}
	return names
}

// check reads files by the kubelet's own loader, which is strict, defaults them and validates them.
func check(files []string, takes bool) error {
	wrong := 0
	for _, file := range files {
		if err := checkFile(file); (err == nil) != takes {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d are not as wanted", wrong, len(files))
	}
	return nil
}

func checkFile(file string) (err error) {
	// A feature gate that is unknown or locked makes the kubelet panic in its defaults.
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	loader, err := configfiles.NewFsLoader(&utilfs.DefaultFs{}, file)
	if err != nil {
		return err
	}
	config, err := loader.Load(context.Background())
	if err != nil {
		return err
	}
	return validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate)
}
