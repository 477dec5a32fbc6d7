package smoke

import (
	"strconv"
	"strings"
)

// cause is what was wrong, as far as the words show it.
type cause string

const (
	unscheduled     cause = "unscheduled"
	cordoned        cause = "cordoned"
	tainted         cause = "tainted"
	full            cause = "full"
	pullPlatform    cause = "pull: no build"
	pullAbsent      cause = "pull: absent"
	pullDenied      cause = "pull: denied"
	pullUntrusted   cause = "pull: untrusted"
	pullUnreachable cause = "pull: unreachable"
	pullOther       cause = "pull"
	noSandbox       cause = "sandbox"
	noPauseImage    cause = "pause image"
	noSubnet        cause = "subnet.env"
	noPlugin        cause = "plug-in"
	wrongBuild      cause = "wrong build"
	notCreated      cause = "not created"
	refusedByServer cause = "refused by the API server"
	removed         cause = "removed"
	ended           cause = "ended"
	slow            cause = "slow"

	timedOut  cause = "timed out"
	refused   cause = "refused"
	noName    cause = "no such name"
	noRoute   cause = "no route"
	noProgram cause = "no program"
	crashed   cause = "crashed"

	unsigned   cause = "kubelet without a certificate"
	unreached  cause = "kubelet not reached"
	unanswered cause = "kubelet does not do it"
)

// mark is a part of a message that identifies a cause. There are no codes: messages of containerd, Windows and agnhost reach the
// API as text. The first mark that fits counts; an empty one always fits.
type mark struct {
	text  string
	cause cause
}

var (
	// scheduling are parts of the scheduler's words (kubernetes v1.36.3, pkg/scheduler/framework/plugins).
	scheduling = []mark{
		{"were unschedulable", cordoned},
		{"untolerated taint", tainted},
		{"Too many pods", full},
		{"Insufficient ", full},
		{"", unscheduled},
	}
	// pulls are parts of containerd's words when it pulls an image.
	pulls = []mark{
		{"no match for platform", pullPlatform},
		{"no matching manifest", pullPlatform},
		{"401 Unauthorized", pullDenied},
		{"403 Forbidden", pullDenied},
		{"access denied", pullDenied},
		{"insufficient_scope", pullDenied},
		{"authorization failed", pullDenied},
		{"x509:", pullUntrusted},
		{"dial tcp", pullUnreachable},
		{"no such host", pullUnreachable},
		{"i/o timeout", pullUnreachable},
		{"deadline exceeded", pullUnreachable},
		{"connection refused", pullUnreachable},
		{"actively refused", pullUnreachable},
		{": not found", pullAbsent},
		{"InvalidImageName", pullAbsent},
		{"couldn't parse image", pullAbsent},
		{"", pullOther},
	}
	// sandboxes are parts of the words of kubelet, containerd and CNI plug-ins when a pod gets no network.
	sandboxes = []mark{
		{"subnet.env", noSubnet},
		{"failed to find plugin", noPlugin},
		{"failed to get sandbox image", noPauseImage},
		{"failed to pull image", noPauseImage},
		{"0xc0370101", wrongBuild},
		{"0xc0370106", wrongBuild},
		{"does not match the operating system of the host", wrongBuild},
		{"", noSandbox},
	}
	// creations are parts of containerd's words when a container does not start. 0xc0370101 is Windows' word for a container of
	// another build than the host's, 0xc0370106 for a host without the updates of the image.
	creations = []mark{
		{"failed to find executable", noProgram},
		{"0xc0370101", wrongBuild},
		{"0xc0370106", wrongBuild},
		{"does not match the operating system of the host", wrongBuild},
		{"", notCreated},
	}
	// programs are messages of agnhost (kubernetes v1.36.3, test/images/agnhost/connect/connect.go), of curl, and of cmd. On Windows
	// agnhost prints OTHER where it prints REFUSED on Linux, because Windows' error has another number, WSAECONNREFUSED.
	programs = []mark{
		{"TIMEOUT", timedOut},
		{"REFUSED", refused},
		{"DNS:", noName},
		{"actively refused", refused},
		{"connection refused", refused},
		{"did not properly respond", timedOut},
		{"i/o timeout", timedOut},
		{"unreachable", noRoute},
		{"no route to host", noRoute},
		{"is not recognized as an internal or external command", noProgram},
		{"failed to find executable", noProgram},
		{"curl: (6)", noName},
		{"curl: (7)", refused},
		{"curl: (28)", timedOut},
		{"", crashed},
	}
	// answers are parts of the words of the API server when a kubelet does not give it what it asks for.
	answers = []mark{
		{"tls: internal error", unsigned}, // the alert of a kubelet whose request for a certificate nobody has approved
		{"dial", unreached},
		{"no answer within", unreached},
		{"i/o timeout", unreached},
		{"connection refused", unreached},
		{"EOF", unreached},
		{"connection reset", unreached},
		{"error trying to reach service", unreached},
		{"", unanswered},
	}
	// stages are the kubelet's reasons for a container that waits, and where its words come from.
	stages = map[string][]mark{
		"ErrImagePull": pulls, "ImagePullBackOff": pulls, "InvalidImageName": pulls, "RegistryUnavailable": pulls,
		"ImageInspectError": pulls, "ErrImageNeverPull": pulls,
		"CreateContainerError": creations, "CreateContainerConfigError": creations, "RunContainerError": creations,
	}
)

// curlCodes are the exit codes of curl that are more precise than its messages: the name, the connection, the time.
var curlCodes = map[int32]cause{6: noName, 7: refused, 28: timedOut}

// final are causes that no waiting mends.
var final = map[cause]bool{pullPlatform: true, pullAbsent: true, pullDenied: true, pullUntrusted: true, wrongBuild: true}

func causeOf(table []mark, words string) cause {
	for _, entry := range table {
		if strings.Contains(words, entry.text) {
			return entry.cause
		}
	}
	return ""
}

// helps are sentences on what keeps a pod from running. Those on connections are in connections.go.
var helps = map[cause]string{
	unscheduled: "kubectl describe pod shows the same while the pod exists",
	cordoned:    "the node was cordoned after this began: kubectl uncordon it",
	tainted: "pods of this command tolerate os=windows:NoSchedule alone; a taint uninitialized is taken away by Cluster API or by " +
		"the cloud controller manager, see kubectl describe node",
	full: "the nodes have no room: remove pods, or take another Windows Node with --node NAME",
	pullPlatform: "this image has no build for this Windows: take another --tag, or copy the image with all of its platforms " +
		"into the registry (crane copy does); docs/windows-nodes.md, \"Host and image must match\", lists which builds run",
	pullAbsent: "this image does not exist: set --registry and --tag",
	pullDenied: "the registry requires a login: let the nodes' containerd log in, or take another --registry",
	pullUntrusted: "the node does not trust the registry's certificate: give containerd its CA (docs/bootstrap.md, " +
		"\"containerd\"), or take another --registry",
	pullUnreachable: "the node does not reach the registry: take a --registry that it reaches, or give containerd its proxy or " +
		"a mirror (docs/bootstrap.md, \"containerd\")",
	pullOther: "try the image with crictl pull on the node; --registry and --tag set it",
	noSandbox: "the CNI does not give the pod a network: read the log of its pod or service on this node; docs/networks.md, " +
		"\"What you apply\", lists what your CNI needs",
	noPauseImage: "containerd has no pause image for this Windows: set containerd.pauseImage (docs/bootstrap.md, \"containerd\")",
	noSubnet:     "flanneld does not run on this node: it writes C:\\run\\flannel\\subnet.env; read C:\\var\\log\\flanneld",
	noPlugin:     "a program of the CNI is missing in C:\\opt\\cni\\bin: docs/networks.md lists them by CNI",
	wrongBuild: "the image's Windows is not the node's, or is newer: docs/windows-nodes.md, \"Host and image must match\"; " +
		"update the node, or take another --tag",
	notCreated: "containerd's log on the node has more",
	refusedByServer: "a policy or a quota of the cluster keeps pods of this command out: make an exception for namespaces " +
		namePrefix + "*",
	removed:   "run this again, and see what deletes pods in new namespaces",
	ended:     "kubectl describe node shows whether it lacks memory or disk",
	slow:      "give it longer with --timeout, or see what the node does: the first image of Windows takes minutes",
	noProgram: "the image or the node lacks the program",
	crashed:   "the program of the image ends by itself: take another --tag",
	unsigned: "the kubelet has no certificate for its port: kubectl get csr shows its request to kubernetes.io/kubelet-serving, " +
		"and kubectl certificate approve NAME, or an approver in the cluster, grants it (docs/bootstrap.md, \"kubelet\")",
	unreached: "the API server must reach TCP 10250 of the node: see Windows' firewall, security groups, and whether the Node's " +
		"address is still the node's own (docs/windows-nodes.md, \"Network\")",
	unanswered: "the kubelet answers, but does not carry it out: its log, C:\\var\\log\\kubelet on the node, has the cause",
}

func decimal(n int32) string { return strconv.Itoa(int(n)) }
