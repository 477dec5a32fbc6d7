package vcenter

import (
	"bytes"
	"net/http"
	"regexp"
)

// A vCenter tells each fault in words as well: in faultstring of a call, in localizedMessage of a task (vSphere Web Services API,
// LocalizedMethodFault). The simulator leaves the one empty and writes the name of a Go type into the other. These are the
// English texts of a vCenter, as its logs and public issues show them. A word in braces is a property of the fault.
var faultTexts = map[string]string{
	"CannotAccessNetwork": "Currently connected network interface '{device}' uses network '{backing}', which is not " +
		"accessible.",
	"CannotAccessVmDisk":               "Virtual disk '{device}' is not accessible on the host: Unable to access file {backing}.",
	"DuplicateName":                    "The name '{name}' already exists.",
	"FileLocked":                       "Unable to access file {file} since it is locked.",
	"GenericVmConfigFault":             "{reason}",
	"HostNotConnected":                 "Unable to communicate with the remote host, since it is disconnected.",
	"InsufficientMemoryResourcesFault": "The host does not have sufficient memory resources to satisfy the reservation.",
	"InsufficientResourcesFault":       "The available resources are not sufficient to satisfy the request.",
	"InvalidArgument":                  "A specified parameter was not correct: {invalidProperty}",
	"InvalidLogin":                     "Cannot complete login due to an incorrect user name or password.",
	"InvalidPowerState":                "The attempted operation cannot be performed in the current state ({existingState}).",
	"ManagedObjectNotFound":            "The object has already been deleted or has not been completely created",
	"NoCompatibleHost":                 "No host is compatible with the virtual machine.",
	"NoDiskSpace":                      "Insufficient disk space on datastore '{datastore}'.",
	"NoPermission":                     "Permission to perform this operation was denied.",
	"NotAuthenticated":                 "The session is not authenticated.",
	"RequestCanceled":                  "The task was canceled by a user.",
	"SystemError":                      "A general system error occurred: {reason}",
	"TaskInProgress":                   "The operation is not allowed in the current state: another task is already in progress.",
}

var (
	ofCall = regexp.MustCompile(`<faultstring></faultstring>\s*<detail>\s*<\w+ [^>]*type="(?:\w+:)?(\w+)"`)
	ofTask = regexp.MustCompile(`<localizedMessage>\*types\.(\w+)</localizedMessage>`)
	braces = regexp.MustCompile(`\{(\w+)\}`)
)

// inFull writes the texts of faults into answers. The simulator writes an answer at once.
type inFull struct{ http.ResponseWriter }

// Write is part of http.ResponseWriter.
func (w inFull) Write(answer []byte) (int, error) {
	full := ofCall.ReplaceAllFunc(answer, func(found []byte) []byte {
		text := textOf(ofCall.FindSubmatch(found)[1], answer)
		return bytes.Replace(found, []byte("><"), []byte(">"+text+"<"), 1)
	})
	full = ofTask.ReplaceAllFunc(full, func(found []byte) []byte {
		return []byte("<localizedMessage>" + textOf(ofTask.FindSubmatch(found)[1], answer) + "</localizedMessage>")
	})
	if _, err := w.ResponseWriter.Write(full); err != nil {
		return 0, err
	}
	return len(answer), nil
}

func textOf(fault, answer []byte) string {
	return braces.ReplaceAllStringFunc(faultTexts[string(fault)], func(name string) string {
		name = name[1 : len(name)-1]
		if found := regexp.MustCompile(`<` + name + `>([^<]*)</`).FindSubmatch(answer); found != nil {
			return string(found[1])
		}
		return ""
	})
}
