package tenants

import (
	"crypto/sha256"
	"testing"
)

func TestWorkOf(t *testing.T) {
	woken := make(chan struct{})
	idle := WorkOf(func() {
		go close(woken)
		<-woken
	})
	var sum [sha256.Size]byte
	busy := WorkOf(func() {
		for range 200_000 {
			sum = sha256.Sum256(sum[:])
		}
	})
	if busy <= idle {
		t.Errorf("a function that computes works for %s, one that waits for %s", busy, idle)
	}
}
