package transport

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// The pauses between attempts grow up to ten seconds, and the attempts end with the time for them.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := DialOptions{Retry: 2 * time.Minute}.filled()
		begin := time.Now()
		last, least, most, tries := begin, time.Hour, time.Duration(0), 0
		no := errors.New("no route")
		err := again(t.Context(), &o, func(context.Context) error {
			pause := time.Since(last)
			last, least, most = time.Now(), min(least, pause), max(most, pause)
			tries++
			return no
		})
		if !errors.Is(err, ErrTime) || !errors.Is(err, no) {
			t.Errorf("%v", err)
		}
		if took := time.Since(begin); took != o.Retry {
			t.Errorf("it took %s", took)
		}
		if least < o.Backoff/2 || least > o.Backoff || most < maxBackoff/2 || most > maxBackoff || tries < 15 || tries > 40 {
			t.Errorf("%d attempts, with pauses of %s to %s", tries, least, most)
		}
	})
}

// An answer that the next attempt would get, too, ends the attempts. One of a server that is overloaded, or of a request that was cut off, does
// not.
func TestAgain_Refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := DialOptions{Retry: time.Minute}.filled()
		for code, want := range map[int]int{
			http.StatusUnauthorized: 1, http.StatusForbidden: 1, http.StatusNotFound: 1, http.StatusGone: 1,
			http.StatusBadRequest: 3, http.StatusTooManyRequests: 3, http.StatusServiceUnavailable: 3, http.StatusBadGateway: 3,
		} {
			tries := 0
			err := again(t.Context(), &o, func(context.Context) error {
				if tries++; tries == 3 {
					return nil
				}
				return &RefusedError{Code: code}
			})
			if tries != want || (err == nil) != (want == 3) {
				t.Errorf("%d: %d attempts, %v", code, tries, err)
			}
		}
	})
}
