// Package report prints what commands found: as objects for programs, and as a table for people.
package report

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// apiVersion of what is printed. No API server has these kinds.
const apiVersion = "windows.cluster.x-k8s.io/v1alpha1"

// FindingList has what a command found, in the order in which it looked.
type FindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Finding `json:"items"`
}

// Finding is one thing that was looked at. Its name is that of the check, in the letters that a name of an object may have.
type Finding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Check             string       `json:"check"`
	Result            cloud.Result `json:"result"`
	// Message says what was found, and what to do.
	Message string `json:"message"`
	// Commands do it, each for itself.
	Commands []Command `json:"commands,omitempty"`
}

// Command is a line for a shell.
type Command struct {
	// For says what it does.
	For string `json:"for"`
	Run string `json:"run"`
}

// maxText is longer than all that is told of one check.
const maxText = 4 << 10

// Entry is a finding with commands.
type Entry struct {
	cloud.Finding

	Commands []Command
}

// New returns findings as objects.
func New(found []cloud.Finding) *FindingList {
	entries := make([]Entry, len(found))
	for i, one := range found {
		entries[i].Finding = one
	}
	return Of(entries)
}

// Of returns findings with commands as objects. What they quote of a file or a cloud is cleaned of what a terminal obeys. A
// command with that is left out, as is one that is too long to be one.
func Of(found []Entry) *FindingList {
	list := &FindingList{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "FindingList"}, Items: []Finding{}}
	used := map[string]int{}
	for _, one := range found {
		name := nameOf(one.Check)
		if used[name]++; used[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, used[name])
		}
		finding := Finding{
			TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "Finding"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			Check: cloud.Clean(one.Check, maxText), Result: one.Result, Message: cloud.Clean(one.Text, maxText),
		}
		for _, command := range one.Commands {
			if command.Run != "" && cloud.Clean(command.Run, maxCommand) == command.Run {
				finding.Commands = append(finding.Commands, command)
			}
		}
		list.Items = append(list.Items, finding)
	}
	return list
}

// maxCommand is longer than any command.
const maxCommand = 8 << 10

// nameOf turns the words of a check into a name: letters, digits and dots stay, all others become hyphens.
func nameOf(check string) string {
	words := strings.FieldsFunc(strings.ToLower(check), func(r rune) bool {
		return r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
	return strings.Trim(strings.Join(words, "-"), ".-")
}

// Failed says whether a check has failed.
func (l *FindingList) Failed() bool {
	for _, one := range l.Items {
		if one.Result == cloud.CheckFailed {
			return true
		}
	}
	return false
}

// DeepCopyObject makes it an object that printers take.
func (l *FindingList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = make([]Finding, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].copy()
	}
	return &c
}

// DeepCopyObject makes it an object that printers take.
func (f *Finding) DeepCopyObject() runtime.Object { return f.copy() }

func (f *Finding) copy() *Finding {
	c := *f
	f.DeepCopyInto(&c.ObjectMeta)
	c.Commands = slices.Clone(f.Commands)
	return &c
}
