package conformance

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Capabilities of the clients that the suite simulates.
var (
	// bare is a client without capabilities.
	bare = object{}
	// withFiles, withTerminals and withForms are clients with one capability.
	withFiles     = object{"fs": object{"readTextFile": true, "writeTextFile": true}}
	withTerminals = object{"terminal": true}
	withForms     = object{"elicitation": object{"form": object{}}}
	// full is a client that supports the whole stable protocol.
	full = object{
		"fs": object{"readTextFile": true, "writeTextFile": true}, "terminal": true,
		"auth":        object{"terminal": true},
		"elicitation": object{"form": object{}, "url": object{}},
		"session":     object{"configOptions": object{"boolean": object{}}, "notices": object{}, "compaction": object{}},
	}
)

// client answers the agent's requests: with files from the disk, terminals that run nothing, and the user's consent. A check
// sets other handlers.
type client struct {
	p *peer

	mu        sync.Mutex // guards the fields below
	handlers  map[string]func(*message)
	files     map[string]string // unsaved texts of the editor's buffers
	terminals map[string]*terminal
	// hold keeps commands running until they are killed or released.
	hold bool
}

// terminal is a terminal of the client. Its command is not run.
type terminal struct {
	running, killed, released bool
	waiting                   []*message // open terminal/wait_for_exit requests
}

func (c *client) ready(p *peer) {
	c.p, c.handlers, c.files, c.terminals = p, make(map[string]func(*message)), make(map[string]string), make(map[string]*terminal)
	c.on(permission, p.allow)
	p.wire.received = c.received
}

// on sets the handler of a method.
func (c *client) on(method string, handle func(*message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers[method] = handle
}

func (c *client) received(m *message) {
	if !m.isRequest() {
		return
	}
	c.mu.Lock()
	handle := c.handlers[m.method]
	c.mu.Unlock()
	if handle == nil {
		c.p.replyError(m, codeMethod, "the client has no method "+m.method)
		return
	}
	handle(m)
}

// advertise sets the handlers for capabilities.
func (c *client) advertise(capabilities object) {
	if at(capabilities, "fs", "readTextFile") == true {
		c.on("fs/read_text_file", c.readFile)
	}
	if at(capabilities, "fs", "writeTextFile") == true {
		c.on("fs/write_text_file", c.writeFile)
	}
	if at(capabilities, "terminal") == true {
		c.on("terminal/create", c.createTerminal)
		c.onTerminal("output", func(m *message, t *terminal) {
			r := object{"output": "ok\n", "truncated": false}
			if !t.running {
				r["exitStatus"] = t.exit()
			}
			c.p.reply(m, r)
		})
		c.onTerminal("wait_for_exit", func(m *message, t *terminal) {
			if t.running {
				t.waiting = append(t.waiting, m)
				return
			}
			c.p.reply(m, t.exit())
		})
		c.onTerminal("kill", c.end)
		c.onTerminal("release", func(m *message, t *terminal) {
			c.end(m, t)
			t.released = true
		})
	}
	if has(capabilities, "elicitation") {
		c.on(elicitation, func(m *message) { c.p.reply(m, accepted(fillForm(m.params))) })
	}
}

// permit answers a permission request with the first option of one of the kinds, or with cancelled.
func (p *peer) permit(m *message, kinds ...string) {
	for _, kind := range kinds {
		for _, o := range list(m.params, "options") {
			if str(o, "kind") == kind {
				p.reply(m, selected(str(o, "optionId")))
				return
			}
		}
	}
	p.reply(m, cancelledOutcome)
}

// allow and reject answer a permission request.
func (p *peer) allow(m *message)  { p.permit(m, "allow_once", "allow_always") }
func (p *peer) reject(m *message) { p.permit(m, "reject_once", "reject_always") }

func selected(id string) object {
	return object{"outcome": object{"outcome": "selected", "optionId": id}}
}

var cancelledOutcome = object{"outcome": object{"outcome": "cancelled"}}

func (c *client) readFile(m *message) {
	path := str(m.params, "path")
	c.mu.Lock()
	text, ok := c.files[path]
	c.mu.Unlock()
	if !ok {
		data, err := os.ReadFile(path)
		if err != nil {
			c.p.replyError(m, codeNotFound, "there is no file "+path)
			return
		}
		text = string(data)
	}
	lines := strings.SplitAfter(text, "\n")
	if line, ok := at(m.params, "line").(float64); ok && line > 1 {
		lines = lines[min(int(line)-1, len(lines)):]
	}
	if limit, ok := at(m.params, "limit").(float64); ok && limit >= 0 {
		lines = lines[:min(int(limit), len(lines))]
	}
	c.p.reply(m, object{"content": strings.Join(lines, "")})
}

func (c *client) writeFile(m *message) {
	path := str(m.params, "path")
	// Only in the check's own workspace: the agent's requests are untrusted.
	if rel, err := filepath.Rel(c.p.work, path); err != nil || !filepath.IsLocal(rel) {
		c.p.replyError(m, codeParams, "the file is outside of the workspace")
		return
	}
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, []byte(str(m.params, "content")), 0o666)
	}
	if err != nil {
		c.p.replyError(m, -32603, err.Error())
		return
	}
	c.p.reply(m, object{})
}

// buffer sets an unsaved text of a file.
func (c *client) buffer(path, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files[path] = text
}

// holdCommands keeps commands running until they are killed.
func (c *client) holdCommands() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold = true
}

func (c *client) createTerminal(m *message) {
	c.mu.Lock()
	id := "term-" + strconv.Itoa(len(c.terminals)+1)
	c.terminals[id] = &terminal{running: c.hold}
	c.mu.Unlock()
	c.p.reply(m, object{"terminalId": id})
}

// onTerminal sets the handler of a method for a terminal; a released one is unknown.
func (c *client) onTerminal(method string, do func(*message, *terminal)) {
	c.on("terminal/"+method, func(m *message) {
		c.mu.Lock()
		defer c.mu.Unlock()
		t := c.terminals[str(m.params, "terminalId")]
		if t == nil || t.released {
			c.p.replyError(m, codeNotFound, "there is no such terminal")
			return
		}
		do(m, t)
	})
}

func (t *terminal) exit() object {
	if t.killed {
		return object{"exitCode": nil, "signal": "SIGKILL"}
	}
	return object{"exitCode": 0, "signal": nil}
}

// end kills the terminal's command.
func (c *client) end(m *message, t *terminal) {
	if t.running {
		t.running, t.killed = false, true
	}
	for _, m := range t.waiting {
		c.p.reply(m, t.exit())
	}
	t.waiting = nil
	c.p.reply(m, object{})
}

// accepted returns the answer of a user who has filled in a form.
func accepted(content object) object { return object{"action": "accept", "content": content} }

// formFields returns the schemas of a form's fields by name.
func formFields(params any) object {
	fields, _ := at(params, "requestedSchema", "properties").(map[string]any)
	return fields
}

// fillForm returns an answer that matches a form.
func fillForm(params any) object {
	content := object{}
	for name, p := range formFields(params) {
		switch str(p, "type") {
		case "boolean":
			content[name] = true
		case "integer", "number":
			content[name] = 1
			if low, ok := at(p, "minimum").(float64); ok {
				content[name] = low
			}
		case "array":
			content[name] = []any{}
			if v := cmp.Or(str(p, "items", "enum", 0), str(p, "items", "anyOf", 0, "const")); v != "" {
				content[name] = []any{v}
			}
		default:
			content[name] = cmp.Or(cmp.Or(str(p, "enum", 0), str(p, "oneOf", 0, "const")), "conformance")
		}
	}
	return content
}
