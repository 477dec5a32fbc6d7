package agree

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/merge"
)

// class says who refuses a file first, or that nobody does.
type class string

const (
	good      class = "good"
	bySchema  class = "refused by the API server"
	byWebhook class = "refused by Cluster API's webhooks"
	byConfig  class = "refused by the bootstrap controller"
	bySpec    class = "refused by the infrastructure controller"
	// beyond is refused for what no file shows: a cloud, a flag of Cluster API, or a cluster.
	beyond class = "refused for what no file shows"
)

// fewest are the files of each class; their numbers only grow.
var fewest = map[class]int{good: 80, bySchema: 60, byWebhook: 25, byConfig: 40, bySpec: 25, beyond: 1}

// fewestFiles are those of all classes.
const fewestFiles = 300

// mostBeyond are the reasons that may be left to a cloud, a flag or a cluster.
const mostBeyond = 10

// row is a good pool with a name, and what is different in it: YAML by part of the pool, merged into that part. The parts are
// config, vm, windows, owner, cluster, made for the metadata of what is made from the templates, and more for further objects.
// null takes a field away.
type row struct{ name, different string }

// The clouds, and the kinds of owner.
const (
	onVSphere, inAzure  = "vSphere", "Azure"
	machine, deployment = "Machine", "MachineDeployment"
)

// file is a row as the user would write it.
type file struct {
	row
	class        class
	cloud, owner string
	// reason is what the cluster tells of a file that is beyond, and wants what it is that no file shows.
	reason, wants string
	// always has a short run take it through the controllers, too.
	always bool
}

// String names the file in messages.
func (f file) String() string { return fmt.Sprintf("%s, %s, %s", f.name, f.cloud, f.owner) }

// hash is the same in each run: it chooses the owner, and the part of the files that a short run takes.
func (f file) hash() uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(string(f.class) + f.name + f.cloud + f.owner)) // never fails
	return h.Sum32()
}

// files makes one of each row. Without an owner, the name chooses it.
func files(class class, cloud, owner string, rows ...row) []file {
	all := make([]file, 0, len(rows))
	for _, r := range rows {
		f := file{row: r, class: class, cloud: cloud, owner: owner}
		if owner == "" {
			f.owner = []string{machine, deployment}[f.hash()%2]
		}
		all = append(all, f)
	}
	return all
}

// eachOwner makes two files of each row.
func eachOwner(class class, cloud string, rows ...row) []file {
	return append(files(class, cloud, machine, rows...), files(class, cloud, deployment, rows...)...)
}

// corpus is all files.
func corpus() []file {
	return slices.Concat(goodFiles(), schemaFiles(), webhookFiles(), configFiles(), specFiles(), beyondFiles(), olderFiles(),
		contradictedFiles())
}

// object is one of Kubernetes.
type object = map[string]any

// objects are those of the file, in the order in which they are applied.
func (f file) objects() []object {
	parts := poolOf(f.cloud, f.owner)
	var different struct {
		Config, VM, Windows, Owner, Cluster, Made object
		More                                      []object
	}
	mustParse(f.name, f.different, &different)
	merge.Into(parts.cluster, different.Cluster)
	merge.Into(parts.owner, different.Owner)
	merge.Into(parts.specOf("config"), different.Config)
	merge.Into(parts.specOf("windows"), different.Windows)
	if vm, ok := parts.specOf("windows")[strings.ToLower(f.cloud)].(object); ok {
		merge.Into(vm, different.VM)
	}
	if different.Made != nil {
		made := object{"spec": object{"template": object{"metadata": different.Made}}}
		merge.Into(parts.windows, made)
		merge.Into(parts.config, made)
	}
	return slices.Concat([]object{parts.cluster}, sources(), different.More, []object{parts.windows, parts.config, parts.owner})
}

// text is the file.
func (f file) text() string {
	var text strings.Builder
	for _, one := range f.objects() {
		data, err := yaml.Marshal(one)
		if err != nil {
			panic(f.name + ": " + err.Error())
		}
		text.WriteString("---\n")
		text.Write(data)
	}
	return text.String()
}

// mustParse reads a part of the corpus: one that is not YAML is an error in this package.
func mustParse(name, text string, into any) {
	if err := yaml.UnmarshalStrict([]byte(filled(text)), into); err != nil {
		panic(fmt.Sprintf("%s: %v in %s", name, err, text))
	}
}
