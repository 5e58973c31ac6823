package mcp

import (
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
)

// maxName is the maximum length of a tool's name in the model APIs.
const maxName = 64

// toolName returns the name of a server's tool for the model.
func toolName(server, tool string) string {
	prefix := namePart(server, "server")
	name := namePart(tool, "tool")
	if rest, ok := strings.CutPrefix(name, prefix+"_"); ok && strings.Trim(rest, "_") != "" {
		name = strings.Trim(rest, "_")
	}
	return fitName("mcp__" + prefix + "_" + name)
}

// namePart converts a name to the characters that all model APIs accept.
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

// fitName truncates a name that is too long and adds a hash of the whole name, so that two long names stay different.
func fitName(name string) string {
	if len(name) <= maxName {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	mark := fmt.Sprintf("_%08x", h.Sum32())
	return strings.TrimRight(name[:maxName-len(mark)], "_") + mark
}

// names assigns names to the tools of a set. A tool keeps its name when other tools are added or removed, because the name is in
// the model's history.
type names struct {
	mu    sync.Mutex // guards the fields below
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

// name returns the tool's name. clash is the name that another tool has; it is set only at the first call for the tool.
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

// forget removes the names of a server's tools.
func (n *names) forget(server int) {
	n.prune(server, -1, nil)
}

// prune removes the names of a server's former tools, except those in keep, if there are more than limit: a server may create
// new tools without end.
func (n *names) prune(server, limit int, keep map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := 0
	for key := range n.given {
		if key.server == server {
			held++
		}
	}
	if held <= limit {
		return
	}
	for key, name := range n.given {
		if key.server == server && !keep[key.tool] {
			delete(n.given, key)
			delete(n.owner, name)
		}
	}
}
