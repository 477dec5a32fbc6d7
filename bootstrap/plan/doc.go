// Package plan is what a Windows node does to join its cluster, as data: phases of typed, idempotent steps from a closed
// set of kinds. The renderer writes a plan, interpreters (bootstrap/scripts, test/lab) carry it out, people read it.
//
// A plan holds no code. What differs from node to node is a value: a file's content, a registry value, one argument of
// a program. Interpreters know no cloud, no network mode and no version of Kubernetes.
//
// # Values and facts
//
// A value is a string, or a list of parts, each a string or {"fact": name}. Nothing in a string is ever scanned for
// placeholders: what only the node knows stands there as a fact. Where a value is meant, a number stands for its digits.
// In a tree, which is a JSON object of any shape, a leaf {"fact": name} stands for the fact's value.
//
// A step whose values need a fact that is not known fails before it changes anything; in a test (when, check) such a fact
// is the empty text. Texts are compared without regard to case. Versions are compared by their dotted numbers: a leading v and all from the first other
// character on are ignored, missing parts are 0. Facts that steps find are kept over kills, reboots and later starts.
//
// # Sentences
//
// The plan says how the failure of a check, a waitFor or a fact is told: "say" is a value with the measured facts in their
// places, such as
//
//	["the image has kubeadm ", {"fact": "kubeadmVersion"}, ", the Machine wants 1.35"]
//
// Interpreters put in what was measured, without secrets, as one line of printable ASCII of at most 200 characters. A fact
// that is not known, or is blank, is told as "unknown". A report keeps 1000 characters of the whole message, and 300 of a
// warning.
//
// # What becomes of a step
//
// A step whose "when" does not hold is left out. Else it is tried as often as "attempts" says, with a pause in between.
// After the last attempt the bootstrap has failed, or, if the step is optional, has a warning more and goes on.
//
// The reason of a failure is that of the first "diagnose" rule that matches, else the step's "reason", else the default of
// its kind. Only these are the interpreter's own, and final even for an optional step:
//
//   - PlanNotUnderstood: another version, an unknown kind or field, or a missing field; said before anything is changed
//   - BootstrapTimeout: deadlineSeconds are over; no program of a step and no wait may last longer
//   - TooManyReboots: a step wants a reboot more than maxReboots
//   - FactsUnavailable: Windows does not say what machine it is, asked five times
//   - InternalError: a failure without a reason
//
// # State, kills and reboots
//
// Before every attempt and after every phase the state is on the disk. After a kill the step that was at work is made
// again, which is why each kind says what counts as "already so" (paths, addresses and names compared as Windows does,
// without regard to case, contents with it); the attempt that was cut short does not count as failed. Time is counted by
// a clock that nobody sets, whole seconds, while the interpreter is at work: down time does not count.
//
// A step asks for a reboot and then for the next step, or for itself again. The state is written first, then a key that
// only lives until the next start of the machine, then shutdown is called. While the key is there, the reboot has not
// happened and is asked for again, uncounted.
//
// On a disk with the plan and state of another machine (by SMBIOS) nothing is done.
//
// After a success: what erase names goes, the plan is emptied, the sentinel is written, the state says so, the report is
// sent, the task that starts the interpreter is disabled. After a failure: state, logs, erase, empty plan, report, task.
// Each of these may be done twice. The report is tried three times, with 10 seconds in between, for it is the last one.
//
// Logs, reports and the reboot, which come when the steps have stopped, have their own time: a minute for each program,
// also when the deadline has passed.
//
// # At every boot
//
// What comes back at each start of the machine, such as stale networks, belongs into everyBoot. It runs at each later
// start, from its first step, within deadlineSeconds counted anew; the task stays enabled and the emptied plan keeps
// everyBoot, in clear: it must hold no secret. A step that asks for a reboot is a warning, and the next step runs. The
// report gets "boot" beside the result of the bootstrap, which stays as it is; a failure starts nothing, the next start
// tries again. This report, too, is tried three times. A bootstrap that failed has no everyBoot.
package plan
