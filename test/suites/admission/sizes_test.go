package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	sizesPolicy           = "system-object-sizes"
	tooLargeConfiguration = "spec.kubelet.configuration has %d bytes, and at most 65536 are allowed; " +
		"remove what is not a field of a KubeletConfiguration"
	tooLargeSpec = "bytes, and at most 98304 are allowed; " +
		"move the contents of files and scripts into Secrets or ConfigMaps, and refer to them with contentFrom"
	overhead = len(`{"field":""}`)
)

// filled is a configuration with as many bytes in its only field.
func filled(bytes int) map[string]any { return map[string]any{"field": strings.Repeat("x", bytes)} }

// nested is a value in as many maps.
func nested(depth int, value any) any {
	for range depth {
		value = map[string]any{"field": value}
	}
	return value
}

func filesOf(times int, content string) []any {
	return list(times, func(i int) any { return map[string]any{"path": fmt.Sprintf(`C:\etc\%d`, i), "content": content} })
}

// TestSizes: a spec that is too large for the caches of the managers is refused at once, with a sentence that says what to do. A
// schema cannot measure kubelet.configuration, whose fields it does not list.
func TestSizes(t *testing.T) {
	configurationOf := func(kib int) string { return fmt.Sprintf(tooLargeConfiguration, kib<<10+overhead) }
	for name, c := range map[string]struct {
		field   string
		value   any
		refused string
	}{
		"60 KiB":               {configuration, filled(60 << 10), ""},
		"64 KiB":               {configuration, filled(64<<10 - overhead), ""},
		"a byte more":          {configuration, filled(64<<10 - overhead + 1), fmt.Sprintf(tooLargeConfiguration, 65537)},
		"600 KiB":              {configuration, filled(600 << 10), configurationOf(600)},
		"1,000 KiB":            {configuration, filled(1000 << 10), configurationOf(1000)},
		"1,400 KiB":            {configuration, filled(1400 << 10), configurationOf(1400)},
		"letters of two bytes": {configuration, map[string]any{"field": strings.Repeat("ü", 40<<10)}, configurationOf(80)},
		"a long list":          {configuration, map[string]any{"field": list(100<<10, func(int) any { return int64(1) })}, "65536"},
		"a map of many keys":   {configuration, map[string]any{"field": fields(40 << 10)}, "65536"},
		"maps in maps":         {configuration, nested(20, strings.Repeat("x", 600<<10)), "65536"},
		"null":                 {configuration, map[string]any{"field": nil}, ""},
		"any kind of value":    {configuration, map[string]any{"a": []any{1.5, true, nil, map[string]any{}}, "b": int64(1)}, ""},
		"files of 64 KiB":      {"spec.custom.files", filesOf(2, long(32<<10)), ""},
		"files of 1,300 KiB":   {"spec.custom.files", filesOf(40, long(32<<10)), tooLargeSpec},
	} {
		for _, kind := range []string{"WindowsBootstrapConfig", "WindowsBootstrapConfigTemplate"} {
			made := newObject(kind)
			set(made.Object, in(kind, c.field), c.value)
			expect.Says(t, kind+": "+name, create(t, made), c.refused)
		}
	}
}

// storedLarge are the names of configs that were stored before the policy was there, each for one test.
var storedLarge = []string{"stored-deleted", "stored-changed"}

// storeLarge stores them. They are held, as by their controller.
func storeLarge(ctx context.Context) error {
	for _, name := range storedLarge {
		made := newObject("WindowsBootstrapConfig")
		set(made.Object, configuration, filled(600<<10))
		made.SetName(name)
		made.SetFinalizers([]string{"example.com/keep"})
		if err := api.Create(ctx, made); err != nil {
			return fmt.Errorf("store a large config: %w", err)
		}
	}
	return nil
}

func stored(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	made := newObject("WindowsBootstrapConfig")
	expect.OK(t, api.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, made))
	return made
}

// TestStoredLargeObjects: an update finds no fault with what it leaves as it is, so that a large object of an earlier release can
// be reported on, shrunk, let go and deleted.
func TestStoredLargeObjects(t *testing.T) {
	changed := stored(t, "stored-changed")
	for name, edits := range map[string]map[string]any{
		"labels":                    {"metadata.labels": map[string]any{"a": "b"}},
		"a configuration that fits": {configuration: filled(10)},
	} {
		t.Run(name, func(t *testing.T) { expect.Fine(t, update(t, setAll(changed.DeepCopy(), edits))) })
	}
	larger := setAll(changed.DeepCopy(), map[string]any{"spec.bootstrapDeadlineSeconds": int64(600)})
	expect.Says(t, "another field of the spec", update(t, larger), fmt.Sprintf(tooLargeConfiguration, 600<<10+overhead))
	set(changed.Object, "status.dataSecretName", "a")
	expect.Fine(t, api.Status().Update(t.Context(), changed))

	deleted := stored(t, "stored-deleted")
	expect.OK(t, api.Delete(t.Context(), deleted))
	deleted = stored(t, "stored-deleted")
	deleted.SetFinalizers(nil)
	expect.OK(t, api.Update(t.Context(), deleted))
	expect.OK(t, client.IgnoreNotFound(api.Get(t.Context(), client.ObjectKeyFromObject(deleted), deleted)))
}
