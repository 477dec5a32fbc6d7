package turns_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/turns"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestPlaces: so many enter at a time, and one behind a hundred of another namespace waits for one of these.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places, inside, peak := &turns.Places{Count: 2}, 0, 0
		var order []string
		var mu sync.Mutex
		enter := func(namespace string) {
			leave, err := places.Enter(t.Context(), namespace)
			expect.OK(t, err)
			mu.Lock()
			inside, order = inside+1, append(order, namespace)
			peak = max(peak, inside)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			inside--
			mu.Unlock()
			leave()
			leave() // counts once
		}
		for range 100 {
			<-time.After(time.Microsecond)
			go enter("many")
		}
		<-time.After(time.Microsecond)
		go enter("one")
		<-time.After(time.Hour)
		expect.Same(t, "at a time", 2, peak)
		expect.Same(t, "entered", 101, len(order))
		expect.Same(t, "the first", []string{"many", "many", "many", "one"}, order[:4])
	})
}

// TestPlacesOfThoseWhoLeave: who does not wait until the end keeps no place.
func TestPlacesOfThoseWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := &turns.Places{Count: 1}
		leave, err := places.Enter(t.Context(), "a")
		expect.OK(t, err)
		for range 10 {
			soon, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := places.Enter(soon, "b")
			expect.Same(t, "it is entered", true, err != nil)
			cancel()
		}
		leave()
		again, err := places.Enter(t.Context(), "c")
		expect.OK(t, err)
		again()
	})
}
