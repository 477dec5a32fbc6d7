package placement

import (
	"bytes"
	"iter"
	"maps"
	"slices"
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
)

// store has what the watch of one resource has told of its objects: of each, what brief makes of it, in JSON. That takes a
// third of the memory of the same in Go, and shows whether anything has changed.
type store struct {
	// brief takes from an object its key and what is kept of it. A nil text means that nothing is.
	brief func(object []byte) (key string, text []byte, err error)
	// kept counts the bytes of all stores of a cluster, and shared those of all clusters of its namespace.
	kept   *int
	shared *atomic.Int64

	objects map[string]brief
	round   int
	// listed says that all objects were told, and leftOut how many were not kept.
	listed  bool
	leftOut int
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
		s.leftOut, s.hidden, s.absent = 0, "", false
		return news
	case workload.Listed:
		return s.sweep()
	case workload.Hidden:
		s.absent = apierrors.IsNotFound(e.Why)
		return s.hide(e.Why.Error())
	case workload.LeftOut:
		s.leftOut++
		return true
	}
	key, text, err := s.brief(e.Object)
	switch {
	case err != nil || len(text) > maxBrief:
		s.leftOut++
		return s.drop(key)
	case e.Type == watch.Deleted || text == nil:
		return s.drop(key)
	}
	return s.keep(key, text)
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
	if *s.kept+more > maxKept || s.shared.Load()+int64(more) > maxShared {
		s.leftOut++
		return s.drop(key)
	}
	if s.objects == nil {
		s.objects = map[string]brief{}
	}
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
	news, s.listed = !s.listed, true
	for key, one := range s.objects {
		if one.round != s.round {
			news = s.drop(key) || news
		}
	}
	return news
}

// hide notes why the API server shows no object.
func (s *store) hide(why string) (news bool) {
	news = s.hidden != why || len(s.objects) > 0
	for key := range s.objects {
		s.drop(key)
	}
	s.hidden, s.listed, s.leftOut = why, false, 0
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
