package keep

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
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

// Past is what this process has done in a cluster, by the names of objects. It is empty in a process that has done nothing.
type Past map[string]*past

// past is that of an object.
type past struct {
	// writes are those in a row, each of which was undone if the object is not as it must be, and written is when the last one was.
	writes  int
	written time.Time
	// made is the digest of the content that the API server has made of it: a later version may add fields.
	made string
}

func (p Past) get(object *unstructured.Unstructured) *past {
	name := NameOf(object)
	if p[name] == nil {
		p[name] = &past{}
	}
	return p[name]
}

// note is for an object that is not as it must be: others have undone each write. It returns an error if it is too soon for
// another.
func (c *Cluster) note(p *past, existing, want *unstructured.Unstructured) error {
	age := c.Now.Sub(p.written)
	if age >= calm {
		p.writes = min(p.writes, 1)
	}
	if p.writes == mostUndone {
		p.writes++ // so that it is reported once
		c.Contested(contestedSentence(existing, want))
	}
	if p.writes > mostUndone && age < contested {
		return fmt.Errorf("others change %s again and again, so it is written once a minute at most", NameOf(want))
	}
	return nil
}

// wrote notes what the API server has made of an object. It is accepted if it has all that was wanted.
func (p *past) wrote(made, want *unstructured.Unstructured, now time.Time) {
	p.writes, p.written, p.made = p.writes+1, now, ""
	if contains(plain(content(made)), plain(content(want))) {
		p.made = digest(made)
	}
}

func (p *past) isAccepted(existing *unstructured.Unstructured) bool {
	return p.made != "" && p.made == digest(existing)
}

// digest stands for the content of an object, which may be as large as an answer.
func digest(object *unstructured.Unstructured) string {
	text, _ := json.Marshal(plain(content(object))) // what was JSON always can
	sum := sha256.Sum256(text)
	return string(sum[:])
}

func contestedSentence(existing, want *unstructured.Unstructured) string {
	change, writer := "removed", ""
	if existing != nil {
		change, writer = "changed", lastManager(existing)
	}
	if writer != "" {
		change += fmt.Sprintf(", last by the field manager %q", writer)
	}
	if writer == manager {
		change += ", which is another management cluster with capwin or another version of it"
	}
	return fmt.Sprintf("%s in the workload cluster has been written by capwin and then undone by another writer %d times: it was "+
		"%s; capwin writes it once a minute at most while that goes on. End the other writer, or give it the object by another "+
		"value of its label %s", NameOf(want), mostUndone, change, Label)
}

// lastManager is who has written an object last, as its API server has it. In the same second, it is another one than ours.
func lastManager(object *unstructured.Unstructured) (name string) {
	latest := ""
	for _, entry := range managedFields(object) {
		written, _ := entry["time"].(string)
		writer, _ := entry["manager"].(string)
		if part, _ := entry["subresource"].(string); part == "" && (written > latest || written == latest && writer != manager) {
			latest, name = written, writer
		}
	}
	return cloud.Clean(name, maxManager)
}
