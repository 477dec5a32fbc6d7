package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// downloadLimit keeps a machine behind a firewall from waiting long for what it will have to build anyway.
const downloadLimit = 20 * time.Second

// download asks setup-envtest for what it has ready-made. It is tried once for all programs; that it cannot is not an
// error: they are built instead.
func (s store) download(ctx context.Context) error {
	if !s.lacksDownloadable() {
		return nil
	}
	version, err := s.tools.version(kubernetesModule)
	if err != nil {
		return err
	}
	s.say("downloading etcd, kube-apiserver and kubectl %s (at most %s)", version, downloadLimit)
	dir, err := s.setupEnvtest(ctx, version)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.say("  not possible here, building them: %v", err)
		return nil
	}
	return s.take(dir)
}

func (s store) lacksDownloadable() bool {
	for _, p := range programs {
		if p.envtest && !s.has(p.name) {
			return true
		}
	}
	return false
}

// setupEnvtest returns the folder in which setup-envtest left the programs.
func (s store) setupEnvtest(ctx context.Context, version string) (string, error) {
	tool := s.part("setup-envtest")
	defer func() { _ = os.Remove(tool) }()
	if err := s.goBuild(ctx, envtestModule, ldflags(envtestModule, ""), tool); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, downloadLimit)
	defer cancel()
	target := filepath.Join(s.Dir, "envtest")
	out, err := run(command(ctx, tool, "use", strings.TrimPrefix(version, "v"), "--print=path", "--bin-dir="+target))
	return strings.TrimSpace(string(out)), err
}

func (s store) take(dir string) error {
	for _, p := range programs {
		if !p.envtest || s.has(p.name) {
			continue
		}
		// A link, since setup-envtest makes its folders read-only.
		if err := os.Link(filepath.Join(dir, p.name), s.Path(p.name)); err != nil {
			return fmt.Errorf("take downloaded %s: %w", p.name, err)
		}
		s.say("downloaded %s", p.name)
	}
	return nil
}
