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
	does:   "asks you to restart the vCenter, and then looks for the VM by its id",
	relies: "byID in internal/cloud/vsphere/look.go: a VM that FindByUuid does not find is gone",
	decides: "from the first login after the restart on, FindByUuid finds the VM each time, and the product does not " +
		"say that it is gone",
	means: "For a time after a restart, the vCenter does not find a VM that is there. The product asks for it by the " +
		"reference in its machine's status, too. A machine without one would report VMVanished, or be let go if it is deleted " +
		"meanwhile, with an event VMMayRemain: do not delete machines then, and tell us how long it took.",
	do: func(ctx context.Context, r *runner) outcome {
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
	begin, missed, vanished, asked, back := time.Now(), 0, 0, 0, time.Time{}
	err := until(ctx, r.times.poll, r.times.make, func(ctx context.Context) (bool, error) {
		_, err := r.witness.byUUID(ctx, m.id())
		switch {
		case is(err, errNoVM):
			missed++
		case err != nil:
			back = time.Time{} // it is away
			return false, nil  //nolint:nilerr // because that is what is waited for
		}
		if back.IsZero() {
			back = time.Now()
		}
		asked++
		if _, err := r.ours.Observe(ctx, m.Machine); is(err, errVanished) {
			vanished++
		}
		return time.Since(back) > r.times.settle, nil
	})
	if err != nil {
		return unchecked("the vCenter did not come back: %v", err)
	}
	var now types.ManagedObjectReference
	if now, err = r.witness.byUUID(ctx, m.id()); err == nil {
		m.ref, now = now, m.ref
	}
	seen := map[string]string{
		"seconds until it answered": fmt.Sprintf("%.0f", back.Sub(begin).Seconds()), "looks": strconv.Itoa(asked),
		"looks without the VM": strconv.Itoa(missed), "same reference": strconv.FormatBool(m.ref == now),
	}
	return decide(seen, "it was found at each look",
		unless(missed == 0, "FindByUuid did not find it in %d of %d looks", missed, asked),
		unless(vanished == 0, "the product said %d times that it is gone", vanished))
}
