package dap

import (
	"sync"

	godap "github.com/google/go-dap"
)

// stopCache holds the adapter's answers about one stop. All calls share them.
type stopCache struct {
	stop      *Stop
	location  memo[*location]
	variables memo[*frameVariables]
	exception memo[*godap.ExceptionInfoResponseBody]
	// previous holds the variables at the last stop in the same function; nil if there was none. compared reports whether previous
	// is set. tree.mu guards both.
	previous map[string]string
	compared bool
}

// location describes where a program is stopped.
type location struct {
	// frame is the frame that calls without a frame apply to: the top frame, or the nearest frame of the user's own code if
	// the top one is not. top is set only in the second case.
	frame, top *Frame
}

// frameVariables are the variables of a frame in a snapshot. more is the number of variables that were left out.
type frameVariables struct {
	list []Variable
	more int
}

// memo caches the result of a function. Concurrent callers wait for the one that runs it.
type memo[T any] struct {
	mu    sync.Mutex // held while the function runs
	valid bool
	value T
	// state guards valid, value and invalidations.
	state         sync.Mutex
	invalidations int
}

// get returns the cached result, or calls fn. It does not cache an error, nor a result that was invalidated meanwhile.
func (m *memo[T]) get(fn func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Lock()
	n, valid := m.invalidations, m.valid
	m.state.Unlock()
	if valid {
		return m.value, nil
	}
	v, err := fn()
	m.state.Lock()
	defer m.state.Unlock()
	if err == nil && m.invalidations == n {
		m.valid, m.value = true, v
	}
	return v, err
}

// cached returns the cached result, if there is one. It does not wait.
func (m *memo[T]) cached() (v T, ok bool) {
	if !m.mu.TryLock() {
		return v, false
	}
	defer m.mu.Unlock()
	m.state.Lock()
	defer m.state.Unlock()
	return m.value, m.valid
}

func (m *memo[T]) invalidate() {
	m.state.Lock()
	defer m.state.Unlock()
	m.valid = false
	m.invalidations++
}

// maxHistory is the number of functions in a history.
const maxHistory = 16

// history holds the variables of the functions that the program stopped in last, for the changes in a snapshot. tree.mu
// guards it.
type history struct {
	functions map[string]map[string]string // variable values by function and name
	order     []string                     // the functions, the oldest first
}

func functionKey(f *Frame) string { return f.Name + "\x00" + f.Path }

// record keeps the variables of a stop that is over; nil is ignored.
func (h *history) record(c *stopCache) {
	if c == nil {
		return
	}
	at, ok := c.location.cached()
	vars, known := c.variables.cached()
	if !ok || !known || at == nil || vars == nil {
		return
	}
	key := functionKey(at.frame)
	if h.functions == nil {
		h.functions = make(map[string]map[string]string)
	}
	if _, again := h.functions[key]; !again {
		if len(h.order) >= maxHistory {
			delete(h.functions, h.order[0])
			h.order = h.order[1:]
		}
		h.order = append(h.order, key)
	}
	values := make(map[string]string, len(vars.list))
	for _, v := range vars.list {
		values[v.Name] = v.Value
	}
	h.functions[key] = values
}

// changes returns the variables that differ from before; nil if before is nil.
func changes(before map[string]string, now []Variable) []Change {
	if before == nil {
		return nil
	}
	var list []Change
	for _, v := range now {
		old, known := before[v.Name]
		if !known || old != v.Value {
			list = append(list, Change{Name: v.Name, Old: old, Value: v.Value, Type: v.Type, New: !known})
		}
	}
	return list
}
