package workload

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A server is an https address without a user, a query or a fragment.
func TestGoodServer(t *testing.T) {
	for text, want := range map[string]bool{
		"https://api.example.com:6443": true, "https://10.0.0.1": true, "https://api.example.com/k8s/clusters/c-1": true,
		"http://api.example.com": false, "https://": false, "https://:6443": false, "https:api.example.com": false,
		"https://me@api.example.com": false, "https://api.example.com?a=b": false, "https://api.example.com?": false,
		"https://api.example.com#a": false, "https://api.example.com:port": false, "": false,
	} {
		expect.Same(t, text, want, goodServer(text))
	}
}

// A token has letters, digits and signs of ASCII, and no space.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "!az09.-_~": true, "a b": false, " ": false, "a\n": false, "\x7f": false, "é": false,
	} {
		expect.Same(t, fmt.Sprintf("%q", text), want, printable(text))
	}
}

// Text in one line has what ASCII prints, and spaces for the rest.
func TestPlain(t *testing.T) {
	long := strings.Repeat("y", 300)
	for text, want := range map[string]string{"a ~z": "a ~z", "a\x7fb\x1fc": "a b c", "é": " ", long: long} {
		expect.Same(t, fmt.Sprintf("%q", text), want, plain(text))
	}
}

// A character after a backslash ends no text, and the next one may.
func TestSoundAfterABackslash(t *testing.T) {
	many := strings.Repeat(",{}", maxObjects)
	expect.Same(t, "many objects after a backslash in a text", false, sound([]byte(`[["\\"`+many+`]]`)))
	expect.Same(t, "many objects in a text with a quote", true, sound([]byte(`[["\"`+strings.ReplaceAll(many, `"`, "")+`"]]`)))
}

// certificate has a public key whose modulus has so many bits. Nothing is done with the key.
func certificate(t *testing.T, bits int) []byte {
	t.Helper()
	signer := expect.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	modulus := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	key := &rsa.PublicKey{N: modulus.SetBit(modulus, 0, 1), E: 65537}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der := expect.Got(x509.CreateCertificate(rand.Reader, about, about, key, signer))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// A CA is one certificate or more, and none that takes long to check.
func TestReadCertificates(t *testing.T) {
	good := certificate(t, maxKeyBits)
	curve, _ := aPair(t)
	for name, c := range map[string]struct{ data, want string }{
		"one":           {string(good), ""},
		"two":           {string(good) + string(good), ""},
		"of a curve":    {string(curve), ""},
		"none":          {"", "has no certificate in PEM"},
		"text":          {"text", "has no certificate in PEM"},
		"something":     {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "has something that is not a certificate"},
		"a large key":   {string(certificate(t, maxKeyBits+1)), "has a certificate with a key of more than 8192 bits"},
		"a second that": {string(good) + "-----BEGIN X-----\nAAAA\n-----END X-----\n", "has something that is not a certificate"},
	} {
		roots, err := readCertificates([]byte(c.data))
		expect.Says(t, name, err, c.want)
		expect.Same(t, name+": a CA", c.want == "", roots != nil)
	}
}

// A kubeconfig is read up to its longest, to the byte.
func TestLongestKubeconfig(t *testing.T) {
	const tooLong = "is too long; write a kubeconfig of at most 256 KiB"
	for length, want := range map[int]bool{maxKubeconfig: false, maxKubeconfig + 1: true} {
		_, _, err := current([]byte(strings.Repeat("\n", length)))
		expect.Same(t, fmt.Sprint(length, " bytes are too long"), want, err != nil && strings.Contains(err.Error(), tooLong))
	}
}

// What cannot be reached, or must not be, is told apart from what a cluster answers.
func TestOutOfReach(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"unreachable": {fmt.Errorf("read: %w", &UnreachableError{Why: cannotReach}), true},
		"refused":     {fmt.Errorf("read: %w", &RefusedError{}), true},
		"an answer":   {errors.New("no"), false},
		"nothing":     {nil, false},
	} {
		expect.Same(t, name, c.want, OutOfReach(c.err))
	}
}

// A caller who gives up waits no longer, wherever it waits, and is told so.
func TestWhoGivesUp(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	l, g := newLine(), newGate()
	expect.OK(t, l.enter(t.Context()))
	for range mostOfNamespace {
		expect.OK(t, g.enter(t.Context()))
	}
	for name, enter := range map[string]func(context.Context) error{"line": l.enter, "gate": g.enter} {
		expect.Same(t, name, true, errors.Is(enter(gone), context.Canceled))
	}
	_, err := (&reading[Nodes]{}).await(gone, make(chan struct{}))
	expect.Same(t, "a reading", true, errors.Is(err, context.Canceled))
	synctest.Test(t, func(t *testing.T) {
		n := &reading[Nodes]{reading: make(chan struct{})}
		_, err := n.await(t.Context(), n.reading)
		expect.Same(t, "a reading that takes long is awaited no longer", true, OutOfReach(err))
	})
}

// crowd is a cluster that has so many Nodes.
type crowd struct {
	client.Client
	nodes, asked int
	fails        error
}

// List implements client.Reader.
func (c *crowd) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	c.asked++
	if c.fails != nil {
		return c.fails
	}
	found, _ := list.(*corev1.NodeList)
	for i := range c.nodes {
		node := corev1.Node{}
		node.Name, node.Labels = fmt.Sprint("n", i), map[string]string{ControlPlaneLabel: "", corev1.LabelOSStable: "linux"}
		found.Items = append(found.Items, node)
	}
	return nil
}

// What was read serves all for four seconds.
func TestNodesGetOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, api := &reading[[]corev1.Node]{}, &crowd{nodes: 1}
		for after, want := range []int{1, 1, 1, 1, 2} {
			expect.Got(list(t, n, api))(t)
			expect.Same(t, fmt.Sprint("readings after ", after, " s"), want, api.asked)
			later(time.Second)
		}
	})
}

// More Nodes than were asked for are no answer. What was read of a cluster is forgotten with the connection to it.
func TestNodesOfACrowd(t *testing.T) {
	for count, want := range map[int]bool{mostNodes: false, mostNodes + 1: true} {
		_, err := readControlPlane(t.Context(), &crowd{nodes: count})
		expect.Same(t, fmt.Sprint(count, " Nodes are too many"), want, OutOfReach(err))
	}
	k, api := &cluster{}, &crowd{nodes: 3}
	for range 2 {
		expect.Same(t, "Nodes", 3, len(expect.Got(list(t, &k.nodes, api))(t)))
	}
	expect.Same(t, "readings", 1, api.asked)
	k.nodes.forget()
	api.fails = errors.New("no answer")
	for range 2 {
		_, err := list(t, &k.nodes, api)
		expect.Says(t, "Nodes that cannot be read", err, "no answer")
	}
	expect.Same(t, "readings, of which two failed", 3, api.asked)
	api.asked, api.fails = 1, nil
	expect.Got(list(t, &k.nodes, api))(t)
	api.asked = 1
	k.drop(nil)
	expect.Got(list(t, &k.nodes, api))(t)
	expect.Same(t, "readings after a new connection", 2, api.asked)
}
