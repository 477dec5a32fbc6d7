package main

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestParameters: the provenance has what was left out, and nothing of a release that left nothing out.
func TestParameters(t *testing.T) {
	made := release{version: "v1.2.3", image: "example.com/manager"}
	want := map[string]string{"version": "v1.2.3", "image": "example.com/manager"}
	expect.Same(t, "parameters", want, made.parameters())
	made.vulncheck, want["vulncheck"] = "left-out", "left-out"
	expect.Same(t, "parameters without the check", want, made.parameters())
}
