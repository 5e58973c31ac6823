package mcp

import (
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
)

// maxName is what the model APIs take as a tool's name.
const maxName = 64

// toolName is the name under which a model knows a server's tool.
func toolName(server, tool string) string {
	prefix := namePart(server, "server")
	name := namePart(tool, "tool")
	if rest, ok := strings.CutPrefix(name, prefix+"_"); ok && strings.Trim(rest, "_") != "" {
		name = strings.Trim(rest, "_")
	}
	return fitName("mcp__" + prefix + "_" + name)
}

// namePart brings a name to the characters that every model API takes.
func namePart(s, empty string) string {
	var b strings.Builder
	gap := false
	for _, c := range []byte(s) {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_':
			if gap {
				b.WriteByte('_')
				gap = false
			}
			b.WriteByte(c)
		default:
			gap = true
		}
	}
	if part := strings.Trim(b.String(), "_"); part != "" {
		return part
	}
	return empty
}

// fitName cuts a name that is too long, and marks it with a hash of the whole, so that two long names stay two.
func fitName(name string) string {
	if len(name) <= maxName {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	mark := fmt.Sprintf("_%08x", h.Sum32())
	return strings.TrimRight(name[:maxName-len(mark)], "_") + mark
}

// names gives each tool of a set its name, once: a name that was given stays with its tool while other tools come and
// go, because the model has it in its history.
type names struct {
	mu    sync.Mutex // guards what follows
	given map[toolKey]string
	owner map[string]toolKey
}

type toolKey struct {
	server int // index in the set
	tool   string
}

func newNames() *names {
	return &names{given: make(map[toolKey]string), owner: make(map[string]toolKey)}
}

// name returns the tool's name; clash is the name that it could not have, when this was just found out.
func (n *names) name(server int, serverName, tool string) (name, clash string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := toolKey{server, tool}
	if name, ok := n.given[key]; ok {
		return name, ""
	}
	base := toolName(serverName, tool)
	name = base
	for i := 2; ; i++ {
		if _, taken := n.owner[name]; !taken {
			break
		}
		suffix := fmt.Sprintf("_%d", i)
		name = base[:min(len(base), maxName-len(suffix))] + suffix
		clash = base
	}
	n.given[key], n.owner[name] = name, key
	return name, clash
}

// forget lets go of the names that a server holds for tools it does not have any more, except those in keep. It is for
// a server that makes up new tools without end.
func (n *names) forget(server, most int, keep map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := 0
	for key := range n.given {
		if key.server == server {
			held++
		}
	}
	if held <= most {
		return
	}
	for key, name := range n.given {
		if key.server == server && !keep[key.tool] {
			delete(n.given, key)
			delete(n.owner, name)
		}
	}
}
