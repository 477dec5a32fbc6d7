package pods

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // because k8s.io/streaming would be one more dependency
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // because k8s.io/streaming would be one more dependency
	"k8s.io/apimachinery/pkg/util/remotecommand"
)

// exec runs a command in a running container, by SPDY: API servers of 1.36 and 1.37 speak that to each kubelet which does not
// declare another protocol, whatever their own clients speak (kubernetes v1.36.3, pkg/registry/core/pod/rest/subresources.go).
func (p *Port) exec(w http.ResponseWriter, r *http.Request, k *Kubelet) {
	name, container := r.PathValue("pod"), r.PathValue("container")
	if p.Cluster.Faults(k.Node, name).ExecRefused {
		disabled(w)
		return
	}
	found := k.find(r.PathValue("namespace"), name)
	if found == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	spec := found.runs(container)
	if spec == nil {
		http.Error(w, fmt.Sprintf("container not found (%q)", container), http.StatusInternalServerError)
		return
	}
	wanted := map[string]bool{corev1.StreamTypeError: true}
	for parameter, kind := range map[string]string{
		corev1.ExecStdinParam: corev1.StreamTypeStdin, corev1.ExecStdoutParam: corev1.StreamTypeStdout,
		corev1.ExecStderrParam: corev1.StreamTypeStderr, corev1.ExecTTYParam: corev1.StreamTypeResize,
	} {
		if on := r.URL.Query().Get(parameter); on == "1" || on == "true" {
			wanted[kind] = true
		}
	}
	session, err := openStreams(w, r, wanted)
	if err != nil {
		return // it was answered
	}
	defer func() { _ = session.connection.Close() }()
	process := &Process{
		Pod: found.pod, Container: spec, Address: found.address, Command: r.URL.Query()[corev1.ExecCommandParam],
		Stdout: session.writer(corev1.StreamTypeStdout), Stderr: session.writer(corev1.StreamTypeStderr), Started: func() {},
	}
	session.end(r.Context(), k.Runtime.Run(r.Context(), process))
}

// runs is the container of that name, if it runs.
func (l *life) runs(name string) *corev1.Container {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.pod.Spec.Containers {
		c := &l.pod.Spec.Containers[i]
		if c.Name == name && l.status.containers[name].State.Running != nil {
			return c
		}
	}
	return nil
}

// session is the streams of an exec.
type session struct {
	connection httpstream.Connection
	streams    map[string]httpstream.Stream
}

// openStreams waits for the streams that the client makes.
func openStreams(w http.ResponseWriter, r *http.Request, wanted map[string]bool) (*session, error) {
	if _, err := httpstream.Handshake(r, w, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, err
	}
	type made struct {
		stream  httpstream.Stream
		replied <-chan struct{}
	}
	coming := make(chan made, len(wanted))
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, replied <-chan struct{}) error {
		coming <- made{stream, replied}
		return nil
	})
	if connection == nil {
		return nil, errors.New("the connection was not upgraded")
	}
	s := &session{connection: connection, streams: map[string]httpstream.Stream{}}
	limit, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	for len(s.streams) < len(wanted) {
		select {
		case <-limit.Done():
			return nil, errors.Join(limit.Err(), connection.Close())
		case one := <-coming:
			<-one.replied
			s.streams[one.stream.Headers().Get(corev1.StreamType)] = one.stream
		}
	}
	return s, nil
}

func (s *session) writer(kind string) io.Writer {
	if stream := s.streams[kind]; stream != nil {
		return stream
	}
	return io.Discard
}

// end writes the status that the protocol v4.channel.k8s.io has, then ends the streams. It gives the client time to read them: to
// close the connection is to drop what is still on its way.
func (s *session) end(ctx context.Context, err error) {
	status := metav1.Status{Status: metav1.StatusSuccess}
	if code, is := errors.AsType[ExitError](err); is {
		status = metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason,
			Message: fmt.Sprintf("command terminated with non-zero exit code: exit code %d", int(code)),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
				{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(int(code))},
			}},
		}
	} else if err != nil {
		status = apierrors.NewInternalError(fmt.Errorf("error executing command in container: %w", err)).ErrStatus
	}
	text, failed := json.Marshal(status)
	for _, kind := range []string{corev1.StreamTypeStdout, corev1.StreamTypeStderr} {
		if stream := s.streams[kind]; stream != nil {
			failed = errors.Join(failed, stream.Close())
		}
	}
	out := s.streams[corev1.StreamTypeError]
	_, written := out.Write(text)
	if cmp.Or(failed, written, out.Close()) != nil {
		return // the client sees a connection that ends
	}
	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	select {
	case <-limit.Done():
	case <-s.connection.CloseChan():
	}
}
