package guest

import (
	"cmp"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// prepareDrive does what the bootstrap's script for a data drive does with the disks of the machine.
func (p *power) prepareDrive(call *windows.Call) int {
	letter := call.Env["CAPWIN_DRIVE"]
	if last := call.Argv[len(call.Argv)-1]; len(last) == 1 {
		letter = last
	}
	var problem error
	free := 0
	err := call.Machine.Setup(func(s *windows.State) {
		_, there := s.Volumes[letter]
		if problem = makeDrive(s, letter, call.Env["CAPWIN_FORMAT"]); problem == nil && there {
			free = cmp.Or(s.VolumesMiB[letter], largeDrive)
		}
	})
	switch {
	case err != nil:
		return call.Fail("%v", err)
	case problem != nil:
		return call.Fail("%v", problem)
	}
	if free > 0 {
		call.Print("free %d MiB\n", free)
	}
	return 0
}

// largeDrive has enough room.
const largeDrive = 400_000

func makeDrive(s *windows.State, letter, format string) error {
	system, there := s.Volumes[letter]
	empty := s.EmptyDisks()
	switch {
	case system == windows.CDROM:
		return fmt.Errorf("drive %s: is not a disk, but perhaps a CD-ROM; use another letter", letter)
	case there && system != "NTFS":
		return fmt.Errorf("drive %s: has the file system '%s'; format it with NTFS", letter, system)
	case there:
		return nil
	case format != "IfEmpty":
		return fmt.Errorf("there is no drive %s:; use format: IfEmpty and an empty disk", letter)
	case len(empty) != 1:
		return fmt.Errorf("%d disks have no partitions, and one must become drive %s:; attach one", len(empty), letter)
	}
	s.MakeDrive(empty[0], letter)
	return nil
}
