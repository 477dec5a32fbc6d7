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
	// Message is what was found, and what to do.
	Message string `json:"message"`
	// Commands do it, each for itself.
	Commands []Command `json:"commands,omitempty"`
}

// Command is a line for a shell.
type Command struct {
	// Purpose is what the command is for.
	Purpose string `json:"for"`
	Run     string `json:"run"`
}

// maxText is longer than the message of any check.
const maxText = 4 << 10

// Entry is a finding with commands.
type Entry struct {
	cloud.Finding

	Commands []Command
}

// NewList returns findings as objects.
func NewList(found []cloud.Finding) *FindingList {
	entries := make([]Entry, len(found))
	for i, finding := range found {
		entries[i].Finding = finding
	}
	return FromEntries(entries)
}

// FromEntries returns findings with commands as objects. Control characters in text quoted from a file or a cloud are removed. A
// command that has them, or that is too long to be one, is left out.
func FromEntries(found []Entry) *FindingList {
	list := &FindingList{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "FindingList"}, Items: []Finding{}}
	used := map[string]int{}
	for _, entry := range found {
		name := nameOf(entry.Check)
		if used[name]++; used[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, used[name])
		}
		finding := Finding{
			TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "Finding"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			Check: cloud.Clean(entry.Check, maxText), Result: entry.Result, Message: cloud.Clean(entry.Text, maxText),
		}
		for _, command := range entry.Commands {
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

// Failed reports whether a check has failed.
func (l *FindingList) Failed() bool {
	return slices.ContainsFunc(l.Items, func(item Finding) bool { return item.Result == cloud.CheckFailed })
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
