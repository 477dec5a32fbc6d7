package caches

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// shelf is an API server with objects that only lists by pages, and notes for what it is asked.
type shelf struct {
	objects int
	fails   error // of a page behind the first
	asked   []metav1.ListOptions
}

func (s *shelf) lists() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
			s.asked = append(s.asked, options)
			first, _ := strconv.Atoi(options.Continue)
			if first > 0 && s.fails != nil {
				return nil, s.fails
			}
			page := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
			for n := first; n < min(first+int(options.Limit), s.objects); n++ {
				o := corev1.ConfigMap{ObjectMeta: named()}
				o.Name, o.Data = strconv.Itoa(n), map[string]string{"a": large}
				page.Items = append(page.Items, o)
			}
			if next := first + len(page.Items); next < s.objects {
				page.Continue = strconv.Itoa(next)
			}
			return page, nil
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return nil, errors.New("watches from " + options.ResourceVersion)
		},
	}
}

// TestPages: a list comes by pages of a few objects, of which only what the cache keeps stays.
func TestPages(t *testing.T) {
	for _, objects := range []int{0, 1, PageOfLarge, 2*PageOfLarge + 1} {
		s := &shelf{objects: objects}
		made := NewInformer(s.lists(), &corev1.ConfigMap{}, time.Hour, nil).(informer)
		expect.OK(t, made.SetTransform(Keep))
		got := expect.Got(made.pages.List(metav1.ListOptions{Limit: 500, ResourceVersion: "0", LabelSelector: "a"}))(t)
		list := got.(*internalversion.List)
		expect.Same(t, "version", "9", list.ResourceVersion)
		expect.Same(t, "objects", objects, len(list.Items))
		for n, o := range list.Items {
			expect.Same(t, "an object", strconv.Itoa(n), o.(*corev1.ConfigMap).Name)
			expect.Same(t, "it is a stub", true, IsStub(o.(*corev1.ConfigMap)))
		}
		expect.Same(t, "pages", max(1, (objects+PageOfLarge-1)/PageOfLarge), len(s.asked))
		for _, asked := range s.asked {
			asked.Continue = ""
			expect.Same(t, "what is asked for", metav1.ListOptions{Limit: PageOfLarge, LabelSelector: "a"}, asked)
		}
	}
}

// TestPagesFail: the reflector sees the error of a page as it is, and that of a transform; a watch is as before.
func TestPagesFail(t *testing.T) {
	expired := errors.New("expired")
	p := &pages{source: (&shelf{objects: 100, fails: expired}).lists()}
	_, err := p.List(metav1.ListOptions{})
	expect.Same(t, "the error is as it was", true, err == expired) //nolint:errorlint // because it may not be wrapped
	p.transform = func(any) (any, error) { return nil, expired }
	_, err = p.List(metav1.ListOptions{})
	expect.Same(t, "error of a transform", true, errors.Is(err, expired))
	_, err = p.Watch(metav1.ListOptions{ResourceVersion: "9"})
	expect.Says(t, "watch", err, "watches from 9")
	p.transform = nil
	p.source = (&shelf{objects: 1}).lists()
	list := expect.Got(p.List(metav1.ListOptions{}))(t).(*internalversion.List)
	expect.Same(t, "without a transform it is whole", false, IsStub(list.Items[0].(*corev1.ConfigMap)))
}
