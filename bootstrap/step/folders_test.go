package step

import "testing"

// Windows itself guards its own folders with all that is in them; of those in which users make folders, only the folder itself.
func TestOfWindows(t *testing.T) {
	for path, want := range map[string]bool{
		`C:\Windows`: true, `c:\windows\System32`: true, `C:\Program Files\a`: true, `C:\Program Files (x86)`: true, `C:\k`: false,
		`C:\Windows2`: false,
		`C:`:          true, `C:\ProgramData`: true, `C:\USERS`: true, `C:\ProgramData\a`: false, `C:\Users\a`: false,
	} {
		if got := OfWindows(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
