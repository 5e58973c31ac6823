package dap

import (
	"slices"

	godap "github.com/google/go-dap"
)

const (
	// maxThreads bounds the threads that are remembered.
	maxThreads = 1 << 16
	// maxOthers bounds the further threads of a stop.
	maxOthers = 64
)

// execution holds the known threads of a program and its current stop. tree.mu guards it.
type execution struct {
	threads map[int]bool // the known threads; the value reports whether the thread is stopped
	stop    *Stop        // nil while the program runs
	seq     int          // the number of the stop in the tree
	handles handles      // of the present stop
	cache   *stopCache   // the adapter's answers about the present stop; nil while the program runs
}

func newExecution(counter *handleCounter) execution {
	return execution{threads: make(map[int]bool), handles: handles{counter: counter}}
}

// reset forgets the program's threads and its stop.
func (e *execution) reset() {
	e.threads = make(map[int]bool)
	e.stop, e.cache = nil, nil
}

// end forgets the stop of a program that has ended.
func (e *execution) end() {
	e.stop, e.cache = nil, nil
	e.handles.reset()
}

// addThread records a thread that was started.
func (e *execution) addThread(id int) {
	if _, known := e.threads[id]; !known && len(e.threads) < maxThreads {
		e.threads[id] = false
	}
}

// addStopped records that a thread stopped; zero is no thread. all means that the other threads stopped too.
func (e *execution) addStopped(id int, all bool) {
	if id != 0 && len(e.threads) < maxThreads {
		e.threads[id] = true
	}
	if all {
		for id := range e.threads {
			e.threads[id] = true
		}
	}
}

// addOther adds a thread that stopped while the program was stopped already. The present stop stays that of the first thread.
func (e *execution) addOther(id int) {
	if id != e.stop.Thread && !slices.Contains(e.stop.Others, id) && len(e.stop.Others) < maxOthers {
		e.stop.Others = append(e.stop.Others, id)
	}
}

// pause records a stop of the program. Handles of earlier stops become stale.
func (e *execution) pause(b *godap.StoppedEventBody, seq int) {
	e.stop = &Stop{
		Reason: b.Reason, Description: valid(b.Description), Text: valid(b.Text), Thread: b.ThreadId, Breakpoints: b.HitBreakpointIds,
	}
	e.handles.reset()
	e.cache = &stopCache{stop: e.stop}
	e.seq = seq
}

// resume records that a thread, or all of them, was resumed.
func (e *execution) resume(thread int, all bool) {
	e.end()
	if !all {
		e.threads[thread] = false
		return
	}
	for id := range e.threads {
		e.threads[id] = false
	}
}

// invalidate drops the cached answers that may change without a resume.
func (e *execution) invalidate() {
	if e.cache != nil {
		e.cache.variables.invalidate()
	}
}

// isStopped reports whether a thread of a program in the given state is stopped.
func (e *execution) isStopped(state State, id int) bool {
	if state != StateStopped {
		return false
	}
	if stopped, known := e.threads[id]; known && e.stop != nil && id != e.stop.Thread {
		return stopped
	}
	return true
}
