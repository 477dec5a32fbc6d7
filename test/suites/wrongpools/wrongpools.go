// Package wrongpools has pools as people write them wrongly: what is wrong with each, and what its author must be told.
package wrongpools

import (
	_ "embed" // for the good pools
	"fmt"
	"slices"
	"strings"
)

// The clouds of the good pools.
const (
	VSphere = "vsphere"
	Azure   = "azure"
)

// Case is a good pool with one thing wrong.
type Case struct {
	// Pool is its number in the list: a pool may be wrong in several ways.
	Pool int
	// Cloud is that of the good pool.
	Cloud string
	// Old is what stands in the good pool, and New what is there instead.
	Old, New string
	// Path is the field that the sentence must name, There what stands there, and Write what to write.
	Path, There, Write string
}

//go:embed testdata/vsphere.yaml
var onVSphere string

//go:embed testdata/azure.yaml
var onAzure string

// Good returns the pool that is right.
func Good(cloud string) string { return map[string]string{VSphere: onVSphere, Azure: onAzure}[cloud] }

// Text returns the pool with its mistake.
func (c Case) Text() (string, error) {
	text := strings.Replace(Good(c.Cloud), c.Old, c.New, 1)
	if c.Old == "" || !strings.Contains(Good(c.Cloud), c.Old) {
		return "", fmt.Errorf("pool %d: the good pool has no %q", c.Pool, c.Old)
	}
	return text, nil
}

// Missed returns what a sentence lacks of what it must say.
func (c Case) Missed(sentence string) []string {
	var missed []string
	for _, part := range []string{c.Path, c.There, c.Write} {
		if !strings.Contains(sentence, part) {
			missed = append(missed, part)
		}
	}
	return missed
}

// Cases are the pools that are refused: what a first user wrote in his first days, what came after, and what users of other
// providers
// write.
var Cases = slices.Concat(first, second, third)

// Noted are pools that are taken, since what is missing in the files may be in the cluster, or nobody but a cloud or a guest
// refuses
// them: a note says so.
var Noted = slices.Concat(absent, contradicted)
