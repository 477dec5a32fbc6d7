package world

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// Variable names the environment variable of the folder of a host, whose servers are used instead of own ones.
const Variable = "CAPWIN_WORLD"

// offer is what a host answers to a process that wants to use its servers.
type offer struct {
	servers.Shared

	// Number is that of the process among those that have asked.
	Number int
	// Components is the digest of our components, as they are in the host's cluster.
	Components string
}

// open joins the world of the host, if there is one and it has what this tree has, or else starts one.
func open(ctx context.Context, dir string) (*World, error) {
	folder := os.Getenv(Variable)
	if folder == "" {
		return start(newest)(ctx, dir)
	}
	name, made, err := ask(ctx, folder, "world")
	if err != nil {
		return nil, err
	}
	components, err := servers.ComponentsDigest()
	if err != nil {
		return nil, err
	}
	if components != made.Components {
		fmt.Fprintf(os.Stderr, "the world of %s=%s has other components than this tree: one of its own is started\n", Variable, folder)
		return start(newest)(ctx, dir)
	}
	management, err := join(ctx, folder, filepath.Join(dir, "management"), name, made)
	if err != nil {
		return nil, err
	}
	w := newWorld(management, dir, strconv.Itoa(made.Number))
	if err := w.enter(ctx); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

// Bare is an API server behind which nothing runs: the host's, or one of its own. Who stops it stops no host's.
func Bare(ctx context.Context, dir string) (*servers.Management, error) {
	if folder := os.Getenv(Variable); folder != "" {
		name, made, err := ask(ctx, folder, "bare")
		if err != nil {
			return nil, err
		}
		return join(ctx, folder, dir, name, made)
	}
	return startBare(ctx, dir)
}

func startBare(ctx context.Context, dir string) (*servers.Management, error) {
	binaries, err := servers.Ensure(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	return servers.StartManagement(ctx, servers.ManagementOptions{Binaries: binaries, Dir: dir, ControllersLater: true})
}

func join(ctx context.Context, folder, dir, name string, made offer) (*servers.Management, error) {
	binaries, err := servers.Ensure(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	return servers.JoinManagement(binaries, dir, made.Shared, servers.Guest{
		Agent: agentOf(name, made.Number),
		Ask:   func(ctx context.Context, part string) error { return post(ctx, folder, "part", part, nil) },
	})
}

func agentOf(name string, number int) string { return fmt.Sprintf("test-%s-%d", name, number) }

// ask has the host start a server, if it has not, and returns under which name this process is known there.
func ask(ctx context.Context, folder, path string) (name string, made offer, err error) {
	at, err := os.Getwd() // the folder of the package
	if err != nil {
		return "", made, err
	}
	name = filepath.Base(at)
	return name, made, post(ctx, folder, path, name, &made)
}

// post asks the host of a folder for something, and reads its answer.
func post(ctx context.Context, folder, path, name string, into any) error {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socketIn(folder))
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://host/"+path+"?name="+url.QueryEscape(name), http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the host of %s=%s for its servers: %w; without the variable, own ones are started",
			Variable, folder, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of the host: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(string(bytes.TrimSpace(text)))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func socketIn(folder string) string { return filepath.Join(folder, "socket") }
