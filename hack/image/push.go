package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// push copies the image of a layout, with all its platforms, to a registry, and checks that the registry has it under its digest.
// What the registry already has is not sent again.
func push(ctx context.Context, out, image string) error {
	to, err := name.ParseReference(image, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("read name of the image: %w; write it like registry.example.com/capwin/manager:v0.1.0", err)
	}
	platforms, digest, err := built(filepath.Join(out, "image"))
	if err != nil {
		return fmt.Errorf("read image: %w; run `make image` first", err)
	}
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(encrypted{remote.DefaultTransport}),
	}
	if err := remote.WriteIndex(to, platforms, options...); err != nil {
		return explain(to, err)
	}
	stored, err := remote.Head(to, options...)
	if err != nil {
		return explain(to, err)
	}
	if stored.Digest != digest {
		return fmt.Errorf("%s has the digest %s, not %s that was pushed: find out who else pushes this tag", to, stored.Digest, digest)
	}
	fmt.Printf("pushed %s@%s\n", to, digest)
	return nil
}

// built reads the only image of a layout, and checks every blob of it: a file may have changed since it was written.
func built(folder string) (v1.ImageIndex, v1.Hash, error) {
	all, err := ocilayout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, v1.Hash{}, err
	}
	entries, err := all.IndexManifest()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	if len(entries.Manifests) != 1 {
		return nil, v1.Hash{}, fmt.Errorf("%s has %d images, want 1", folder, len(entries.Manifests))
	}
	digest := entries.Manifests[0].Digest
	platforms, err := all.ImageIndex(digest)
	if err != nil {
		return nil, v1.Hash{}, err
	}
	return platforms, digest, validate.Index(platforms)
}

// explain says in words what a registry means by refusing a login.
func explain(reference name.Reference, err error) error {
	registry := reference.Context().RegistryStr()
	refused, ok := errors.AsType[*transport.Error](err)
	if ok && (refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("push %s: the registry refuses the login (HTTP %d): run `docker login %s`, or correct the login in "+
			"~/.docker/config.json or $DOCKER_CONFIG/config.json; the user needs the right to push to this repository",
			reference, refused.StatusCode, registry)
	}
	return fmt.Errorf("push %s: %w", reference, err)
}

// encrypted sends nothing without TLS, except to this machine: a login must not cross a network in clear text.
type encrypted struct{ http.RoundTripper }

// RoundTrip sends a request.
func (e encrypted) RoundTrip(request *http.Request) (*http.Response, error) {
	if host := request.URL.Hostname(); request.URL.Scheme != "https" && !loopback(host) {
		return nil, fmt.Errorf("registry %s does not answer over https; plain http is used on loopback addresses only", host)
	}
	return e.RoundTripper.RoundTrip(request)
}

func loopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}
