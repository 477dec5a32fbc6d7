package keep_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestContested: who undoes our writes three times is named once, and is answered once a minute from then on. After an hour of
// peace it begins anew.
func TestContested(t *testing.T) {
	s := newStage(role)
	s.rights(t, "at first", "create")
	undo := func(after time.Duration) {
		t.Helper()
		s.Now = s.Now.Add(after)
		s.edits(t, "argocd-controller", func(o map[string]any) { o["rules"] = []any{} })
	}
	for range 2 {
		undo(time.Second)
		s.rights(t, "after a change", "update")
		expect.Same(t, "news", 0, len(s.news()))
	}
	undo(time.Second)
	calls, err := s.write(t)
	expect.Says(t, "the third", err, "others change ClusterRole capwin-test again and again, so it is written once a minute at most")
	expect.Same(t, "class", keep.ForNow, keep.ClassOf(err))
	expect.Same(t, "writes", 0, len(calls))
	expect.Same(t, "news", []string{
		`ClusterRole capwin-test in the workload cluster has been written by capwin and then undone by another writer 3 times: it ` +
			`was changed, last by the field manager "argocd-controller"; capwin writes it once a minute at most while that goes on. ` +
			`End the other writer, or give it the object by another value of its label app.kubernetes.io/managed-by`,
	}, s.news())
	expect.Same(t, "news, once", 0, len(s.news()))
	s.Now = s.Now.Add(time.Minute - 2*time.Second)
	_, err = s.write(t)
	expect.Same(t, "a second too soon", true, err != nil)
	s.Now = s.Now.Add(time.Second)
	s.rights(t, "a minute after the last write", "update")
	undo(time.Second)
	_, err = s.write(t)
	expect.Same(t, "at once", true, err != nil)
	s.Now = s.Now.Add(time.Minute)
	s.rights(t, "another minute later", "update")
	expect.Same(t, "more news", 0, len(s.news()))
	s.Now = s.Now.Add(time.Hour)
	s.stays(t, "after an hour of peace")
	for range 2 {
		undo(0)
		s.rights(t, "a change after that", "update")
		expect.Same(t, "news of it", 0, len(s.news()))
	}
}

// TestNotUndone: what we fail to write, and what we remove ourselves, is nobody else's doing.
func TestNotUndone(t *testing.T) {
	s := newStage(role)
	s.rights(t, "at first", "create")
	s.edits(t, "kubectl", func(o map[string]any) { o["rules"] = []any{} })
	s.fail["update"] = errors.New("no answer")
	for range 4 {
		_, err := s.write(t)
		expect.Says(t, "a write that fails", err, "write ClusterRole: no answer")
	}
	delete(s.fail, "update")
	s.rights(t, "in the end", "update")
	for range 4 {
		expect.OK(t, s.Revoke(t.Context(), s.want))
		s.rights(t, "once more", "create")
	}
	expect.Same(t, "news", 0, len(s.news()))
}

// TestLastManager: who wrote an object last, whatever the order is.
func TestLastManager(t *testing.T) {
	entry := func(manager, at, part string) any {
		return map[string]any{"manager": manager, "time": at, "subresource": part}
	}
	early, late := entry("early", "2026-01-01T00:00:00Z", ""), entry("late", "2026-01-01T00:00:01Z", "")
	us, status := entry("capwin", "2026-01-01T00:00:00Z", ""), entry("apiserver", "2026-01-01T00:00:02Z", "status")
	for name, c := range map[string]struct {
		entries []any
		want    string
	}{
		"none": {nil, ""}, "no entries": {[]any{"x", nil}, ""}, "one without a time": {[]any{map[string]any{"manager": "x"}}, "x"},
		"the later one is last": {[]any{early, late}, "late"}, "the later one is first": {[]any{late, early}, "late"},
		"a status": {[]any{early, status}, "early"}, "we": {[]any{us}, "capwin"},
		"we and another in a second": {[]any{us, early}, "early"}, "another and we in a second": {[]any{early, us}, "early"},
	} {
		metadata := map[string]any{"managedFields": c.entries}
		expect.Same(t, name, c.want, keep.LastManager(&unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}))
	}
}

// TestContestedByUs: another capwin, and nobody at all, are named as what they are.
func TestContestedByUs(t *testing.T) {
	for says, undo := range map[string]func(*testing.T, *stage){
		`last by the field manager "capwin", which is another management cluster with capwin or another version of it;`: func(
			t *testing.T, s *stage,
		) {
			s.edits(t, "capwin", func(o map[string]any) { o["rules"] = []any{} })
		},
		"it was removed; ": func(t *testing.T, s *stage) { s.removes(t) },
		"it was changed; ": func(t *testing.T, s *stage) {
			s.edits(t, "kubectl", func(o map[string]any) { o["rules"] = []any{} })
			s.shows = func(o *unstructured.Unstructured) { o.SetManagedFields(nil) }
		},
	} {
		s := newStage(role)
		for range 3 {
			_, err := s.write(t)
			expect.OK(t, err)
			undo(t, s)
		}
		_, _ = s.write(t)
		if news := s.news(); len(news) != 1 || !strings.Contains(news[0], says) {
			t.Errorf("want %q in %q", says, news)
		}
	}
}

// TestNewerServer: a field that a later API server adds to what we write is accepted from its answer on, and another value of it
// is not. What takes something of ours away, or adds to a list, is never accepted.
func TestNewerServer(t *testing.T) {
	s := newStage("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}")
	s.want.SetLabels(ours)
	s.stores = func(o *unstructured.Unstructured) { o.Object["data"].(map[string]any)["new"] = "x" }
	s.rights(t, "at first", "create")
	s.stays(t, "after that")
	s.edits(t, "kubectl", func(o map[string]any) { o["data"].(map[string]any)["new"] = "y" })
	s.rights(t, "another value", "update")
	for name, c := range map[string]struct {
		answer, there map[string]any
		accepted      bool
	}{
		"a new field":             {map[string]any{"a": "b", "new": "x"}, map[string]any{"a": "b", "new": "x"}, true},
		"another value of it":     {map[string]any{"a": "b", "new": "x"}, map[string]any{"a": "b", "new": "y"}, false},
		"something of ours goes":  {map[string]any{"new": "x"}, map[string]any{"new": "x"}, false},
		"all goes":                {nil, nil, false},
		"something of ours turns": {map[string]any{"a": "c", "new": "x"}, map[string]any{"a": "c", "new": "x"}, false},
		"it is as it must be":     {map[string]any{"a": "b"}, map[string]any{"a": "b"}, true},
	} {
		want := &unstructured.Unstructured{Object: map[string]any{"kind": "X", "spec": map[string]any{"a": "b"}}}
		of := func(spec map[string]any) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{"kind": "X", "spec": spec}}
		}
		past := keep.Past{}
		past.Wrote(of(c.answer), want, start)
		expect.Same(t, name, c.accepted, past.IsAccepted(of(c.there), want))
	}
	list := func(values ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "X", "rules": values}}
	}
	past := keep.Past{}
	past.Wrote(list("a", "b"), list("a"), start)
	expect.Same(t, "one more in a list", false, past.IsAccepted(list("a", "b"), list("a")))
	past.Wrote(list(map[string]any{"a": "b", "new": "x"}), list(map[string]any{"a": "b"}), start)
	expect.Same(t, "a new field in a list", true, past.IsAccepted(list(map[string]any{"a": "b", "new": "x"}), list()))
}
