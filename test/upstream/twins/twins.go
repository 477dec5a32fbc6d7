// Package twins holds the two interpreters of plans against each other: the scripts that nodes run (bootstrap/scripts, by a
// PowerShell, in the stand-ins of test/upstream/powershell) and the one of the lab (test/sim/agent, on its simulated Windows). It
// makes plans and worlds that docs/plan.md allows, has both carry out each, and compares what becomes of the machine.
package twins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// tree is an object of JSON. Its leaves are strings, bools, numbers as json.Number, lists as []any and other trees.
type tree = map[string]any

// Case is one plan in one world, in the form of the vectors.
type Case struct {
	Seed   uint64
	Number int
	// Culture of the thread in which the PowerShell runs; the lab has none.
	Culture string
	World   tree
	Plan    tree
}

// check says why docs/plan.md does not allow a plan.
func check(p tree) error {
	decoded, err := plan.Decode([]byte(encode(p)))
	if err != nil {
		return err
	}
	return decoded.Validate()
}

func allowed(p tree) bool { return check(p) == nil }

// vector is the case as test/sim/agent/vectors reads it.
func (c *Case) vector() []byte {
	return []byte(encode(tree{"name": fmt.Sprintf("twins-%d-%d", c.Seed, c.Number), "world": c.World, "plan": c.Plan}))
}

// nodeVector is the case as test/upstream/powershell/world.ps1 reads it: the plan is a text with the real paths below base, so
// that nothing but the node's own script reads its numbers and its texts.
func (c *Case) nodeVector(base string) []byte {
	return []byte(encode(tree{"world": c.World, "planText": encode(realTree(c.Plan, base, false))}))
}

// pathFields hold paths of files, in a plan.
var pathFields = map[string]bool{
	"path": true, "paths": true, "patterns": true, "erase": true, "creates": true, "logins": true,
}

func realTree(node any, base string, isPath bool) any {
	switch node := node.(type) {
	case tree:
		made := tree{}
		for name, child := range node {
			made[name] = realTree(child, base, pathFields[name] || name == "target" && node["for"] == "file")
		}
		return made
	case []any:
		made := make([]any, 0, len(node))
		for _, child := range node {
			made = append(made, realTree(child, base, isPath))
		}
		return made
	case string:
		if isPath {
			return strings.ReplaceAll(strings.Replace(node, `C:\`, base+"/C/", 1), `\`, "/")
		}
	}
	return node
}

func encode(node any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(node); err != nil {
		panic(fmt.Sprintf("a tree of JSON that cannot be written: %v", err))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// decode keeps numbers as they are written.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var node any
	err := decoder.Decode(&node)
	return node, err
}

func clone(node any) any {
	switch node := node.(type) {
	case tree:
		made := make(tree, len(node))
		for name, child := range node {
			made[name] = clone(child)
		}
		return made
	case []any:
		made := make([]any, 0, len(node))
		for _, child := range node {
			made = append(made, clone(child))
		}
		return made
	}
	return node
}
