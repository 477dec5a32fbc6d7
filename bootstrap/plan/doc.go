// Package plan is what a Windows node does to join its cluster, as data: phases of typed, idempotent steps from a closed
// set of kinds. The renderer writes a plan, interpreters (bootstrap/scripts, test/suites/lab) carry it out, people read it.
//
// A plan holds no code. What differs from node to node is a value: the content of a file, a registry value, an argument of a
// program. Interpreters depend on no cloud, network mode or version of Kubernetes.
//
// # Values and facts
//
// A value is a string, or a list of parts, each a string or {"fact": name}. Strings are never scanned for placeholders: a value
// that only the node has is a fact. Where a value is expected, a whole number of at most 18 digits stands for its digits. In a
// tree, which is a JSON object of any shape, a leaf {"fact": name} stands for the value of the fact. A tree has at most 50
// objects and lists in each other. Its numbers are whole, of at most 28 digits, all of which are kept, or have one to four
// decimals.
//
// A step whose values need an unknown fact fails before it changes anything; a test (when, check) takes an unknown fact for
// the empty text. Facts that steps find are kept over kills, reboots and later starts.
//
// # Names and texts
//
// Names of facts, phases and variables, and those in a tree, are printable ASCII and differ from each other in more than case.
// None is psobject, psbase, psadapted, psextended or pstypenames, in any case: PowerShell has these for itself. A plan with such
// a name in its JSON, with an empty one, or with two in one object that differ only in case, cannot be read: it is
// PlanNotUnderstood, and no channel reports it. No step sets a fact that interpreters set themselves.
//
// Texts are compared without regard to case, and so are paths, addresses and names: character by character, each in the simple
// upper case of Unicode; ı and ſ stay as they are. All characters count, NUL, a soft hyphen or an accent of its own as well.
// Versions are compared by their dotted numbers, of any length: a leading v and everything from the first other character on,
// which may be a line end, are ignored, missing parts are 0.
//
// Kinds, fields and words such as "running" are written as here. A plan that has them in another case, or a value of another
// type, is not one of this language, though the node may carry it out.
//
// # Patterns and expressions
//
// In a pattern of files, and in a name of hnsCleanup, * stands for any text and ? for one character (of UTF-16). All other
// characters stand for themselves, brackets and backquotes as well, without regard to case.
//
// A regular expression (match) is printable ASCII, and finds its text anywhere, without regard to case. It may have:
//
//   - characters, of which \ . + * ? ( ) | [ ] { } ^ $ stand behind a backslash; / and - may, too
//   - . for any character but a line feed, \n, \r, \t
//   - \d for 0 to 9, \s for a blank, tab, vertical tab, form feed, line feed or carriage return, \D and \S for all others
//   - [...] and [^...] of these, of ranges of letters or digits such as a-f, and of a minus at the begin or end
//   - ( ) and |
//   - * + ? {2} {2,} {2,3}, each also with a ? behind it, of what cannot be empty
//   - ^ for the begin and \z for the end of the text, which is behind the last line end
//
// All others mean something else to Go or .NET, and Validate refuses them. .NET matches with the options ECMAScript, IgnoreCase
// and CultureInvariant: the sign of Kelvin is a k, and no other letter beyond ASCII is the same as one of ASCII; what lies
// beyond the first plane of Unicode counts as two characters. A group that takes no part in a match is empty. An expression that
// has not matched within 10 s does not match.
//
// # Sentences
//
// The plan has the sentence for the failure of a check, a waitFor or a fact: "say" is a value with the measured facts in their
// places, such as
//
//	["the image has kubeadm ", {"fact": "kubeadmVersion"}, ", the Machine needs 1.35"]
//
// Interpreters fill in what was measured, without secrets, as one line of printable ASCII of at most 200 characters. A fact
// that is unknown or blank is shown as "unknown". A sentence does not begin with a blank. A report keeps 1000 characters of the
// whole message, 300 of a warning, 100 of the name of a phase or step, 63 of a reason and 64 of a fact, in printable ASCII.
//
// # What becomes of a step
//
// A step whose "when" does not hold is skipped. Any other step is tried as often as "attempts" says, with a pause between
// two attempts. When the last attempt fails, an optional step adds a warning and the next step runs; any other step ends
// the bootstrap.
//
// The reason of a failure is that of the first "diagnose" rule that matches, else the step's "reason", else the default of
// its kind. Interpreters themselves give these reasons, which end the bootstrap even when the step is optional:
//
//   - PlanNotUnderstood: the plan has another version, an unknown kind or field, or lacks a field; nothing was changed yet
//   - BootstrapTimeout: deadlineSeconds have passed, which bound every program of a step and every wait
//   - TooManyReboots: a step asks for more reboots than maxReboots allows
//   - FactsUnavailable: Windows did not provide the facts of the machine in five attempts
//   - RebootFailed: a step asks for a reboot, and Windows does not restart
//   - InternalError: a failure without a reason
//
// One more reason of theirs is the step's failure, which attempts and "optional" apply to:
//
//   - StepHung: Windows has not answered. Kinds that call Windows inside of the interpreter do so on a thread of their own. A
//     minute after timeoutSeconds it is left behind, for nothing can end such a call, and the interpreter goes on. The other
//     kinds run programs, which are ended, or touch only files and the registry.
//
// # State, kills and reboots
//
// The state is on the disk before every attempt and after every phase. After a kill the interrupted step is made again, which is
// why each kind defines what counts as "already so" (paths, addresses and names are compared without regard to case, as Windows
// does, contents with it; lists by their number and one by one). The interrupted attempt does not count as failed. Time is
// counted in whole seconds, while the interpreter runs, by a clock that nothing can set: down time does not count.
//
// A step may ask for a reboot and then for the next step, or for itself again. The interpreter writes the state, then a key
// that lives until the next start of the machine, then it calls shutdown. While the key is there, the reboot has not
// happened; it is asked for again and not counted again.
//
// Where the disk holds the plan and state of another machine (by SMBIOS), the interpreter does nothing.
//
// After a success: delete what erase names, empty the plan, write the sentinel, write the state, send the report, disable
// the task that starts the interpreter. After a failure: write the state, collect the logs, delete what erase names, empty
// the plan, send the report, disable the task. Each of these may be done twice. This report is the last one, so it is tried
// three times, with 10 seconds in between.
//
// A later start after the end, which happens if the task could not be disabled, sends the report again and disables the task. It
// does not ask Windows for the facts of the machine: the report has those of the last one.
//
// Logs, reports and the reboot come after the steps and are not bound by the deadline: each of their programs has a minute.
//
// # At every boot
//
// What has to be done at each start of the machine, such as the removal of stale networks, belongs in everyBoot. It runs at each
// later start, from its first step, with deadlineSeconds of its own. The task stays enabled, and the emptied plan keeps everyBoot
// in clear: it must hold no secret. A step that asks for a reboot adds a warning, and the next step runs. The report gets "boot"
// beside the result of the bootstrap, which does not change. After a failure, or when the deadline has passed, only those of the
// later steps run that have "always", each whatever the result of the others, and a failure of theirs is a warning. Else a
// failure has no consequence until the next start, which tries again. This report, too, is tried three times. A bootstrap that
// failed has no everyBoot.
//
// # In the background
//
// Waits for others, such as for the network of a CNI, belong in background. It runs after the last report of the bootstrap and
// of everyBoot, whatever their result. Its steps run one after the other. One that fails is tried again after 30 s, without end:
// no deadline applies, and what it does is not kept: the next start begins with the first step. A step that still fails five
// minutes after its first attempt is reported once: the report is sent again, and its "boot" is Failed, with reason and message
// of that failure, behind those of everyBoot if that has failed. When the step is done, the report is sent with the "boot" of
// before, which is Succeeded where there was none. A plan with background has everyBoot.
package plan
