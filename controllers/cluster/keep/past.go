package keep

import (
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// mostUndone is how often an object may be changed or removed by others until they are named.
	mostUndone = 3
	// contested is the time between two writes after that.
	contested = time.Minute
	// calm is how long an object must stay as it is, so that what was done to it before does not count any more.
	calm = time.Hour
	// maxManager is how much of the name of a field manager people see: a server may have made it up.
	maxManager = 128
)

// Past is what this process has done in a cluster. The zero value is that of a process that has done nothing.
type Past struct {
	objects map[string]*past
	news    []string
}

// past is that of an object.
type past struct {
	// stands says that nobody was seen to undo the last write, and written is when that was.
	stands  bool
	written time.Time
	// made is the content that the API server has made of it: a later version may add fields.
	made any
	// undone is how many writes were undone.
	undone int
}

// News returns, once, a sentence about each object that others change again and again.
func (p *Past) News() []string {
	news := p.news
	p.news = nil
	return news
}

func (p *Past) of(object *unstructured.Unstructured) *past {
	if p.objects == nil {
		p.objects = map[string]*past{}
	}
	name := NameOf(object)
	if p.objects[name] == nil {
		p.objects[name] = &past{}
	}
	return p.objects[name]
}

func (p *Past) forget(object *unstructured.Unstructured) { delete(p.objects, NameOf(object)) }

// note counts what others have done to an object that is not as it must be. The error says that it is too soon to write.
func (p *Past) note(there, want *unstructured.Unstructured, now time.Time) error {
	one := p.of(want)
	if now.Sub(one.written) >= calm {
		one.undone = 0
	}
	if one.stands {
		one.stands = false
		if one.undone++; one.undone == mostUndone {
			p.news = append(p.news, contestedSentence(there, want))
		}
	}
	if one.undone >= mostUndone && now.Sub(one.written) < contested {
		return fmt.Errorf("others change %s again and again, so it is written once a minute at most", NameOf(want))
	}
	return nil
}

// wrote notes what the API server has made of an object. It is accepted if it has all that was wanted.
func (p *past) wrote(made, want *unstructured.Unstructured, now time.Time) {
	p.stands, p.written, p.made = true, now, plain(content(made))
	if !contains(p.made, plain(content(want))) {
		p.made = nil
	}
}

func (p *past) isAccepted(there *unstructured.Unstructured) bool {
	return p.made != nil && reflect.DeepEqual(p.made, plain(content(there)))
}

func contestedSentence(there, want *unstructured.Unstructured) string {
	done := "removed"
	if there != nil {
		done = "changed"
		if by := lastManager(there); by != "" {
			done += fmt.Sprintf(", last by the field manager %q", by)
			if by == manager {
				done += ", which is another management cluster with capwin or another version of it"
			}
		}
	}
	return fmt.Sprintf("%s in the workload cluster has been written by capwin and then undone by somebody else %d times: it was "+
		"%s; capwin writes it once a minute at most while that goes on. End the other writer, or give it the object by another "+
		"value of its label %s", NameOf(want), mostUndone, done, Label)
}

// lastManager is who has written an object last, as its API server has it. In the same second, it is another one than ours.
func lastManager(object *unstructured.Unstructured) (name string) {
	last := ""
	for _, entry := range managedFields(object) {
		at, _ := entry["time"].(string)
		by, _ := entry["manager"].(string)
		if part, _ := entry["subresource"].(string); part == "" && (at > last || at == last && by != manager) {
			last, name = at, by
		}
	}
	return cloud.Clean(name, maxManager)
}
