package windows

import "fmt"

// Disk is one without Windows. One with no partitions is empty.
type Disk struct{ Partitions int }

// CDROM is the file system of a drive with a disc.
const CDROM = "CDFS"

// EmptyDisks are the numbers of those without partitions.
func (s *State) EmptyDisks() []int {
	var empty []int
	for i, disk := range s.Disks {
		if disk.Partitions == 0 {
			empty = append(empty, i)
		}
	}
	return empty
}

// MakeDrive makes one partition of an empty disk, with NTFS and a letter. Windows reserves another one.
func (s *State) MakeDrive(disk int, letter string) {
	s.Disks[disk].Partitions = 2
	if s.Volumes == nil {
		s.Volumes = map[string]string{}
	}
	s.Volumes[letter] = "NTFS"
}

// onDrive fails for folders of a drive that does not exist, or that nobody can write to.
func (m *Machine) onDrive(name string) error {
	if letter := name[:1]; letter >= "D" && letter <= "Z" && m.state.Volumes[letter] != "NTFS" {
		return fmt.Errorf("could not find a part of the path '%s'", name)
	}
	return nil
}
