package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// EtcdOptions say what a member of etcd is, as kubeadm runs one on each machine of a control plane.
type EtcdOptions struct {
	Binaries Binaries
	// Dir is the run folder: its log and its data.
	Dir string
	// Name of the member: that of its Node.
	Name string
	// PKI is a folder like /etc/kubernetes/pki with etcd/ca.crt, etcd/server.crt and etcd/server.key.
	PKI string
	// Of is a member of the cluster to join; nil begins one.
	Of *Etcd
}

// Etcd is a member that runs.
type Etcd struct {
	// URL is for the API server. Address is for those who have a certificate of etcd's authority, as port 2379 of a machine is.
	URL, Address string

	servers *group
}

// StartEtcd starts a member: the first one of a cluster, or as kubeadm joins others, one that learns before it votes.
func StartEtcd(ctx context.Context, opts EtcdOptions) (*Etcd, error) {
	ctx, cancel := wait.Within(ctx, startLimit)
	defer cancel()
	e, err := startEtcd(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("start etcd member %s: %w", opts.Name, err)
	}
	return e, nil
}

func startEtcd(ctx context.Context, opts EtcdOptions) (*Etcd, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	e, peer := &Etcd{URL: "http://" + address(ports[0]), Address: address(ports[1])}, "http://"+address(ports[2])
	if e.servers, err = newGroup(opts.Dir); err != nil {
		return nil, err
	}
	cluster, state, health, id := opts.Name+"="+peer, "new", "/readyz", ""
	if opts.Of != nil {
		state, health = "existing", "/livez" // who learns is not ready
		if id, cluster, err = opts.Of.add(ctx, opts.Name, peer); err != nil {
			return nil, err
		}
	}
	pki := func(name string) string { return filepath.Join(opts.PKI, "etcd", name) }
	err = e.servers.start(ctx, server{
		name: etcdProcess, path: opts.Binaries.Path("etcd"), env: leisurely, ready: answersOK(healthClient, e.URL+health),
		args: []string{
			"--name=" + opts.Name, "--data-dir=" + filepath.Join(opts.Dir, "data"),
			"--listen-client-urls=" + e.URL + ",https://" + e.Address, "--advertise-client-urls=" + e.URL,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + cluster, "--initial-cluster-state=" + state,
			"--cert-file=" + pki("server.crt"), "--key-file=" + pki("server.key"), "--client-cert-auth=true",
			"--trusted-ca-file=" + pki("ca.crt"), "--unsafe-no-fsync", "--log-level=warn",
		},
	})
	if err == nil && opts.Of != nil {
		err = e.promoted(ctx, opts.Of, id)
	}
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// promoted has a member promote this one, which votes once it knows of that itself.
func (e *Etcd) promoted(ctx context.Context, by *Etcd, id string) error {
	if err := wait.Poll(ctx, func(ctx context.Context) error {
		return by.ask(ctx, "member/promote", map[string]any{"ID": id}, nil)
	}); err != nil {
		return err
	}
	return wait.Poll(ctx, func(ctx context.Context) error { // who learns refuses it
		return e.ask(ctx, "member/list", map[string]any{}, nil)
	})
}

// Stop ends the member. It stays one of its cluster, as that of a machine that is switched off. One that was removed from its
// cluster has ended by itself, without an error.
func (e *Etcd) Stop() error {
	if p, err := e.servers.process(etcdProcess); err == nil && p.hasEnded() && p.err == nil {
		return nil
	}
	return e.servers.stop()
}

const etcdProcess = "etcd"

// add makes the cluster wait for a member. It returns its ID and all members, as its own flag wants them.
func (e *Etcd) add(ctx context.Context, name, peer string) (id, cluster string, err error) {
	var answer struct {
		Member  struct{ ID string }
		Members []struct {
			ID, Name string
			PeerURLs []string `json:"peerURLs"`
		}
	}
	err = wait.Poll(ctx, func(ctx context.Context) error { // etcd refuses it while members have not found each other
		return e.ask(ctx, "member/add", map[string]any{"peerURLs": []string{peer}, "isLearner": true}, &answer)
	})
	var all []string
	for _, member := range answer.Members {
		if member.ID == answer.Member.ID {
			member.Name = name // it says that itself once it has started
		}
		for _, url := range member.PeerURLs {
			all = append(all, member.Name+"="+url)
		}
	}
	return answer.Member.ID, strings.Join(all, ","), err
}

// ask calls etcd by the JSON of its gateway.
func (e *Etcd) ask(ctx context.Context, call string, question, answer any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return wait.Final(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+"/v3/cluster/"+call, bytes.NewReader(text))
	if err != nil {
		return wait.Final(err)
	}
	request.Close = true // as in answersOK
	response, err := healthClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if text, err = io.ReadAll(response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask etcd for %s: %s", call, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
