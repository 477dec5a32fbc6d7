package proved

import (
	"path/filepath"
	"testing"
)

func TestMutants(t *testing.T) {
	t.Parallel()
	WantPlaces(t, "mutants.txt", filepath.Join("..", "..", ".."))
}
