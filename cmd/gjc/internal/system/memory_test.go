package system_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/cmd/gjc/internal/system"
)

// An idle process returns what it has allocated before.
func TestTrimMemory(t *testing.T) {
	const size = 64 << 20
	ctx, cancel := context.WithCancel(t.Context())
	var trimmer sync.WaitGroup
	trimmer.Go(func() { system.TrimMemory(ctx, 10*time.Millisecond) })
	defer trimmer.Wait()
	defer cancel()
	for range 3 { // also after more work
		work := make([]byte, size)
		for i := 0; i < len(work); i += 4096 {
			work[i] = 1
		}
		runtime.KeepAlive(work)
		deadline := time.Now().Add(time.Minute)
		for held := uint64(size); held > size/2; {
			if time.Now().After(deadline) {
				t.Fatalf("%d MB are not returned", held>>20)
			}
			time.Sleep(20 * time.Millisecond)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			held = m.HeapSys - m.HeapReleased
		}
	}
}
