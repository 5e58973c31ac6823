package conformance

import (
	"bytes"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A defect is a single fault of a fake, with the checks that must detect it.
type defect struct {
	name  string
	trips []string
	// process reports that the fake must run as a process of its own.
	process bool
	// hangs reports that the checks detect it by waiting.
	hangs bool
	// broad reports that many other checks fail too.
	broad bool

	line   func(f *fake, line []byte) bool // called first for each line; true if it handled the line
	in     func(f *fake, m *message) bool  // called first for each request and notification
	out    func(f *fake, m object) bool    // modifies sent messages; false drops one
	raw    func(line []byte) []byte        // modifies sent bytes
	eof    func(f *fake) int               // called at the end of the input
	allows func(t *fakeTurn, result any, err error) bool
	form   func(t *fakeTurn, result any, err error)
	assume []any // a client capability that the fake assumes
}

func findDefect(name string) *defect {
	for _, d := range defects() {
		if d.name == name {
			return &d
		}
	}
	return nil
}

func defects() []defect {
	return slices.Concat(wireDefects(), setupDefects(), sessionDefects(), turnDefects(), toolDefects(), optionDefects(), clientDefects(), schemaDefects(), exitDefects())
}

// ids splits a list of check IDs.
func ids(s string) []string { return strings.Fields(s) }

// onLine calls do for each line that matches, instead of handling the line.
func onLine(match func(line string) bool, do func(f *fake, line []byte)) func(*fake, []byte) bool {
	return func(f *fake, line []byte) bool {
		if !match(string(line)) {
			return false
		}
		do(f, line)
		return true
	}
}

func containing(text string) func(string) bool {
	return func(line string) bool { return strings.Contains(line, text) }
}

func dies(f *fake, _ []byte)    { f.die() }
func ignores(_ *fake, _ []byte) {}

// errs answers a line with an error, with id null.
func errs(code int) func(*fake, []byte) {
	return func(f *fake, _ []byte) { f.fail("null", code, "wrong") }
}

// on handles a method if match returns true; if do returns true, its handler is skipped.
func on(method string, match func(m *message) bool, do func(f *fake, m *message) bool) func(*fake, *message) bool {
	return func(f *fake, m *message) bool {
		return (method == "" || m.method == method) && match(m) && do(f, m)
	}
}

func always(*message) bool { return true }

func param(path ...any) func(*message) bool {
	return func(m *message) bool { return at(m.params, path...) != nil }
}

func paramHas(name string) func(*message) bool {
	return func(m *message) bool { return has(m.params, name) }
}

func not(match func(*message) bool) func(*message) bool {
	return func(m *message) bool { return !match(m) }
}

func within(text string) func(*message) bool {
	return func(m *message) bool { return strings.Contains(string(m.line), text) }
}

func dying(f *fake, _ *message) bool { f.die(); return true }
func deaf(*fake, *message) bool      { return true }

// refusing answers with an error, replying with a result.
func refusing(code int) func(*fake, *message) bool {
	return func(f *fake, m *message) bool { f.refuse(m, code, "no"); return true }
}

func replying(result any) func(*fake, *message) bool {
	return func(f *fake, m *message) bool { f.reply(m, result); return true }
}

// noting answers a notification with an error.
func noting(f *fake, _ *message) bool { f.fail("null", codeParams, "wrong"); return true }

// setting modifies a parameter and continues.
func setting(name string, value any) func(*fake, *message) bool {
	return func(_ *fake, m *message) bool {
		if params, ok := m.params.(map[string]any); ok {
			params[name] = value
		}
		return false
	}
}

// onUpdate modifies the updates of a kind. An update for which change returns false is dropped.
func onUpdate(kind string, change func(u object) bool) func(*fake, object) bool {
	return func(_ *fake, m object) bool {
		u, ok := at(m, "params", "update").(map[string]any)
		return !ok || kind != "" && u["sessionUpdate"] != kind || change(u)
	}
}

func dropped(object) bool { return false }

func set(name string, value any) func(object) bool {
	return func(o object) bool { o[name] = value; return true }
}

func cut(name string) func(object) bool {
	return func(o object) bool { delete(o, name); return true }
}

// onResult changes the results of a method.
func onResult(method string, change func(r object) bool) func(*fake, object) bool {
	return func(f *fake, m object) bool {
		r, ok := m["result"].(map[string]any)
		f.mu.Lock()
		asked := f.asked[string(bytes.TrimSpace(rawID(m)))]
		f.mu.Unlock()
		return !ok || asked != method || change(r)
	}
}

func rawID(m object) []byte {
	raw, _ := m["id"].(jsonx.Raw)
	return raw
}

// onCall changes the parameters of the agent's own requests.
func onCall(method string, change func(p object) bool) func(*fake, object) bool {
	return func(_ *fake, m object) bool {
		p, ok := m["params"].(map[string]any)
		return !ok || m["method"] != method || change(p)
	}
}

// after sends another message after each one for which match returns true.
func after(match func(m object) bool, more func(f *fake, m object) object) func(*fake, object) bool {
	return func(f *fake, m object) bool {
		if match(m) {
			f.write(encode(m))
			f.write(encode(with(more(f, m), "jsonrpc", "2.0")))
			return false
		}
		return true
	}
}

func isUpdate(kind string) func(object) bool {
	return func(m object) bool { return str(m, "params", "update", "sessionUpdate") == kind }
}

func isCall(method string) func(object) bool {
	return func(m object) bool { return m["method"] == method }
}

// each applies a change to each element of a list in an object.
func each(name string, change func(o object) bool) func(object) bool {
	return func(o object) bool {
		for _, e := range list(o, name) {
			if e, ok := e.(map[string]any); ok {
				change(e)
			}
		}
		return true
	}
}

// inside applies a change to an object that is a member of another.
func inside(name string, change func(o object) bool) func(object) bool {
	return func(o object) bool {
		if inner, ok := o[name].(map[string]any); ok {
			change(inner)
		}
		return true
	}
}
