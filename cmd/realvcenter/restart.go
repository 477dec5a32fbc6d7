package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

var findAfterRestart = check{
	name:   "find-after-restart",
	effect: "asks you to restart the vCenter, and then looks for the VM by its id",
	relies: "byID in internal/cloud/vsphere/look.go: a VM that FindByUuid does not find is gone",
	decides: "from the first login after the restart on, FindByUuid finds the VM each time, and the product does not " +
		"say that it is gone",
	means: "For a time after a restart, the vCenter does not find a VM that is there. The product asks for it by the " +
		"reference in its machine's status, too. A machine without one would report VMVanished, or be let go if it is deleted " +
		"meanwhile, with an event VMMayRemain: do not delete machines then, and tell us how long it took.",
	run: func(ctx context.Context, r *runner) outcome {
		if !r.restart {
			return unchecked("run again with -restart to restart the vCenter on the way")
		}
		m, err := r.vm(ctx)
		if err != nil {
			return unchecked("%v", err)
		}
		if !r.ask(ctx, "Restart the vCenter now (service-control --restart vpxd); is its restart under way?") {
			return unchecked("the vCenter was not restarted")
		}
		return r.lookAfterRestart(ctx, m)
	},
}

// lookAfterRestart waits until the session from before has ended and a new one answers.
func (r *runner) lookAfterRestart(ctx context.Context, m *machine) outcome {
	begin, missed, vanished, asked, returned := time.Now(), 0, 0, 0, time.Time{}
	err := poll(ctx, r.times.poll, r.times.make, func(ctx context.Context) (bool, error) {
		_, err := r.witness.byUUID(ctx, m.id())
		switch {
		case isError(err, errNoVM):
			missed++
		case err != nil:
			returned = time.Time{} // it is away
			return false, nil      //nolint:nilerr // because that is what is waited for
		}
		if returned.IsZero() {
			returned = time.Now()
		}
		asked++
		if _, err := r.account.Observe(ctx, m.Machine); isError(err, errVanished) {
			vanished++
		}
		return time.Since(returned) > r.times.settle, nil
	})
	if err != nil {
		return unchecked("the vCenter did not come back: %v", err)
	}
	var ref types.ManagedObjectReference
	if ref, err = r.witness.byUUID(ctx, m.id()); err == nil {
		m.ref, ref = ref, m.ref
	}
	seen := map[string]string{
		"seconds until it answered": fmt.Sprintf("%.0f", returned.Sub(begin).Seconds()), "looks": strconv.Itoa(asked),
		"looks without the VM": strconv.Itoa(missed), "same reference": strconv.FormatBool(m.ref == ref),
	}
	return decide(seen, "it was found at each look",
		require(missed == 0, "FindByUuid did not find it in %d of %d looks", missed, asked),
		require(vanished == 0, "the product said %d times that it is gone", vanished))
}
