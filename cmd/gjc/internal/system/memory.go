package system

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// idleBytes bounds the allocations of an idle process between two looks.
const idleBytes = 1 << 20

// trimAgain is the number of further such times after which an idle process is trimmed again: something can become garbage without an
// allocation.
const trimAgain = 8

// TrimMemory returns memory to the system whenever the process has been idle for that time, until ctx ends. A heap is collected when it has
// grown, so a process with many clients that say nothing would keep the garbage of their beginning for ever.
func TrimMemory(ctx context.Context, idle time.Duration) {
	ticker := time.NewTicker(idle)
	defer ticker.Stop()
	var last uint64
	quiet := 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now := allocated()
		if now-last >= idleBytes {
			quiet = 0
		} else if quiet++; quiet%trimAgain == 1 {
			debug.FreeOSMemory()
		}
		last = now
	}
}

// allocated returns the bytes that the process has allocated since its start.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
