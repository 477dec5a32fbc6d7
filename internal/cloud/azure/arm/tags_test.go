package arm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

var (
	someVM      = GroupID(someSubscription, "nodes").VM("win-1")
	someMachine = cloud.Machine{
		Identity: cloud.Identity{Name: "win-1", ProviderID: ProviderID(someVM)},
		Key:      cloud.Key{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("m", 253)},
		Cluster:  cloud.ClusterMark{Name: "blue", UID: "u"},
	}
)

func TestTagsAreReadBack(t *testing.T) {
	users := map[string]string{"team": "blue"}
	tags := Tags(someMachine, users, "")
	if len(users) != 1 {
		t.Errorf("the users' tags were changed: %v", users)
	}
	for name, value := range tags {
		if name != "team" && checkTag(strings.TrimPrefix(name, prefix), value) != "" {
			t.Errorf("Azure refuses %s=%s", name, value)
		}
	}
	want := cloud.Marked{Key: someMachine.Key, ProviderID: someMachine.ProviderID, Cluster: someMachine.Cluster}
	shouting := map[string]string{}
	for name, value := range tags {
		shouting[strings.ToUpper(name)] = value
	}
	for _, written := range []map[string]string{tags, shouting} {
		if diff := cmp.Diff(want, ReadMark(written)); diff != "" {
			t.Error(diff)
		}
		if !Belongs(someMachine, ReadMark(written)) || !Original(ReadMark(written), someVM) {
			t.Errorf("%v are the machine's", written)
		}
	}
}

func TestWhoseTagsTheyAre(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(tags map[string]string)
	}{
		{"no tags", func(tags map[string]string) { clear(tags) }},
		{"another namespace", func(tags map[string]string) { tags[namespaceTag] = "other" }},
		{"another machine", func(tags map[string]string) { tags[machineTag] = "other" }},
		{"an earlier machine of the name", func(tags map[string]string) { tags[providerIDTag] += "0" }},
		{"no Cluster", func(tags map[string]string) { delete(tags, clusterTag) }},
		{"another Cluster", func(tags map[string]string) { tags[clusterTag] = "red/u" }},
		{"no providerID", func(tags map[string]string) { delete(tags, providerIDTag) }},
	} {
		tags := Tags(someMachine, nil, "")
		test.change(tags)
		if Belongs(someMachine, ReadMark(tags)) {
			t.Errorf("%s: %v are not the machine's", test.name, tags)
		}
	}
	if Belongs(cloud.Machine{}, ReadMark(nil)) {
		t.Error("a VM without tags belongs to no machine")
	}
	if copied := someVM.Parent().VM("win-2"); Original(ReadMark(Tags(someMachine, nil, "")), copied) {
		t.Error("tags that were copied onto another VM are not its own")
	}
}

func TestCheckTags(t *testing.T) {
	many := map[string]string{}
	for i := range 45 {
		many[fmt.Sprint("t", i)] = ""
	}
	tooMany := map[string]string{"one": "more"}
	for name := range many {
		tooMany[name] = ""
	}
	for _, test := range []struct {
		name string
		tags map[string]string
		want string
	}{
		{"none", nil, ""},
		{"a plain one", map[string]string{"team": "blue/green"}, ""},
		{"as many as fit", many, ""},
		{"one more", tooMany, "there are 46 tags"},
		{"no name", map[string]string{"": "x"}, "empty name"},
		{"ours", map[string]string{"Capwin-Machine": "x"}, "reserved for our marks"},
		{"Azure's", map[string]string{"Azure-x": "x"}, "Azure reserves"},
		{"Microsoft's", map[string]string{"microsoft": "x"}, "Azure reserves"},
		{"Windows'", map[string]string{"windowsteam": "x"}, "Azure reserves"},
		{"a slash", map[string]string{"a/b": "x"}, "which Azure refuses"},
		{"the longest name", map[string]string{strings.Repeat("a", 512): "x"}, ""},
		{"a longer name", map[string]string{strings.Repeat("a", 513): "x"}, "more than 512"},
		{"the longest value", map[string]string{"a": strings.Repeat("x", 256)}, ""},
		{"a longer value", map[string]string{"a": strings.Repeat("x", 257)}, "more than 256"},
		{"twice", map[string]string{"a": "", "A": ""}, `two tags are named "a"`},
	} {
		got := CheckTags(test.tags)
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if len(got) > 300 {
			t.Errorf("%s: a sentence of %d bytes", test.name, len(got))
		}
	}
}
