package placement

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// maxBrief is how much is kept of one object, and maxKept of all objects of a workload cluster: that has room for 5,000 Nodes
	// and as many workloads. What is larger, or comes later, is left out and counted. The clusters of one namespace share maxShared,
	// as whoever may make Clusters there can make any number of them that tell too much.
	maxBrief  = 16 << 10
	maxKept   = 8 << 20
	maxShared = 32 << 20
	// mostObjects are kept of a resource: what each workload means to each Node takes time, however small they are.
	mostObjects = 10_000
	// mostLeft are as many objects of a resource whose names are kept because nothing else of them is.
	mostLeft, longestName = 100, 512
)

// store has what the watch of one resource has told of its objects: of each, what brief makes of it, in JSON. That takes a
// third of the memory of the same in Go, and shows whether anything has changed.
type store struct {
	// brief takes from an object its key and what is kept of it. A nil text means that nothing is.
	brief func(object []byte) (key string, text []byte, err error)
	// keyOf makes the key of a name, where it is not NAMESPACE/NAME.
	keyOf func(name string) string
	// kept counts the bytes of all stores of a cluster, and shared those of all clusters of its namespace.
	kept   *int
	shared *atomic.Int64

	objects map[string]brief
	round   int
	// listed says that all objects were told. Those that were not kept are in left, with their round, and unnamed are as many more,
	// of this round; before are those of the last one, which count until this one is listed.
	listed          bool
	left            map[string]int
	unnamed, before int
	// hidden says why the API server shows none.
	hidden string
	// absent says that it does not have the resource.
	absent bool
}

type brief struct {
	text  []byte
	round int
}

// take keeps what an event tells, and says whether that is news.
func (s *store) take(e workload.Event) (news bool) {
	switch e.Type {
	case workload.Begun:
		news = s.hidden != ""
		s.round++
		s.before = max(s.before, s.unnamed)
		s.unnamed, s.hidden, s.absent = 0, "", false
		return news
	case workload.Listed:
		return s.sweep()
	case workload.Hidden:
		s.absent = apierrors.IsNotFound(e.Why)
		return s.hide(e.Why.Error())
	case workload.LeftOut:
		return s.takeLarge(e)
	}
	key, text, err := s.brief(e.Object)
	switch {
	case e.Type == watch.Deleted && err != nil:
		return false // it was not kept when it came, either
	case e.Type == watch.Deleted, err == nil && text == nil:
		return s.forget(key)
	case err != nil || len(text) > maxBrief:
		return s.leaveOut(key)
	}
	return s.keep(key, text)
}

// forget drops an object that is gone, whether it was kept or left out.
func (s *store) forget(key string) (news bool) {
	_, was := s.left[key]
	delete(s.left, key)
	return s.drop(key) || was
}

func (s *store) keep(key string, text []byte) (news bool) {
	old, known := s.objects[key]
	if known && bytes.Equal(old.text, text) {
		s.objects[key] = brief{old.text, s.round}
		return false
	}
	more := len(text) - len(old.text)
	if !known {
		more += len(key)
	}
	full := !known && len(s.objects) >= mostObjects
	if full || *s.kept+more > maxKept || s.shared.Load()+int64(more) > maxShared {
		return s.leaveOut(key)
	}
	if s.objects == nil {
		s.objects = map[string]brief{}
	}
	delete(s.left, key)
	s.count(more)
	s.objects[key] = brief{slices.Clip(bytes.Clone(text)), s.round}
	return true
}

func (s *store) count(bytes int) {
	*s.kept += bytes
	s.shared.Add(int64(bytes))
}

func (s *store) drop(key string) (news bool) {
	old, known := s.objects[key]
	if known {
		s.count(-len(key) - len(old.text))
		delete(s.objects, key)
	}
	return known
}

// sweep drops what went while nobody watched: a list that is complete has not told it.
func (s *store) sweep() (news bool) {
	news = !s.listed || s.before > s.unnamed
	s.listed, s.before = true, 0
	for key, one := range s.objects {
		if one.round != s.round {
			news = s.drop(key) || news
		}
	}
	for key, round := range s.left {
		if round != s.round {
			delete(s.left, key)
			news = true
		}
	}
	return news
}

// takeLarge notes an object that was too large to be told of. What was kept of it is not right any more.
func (s *store) takeLarge(e workload.Event) (news bool) {
	if s.keyOf != nil && e.Of != "" {
		_, name, _ := strings.Cut(e.Of, "/")
		e.Of = s.keyOf(name)
	}
	if e.Gone && e.Of != "" {
		return s.forget(e.Of)
	}
	return s.leaveOut(e.Of)
}

// leaveOut notes that an object is not kept, by its key if that is known.
func (s *store) leaveOut(key string) (news bool) {
	news = s.drop(key)
	_, known := s.left[key]
	if !known && (key == "" || len(key) > longestName || len(s.left) >= mostLeft) {
		s.unnamed++
		return true
	}
	if s.left == nil {
		s.left = map[string]int{}
	}
	s.left[key] = s.round
	return news || !known
}

func (s *store) leftOut() int { return len(s.left) + max(s.unnamed, s.before) }

// leavesOut says whether an object with such a key may have been left out.
func (s *store) leavesOut(prefix string) bool {
	for key := range s.left {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return s.unnamed+s.before > 0
}

// hide notes why the API server shows no object.
func (s *store) hide(why string) (news bool) {
	news = s.hidden != why || len(s.objects) > 0
	for key := range s.objects {
		s.drop(key)
	}
	s.hidden, s.listed, s.left, s.unnamed, s.before = why, false, nil, 0, 0
	return news
}

// all are the texts in the order of their keys.
func (s *store) all() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, key := range slices.Sorted(maps.Keys(s.objects)) {
			if !yield(key, s.objects[key].text) {
				return
			}
		}
	}
}
