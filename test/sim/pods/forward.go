package pods

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // because k8s.io/streaming would be one more dependency
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // because k8s.io/streaming would be one more dependency
)

const portForwardProtocol = "portforward.k8s.io"

// forward leads connections of a client to ports of a pod (kubernetes v1.36.3, pkg/kubelet/server/server.go, getPortForward).
// Each connection is two streams with the same request ID: one has its data, the other one why it failed.
func (p *Port) forward(w http.ResponseWriter, r *http.Request, k *Kubelet) {
	found := k.find(r.PathValue("namespace"), r.PathValue("pod"))
	if found == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portForwardProtocol}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	coming := make(chan httpstream.Stream)
	ctx, cancel := context.WithCancel(r.Context())
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, replied <-chan struct{}) error {
		go func() {
			<-replied
			select {
			case coming <- stream:
			case <-ctx.Done():
			}
		}()
		return nil
	})
	if connection == nil {
		cancel()
		return // it was answered
	}
	var open sync.WaitGroup
	defer open.Wait()
	defer func() { _ = connection.Close() }()
	defer cancel()
	pairs := map[string]map[string]httpstream.Stream{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-connection.CloseChan():
			return
		case stream := <-coming:
			id := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
			if pairs[id] == nil {
				pairs[id] = map[string]httpstream.Stream{}
			}
			pairs[id][stream.Headers().Get(corev1.StreamType)] = stream
			data, failed := pairs[id][corev1.StreamTypeData], pairs[id][corev1.StreamTypeError]
			if data != nil && failed != nil {
				delete(pairs, id)
				open.Go(func() { p.lead(ctx, found, data, failed) })
			}
		}
	}
}

// lead copies between the stream of data and the port that it names.
func (p *Port) lead(ctx context.Context, of *life, data, failed httpstream.Stream) {
	defer func() { _, _ = data.Close(), failed.Close() }()
	port := data.Headers().Get(corev1.PortHeader)
	of.mu.Lock()
	address := of.status.address
	of.mu.Unlock()
	connection, err := p.dial(ctx, address, port)
	if err != nil {
		fmt.Fprintf(failed, "error forwarding port %s to pod %s: %v", port, of.pod.Name, err)
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	var copies sync.WaitGroup
	copies.Go(func() {
		_, _ = io.Copy(connection, data)
		_ = connection.Close()
	})
	copies.Go(func() {
		_, _ = io.Copy(data, connection)
		_ = data.Reset()
	})
	copies.Wait()
}

func (p *Port) dial(ctx context.Context, address, port string) (net.Conn, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	at, err := netip.ParseAddr(address)
	if err != nil {
		return nil, err
	}
	return p.Cluster.Reach(ctx, netip.AddrPortFrom(at, uint16(number)))
}
