// Package crd carries the CustomResourceDefinitions that are applied to a management cluster.
package crd

import "embed"

// Bases are the generated files, one for each kind.
//
//go:embed bases/*.yaml
var Bases embed.FS
