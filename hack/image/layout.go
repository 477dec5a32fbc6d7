package main

import (
	"archive/tar"
	"bytes"
	"io"
	"maps"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// programPath is where the Deployment expects the manager.
const programPath = "/manager"

// user is the one of the Deployment, for those who run the image without it.
const user = "65532:65532"

// imageOf is an image of a program alone. It does not say when it was made: that would make other bytes each time.
func imageOf(p v1.Platform, program []byte, annotations map[string]string) (v1.Image, error) {
	files, err := archive(program)
	if err != nil {
		return nil, err
	}
	read := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }
	layer, err := tarball.LayerFromOpener(read, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(base, &v1.ConfigFile{
		OS: p.OS, Architecture: p.Architecture, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{User: user, Entrypoint: []string{programPath}, WorkingDir: "/", Labels: annotations},
	})
	if err != nil {
		return nil, err
	}
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer}); err != nil {
		return nil, err
	}
	image, _ = mutate.Annotations(image, maps.Clone(annotations)).(v1.Image) // it gives back what it got
	return image, nil
}

// writeLayout writes a folder as the image specification describes it, with one image of all platforms, and returns its digest.
func writeLayout(dir string, images []mutate.IndexAddendum, version string, annotations map[string]string) (v1.Hash, error) {
	all := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), images...)
	all, _ = mutate.Annotations(all, maps.Clone(annotations)).(v1.ImageIndex) // it gives back what it got
	if err := os.RemoveAll(dir); err != nil {                                 // blobs of an earlier build would stay
		return v1.Hash{}, err
	}
	layout, err := ocilayout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	named := ocilayout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})
	if err := layout.AppendIndex(all, named); err != nil {
		return v1.Hash{}, err
	}
	return all.Digest()
}

// archive is a file system with one program that belongs to root, without a time.
func archive(program []byte) ([]byte, error) {
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: programPath[1:], Mode: 0o755, Size: int64(len(program)), Format: tar.FormatUSTAR,
	}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(program); err != nil {
		return nil, err
	}
	return files.Bytes(), writer.Close()
}
