package twins

import (
	"fmt"
	"os"
	"path/filepath"
)

// Pair carries out cases on both sides. It is for one goroutine.
type Pair struct {
	node *Node
	dir  string
	runs int
}

// NewPair has its machines below dir.
func NewPair(node *Node, dir string) *Pair { return &Pair{node: node, dir: dir} }

// Verdict is what came of one case.
type Verdict struct {
	Case      *Case
	Lab, Node Outcome
	// New are differences that are not known, Known the names of those that are.
	New   []Difference
	Known []string
}

// Run carries out a case and compares.
func (p *Pair) Run(c *Case) (*Verdict, error) {
	p.runs++
	dir := filepath.Join(p.dir, fmt.Sprint(p.runs))
	defer func() { _ = os.RemoveAll(dir) }()
	for _, side := range []string{"lab", "node"} {
		if err := os.MkdirAll(filepath.Join(dir, side), 0o700); err != nil {
			return nil, err
		}
	}
	v := &Verdict{Case: c}
	var err error
	if v.Lab, err = Lab(c, filepath.Join(dir, "lab")); err != nil {
		return nil, fmt.Errorf("seed %d, plan %d, in the lab: %w", c.Seed, c.Number, err)
	}
	if v.Node, err = p.node.Run(c, filepath.Join(dir, "node")); err != nil {
		return nil, fmt.Errorf("seed %d, plan %d: %w", c.Seed, c.Number, err)
	}
	v.judge(filepath.Join(dir, "node", "m"))
	return v, nil
}

// judge tells differences that are known from others.
func (v *Verdict) judge(base string) {
	for _, d := range differences(v.Lab, v.Node, base) {
		if name := knownAs(d, v); name != "" {
			v.Known = append(v.Known, name)
		} else {
			v.New = append(v.New, d)
		}
	}
}

// String is what a person needs to see a difference again.
func (v *Verdict) String() string {
	shown := fmt.Sprintf("seed %d, plan %d, %d differences; the first: %v", v.Case.Seed, v.Case.Number, len(v.New), v.New[0])
	return fmt.Sprintf("%s\n  plan: %s\n  world: %s\n  culture: %q", shown, encode(v.Case.Plan), encode(v.Case.World),
		v.Case.Culture)
}
