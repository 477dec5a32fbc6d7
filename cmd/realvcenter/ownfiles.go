package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// adminOnly is what the loader gives its folder.
const adminOnly = "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"

var ownFiles = check{
	name:    "own-files",
	effect:  "reads what the agent left on the disk, and who may open it, as Windows told it after its restart",
	relies:  "Initialize-Root in bootstrap/scripts/loader.ps1; AdminOnly and the state in agent.ps1",
	decides: "the SDDL is what was set; plan, state and report can be read and have no secret",
	means:   "The agent does not trust its own folder and begins again at each start, or secrets stay on the disk.",
	run: func(ctx context.Context, r *runner) outcome {
		end := r.guestEnd(ctx)
		if end.report == nil {
			return unchecked("%v", end.err)
		}
		m, err := r.vm(ctx)
		if err != nil {
			return unchecked("%v", err)
		}
		props, err := r.witness.read(ctx, m.ref, keyed(filesKey))
		if err != nil {
			return unchecked("%v", err)
		}
		var kept map[string]string
		if err := unpack(option(props[keyed(filesKey)]), &kept); err != nil {
			return unchecked("%v; user-data-gone must have run before", err)
		}
		return judgeFiles(kept, r.canary)
	},
}

// judgeFiles reads what Windows PowerShell has written.
func judgeFiles(kept map[string]string, canary string) outcome {
	seen := map[string]string{"sddl": kept["sddl"]}
	faults := []string{require(withoutGroup(kept["sddl"]) == adminOnly, "the SDDL is not what was set, %s", adminOnly)}
	for _, name := range []string{"plan.json", "state.json", "report.json"} {
		text, err := base64.StdEncoding.DecodeString(kept[name])
		seen[name] = fmt.Sprintf("%d bytes", len(text))
		faults = append(faults, require(err == nil && json.Valid(text), "%s is not JSON", name),
			require(!bytes.Contains(text, []byte(canary)), "%s has the secret of the plan", name))
		if name == "report.json" {
			_, err := plan.DecodeReport(text)
			faults = append(faults, require(err == nil, "%s: %v", name, err))
		}
	}
	return decide(seen, "the SDDL is what was set, and the files can be read", faults...)
}

// withoutGroup takes the primary group out of an SDDL, which means nothing to Windows.
func withoutGroup(sddl string) string {
	begin, end := strings.Index(sddl, "G:"), strings.Index(sddl, "D:")
	if begin < 0 || end < begin {
		return sddl
	}
	return sddl[:begin] + sddl[end:]
}
