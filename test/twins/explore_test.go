package twins

import (
	"fmt"
	"regexp"
	"sort"
	"testing"
)

var index = regexp.MustCompile(`\[\d+\]`)

func TestExplore(t *testing.T) {
	count := number(t, "TWINS", 0)
	if count == 0 {
		t.Skip()
	}
	seed := uint64(number(t, "SEED", 1))
	node, err := StartNode(PowerShell(), repository(t))
	if err != nil {
		t.Fatal(err)
	}
	p := NewPair(node, t.TempDir())
	by := map[string][]string{}
	from, to := 0, count
	if *dump >= 0 {
		from, to = *dump, *dump+1
	}
	bad := 0
	for n := from; n < to; n++ {
		v, err := p.Run(Generate(seed, n))
		if err != nil {
			t.Fatal(err)
		}
		if *dump >= 0 {
			fmt.Println(encode(v.Case.World), "\n", encode(v.Case.Plan), "\nLAB\n", v.Lab, "\nNODE\n", v.Node)
			for _, d := range v.New {
				fmt.Println(d)
			}
		}
		if len(v.New) > 0 {
			bad++
			if len(by[index.ReplaceAllString(v.New[0].Where, "[]")]) < 3 {
				if v, err = p.Shrink(v, 150); err != nil {
					t.Fatal(err)
				}
			}
			d := v.New[0]
			key := index.ReplaceAllString(d.Where, "[]")
			by[key] = append(by[key], fmt.Sprintf("%d %s\n  %s | %s %s", n, d, encode(v.Case.Plan), encode(v.Case.World), v.Case.Culture))
		}
	}
	keys := make([]string, 0)
	for k := range by {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return len(by[keys[i]]) > len(by[keys[j]]) })
	fmt.Println(bad, "of", to-from, "differ")
	for _, k := range keys {
		fmt.Println("=====", k, len(by[k]))
		for i, x := range by[k] {
			if i < 12 {
				fmt.Println(x)
			}
		}
	}
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
}
