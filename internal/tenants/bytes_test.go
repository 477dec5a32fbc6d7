package tenants

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestSwap: a namespace has 32 MiB, or more where its clusters are lifted, and what does not fit counts nothing.
func TestSwap(t *testing.T) {
	const most = 32 << 20
	b := &Bytes{Limits: Limits{"large": {Clusters: 640}}}
	expect.Same(t, "all of it", true, b.Swap("a", 0, most))
	expect.Same(t, "a byte more", false, b.Swap("a", 0, 1))
	expect.Same(t, "a byte before another goes", true, b.Take("a", 1, 1))
	b.Give("a", 1)
	expect.Same(t, "bytes", most, b.Kept("a"))
	expect.Same(t, "as much as before", true, b.Swap("a", most, most))
	expect.Same(t, "another namespace", true, b.Swap("b", 0, 1))
	expect.Same(t, "more than before", false, b.Swap("a", 10, 11))
	expect.Same(t, "bytes without what has gone", most-10, b.kept["a"])
	expect.Same(t, "what was given back", true, b.Swap("a", most-10, 0) && b.Swap("b", 1, 0))
	expect.Same(t, "namespaces that are kept", 0, len(b.kept))
	expect.Same(t, "a namespace with more clusters", true, b.Swap("large", 0, 10*most))
	expect.Same(t, "without a count", true, (*Bytes)(nil).Swap("a", 0, 2*most))
}

// TestSizeOf: a value takes what it refers to, however deep that is.
func TestSizeOf(t *testing.T) {
	type pair struct {
		name string
		next *pair
	}
	for what, c := range map[string]struct {
		value any
		want  int
	}{
		"nothing": {nil, 0}, "a number": {1, 0}, "a text": {"abc", 3}, "no pointer": {(*pair)(nil), 0},
		"texts": {[]string{"a", "bc"}, 2*16 + 3}, "room in a list": {make([]int64, 0, 4), 4 * 8},
		"a pair": {pair{name: "a"}, 1}, "two": {pair{"a", &pair{name: "bc"}}, 1 + 24 + 2},
		"a table": {map[string]int64{"abc": 1}, 2*(16+8) + 3}, "any": {[]any{"abc"}, 16 + 16 + 3},
	} {
		expect.Same(t, what, c.want, SizeOf(c.value))
	}
}
