package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// sshName is the file in the agent directory that lists the machines that models may reach. Projects cannot add to it: a trusted
// name could then lead elsewhere.
const sshName = "ssh.json"

// sshHosts reads the file sshName. It omits invalid entries and returns them in problems: "file:line: field ...".
func sshHosts(agentDir, home string) (hosts []shell.SSHHost, problems []string) {
	f := &configfile.File{Path: filepath.Join(agentDir, sshName)}
	if !f.Read() || len(f.Problems) > 0 {
		return nil, f.Problems
	}
	top := f.Parse("hosts")
	if top == nil {
		return nil, f.Problems
	}
	list := top.Member("hosts")
	switch {
	case list == nil:
		f.Problem(top.Line, `hosts is missing; the file must look like {"hosts": {"web": {"host": "web.example"}}}`)
		return nil, f.Problems
	case list.Kind != configfile.Object:
		f.Problem(list.Line, "hosts must be a mapping of names to machines, not %s", list.Kind)
		return nil, f.Problems
	}
	for _, m := range list.Members {
		if h, ok := sshHost(f, &m, home); ok {
			hosts = append(hosts, h)
		}
	}
	slices.SortFunc(hosts, func(a, b shell.SSHHost) int { return strings.Compare(a.Name, b.Name) })
	return hosts, f.Problems
}

// sshFields are the fields of a machine; some have two names, of which the first wins.
var sshFields = []string{"host", "username", "user", "port", "keyPath", "key", "description"}

// sshHost reads a machine. The error describes its first mistake.
func sshHost(f *configfile.File, m *configfile.Member, home string) (h shell.SSHHost, ok bool) {
	wrong := func(line int, field, format string, args ...any) (shell.SSHHost, bool) {
		name := "hosts." + configfile.Quote(m.Name)
		if field != "" {
			name += "." + field
		}
		f.Problem(line, name+" "+format+"; the host is ignored", args...)
		return shell.SSHHost{}, false
	}
	if m.Value.Kind != configfile.Object {
		return wrong(m.Line, "", "must be a mapping with host, not %s", m.Value.Kind)
	}
	lines := map[string]int{"name": m.Line, "host": m.Line}
	texts := make(map[string]string)
	h = shell.SSHHost{Name: m.Name}
	for _, field := range m.Value.Members {
		switch {
		case field.Name == "port":
			port, err := strconv.Atoi(field.Value.Text)
			if field.Value.Kind != configfile.Number || err != nil || port < 1 || port > 65535 {
				return wrong(field.Line, "port", "must be a number from 1 to 65535")
			}
			h.Port = port
		case !slices.Contains(sshFields, field.Name):
			// Other programs have fields of their own in such a file; only misspelled ones are mistakes.
			if near := text.Near(field.Name, sshFields); near != "" {
				return wrong(field.Line, configfile.Quote(field.Name), "is not a field; did you mean %q?", near)
			}
		case field.Value.Kind != configfile.Text:
			return wrong(field.Line, field.Name, "must be a string, not %s", field.Value.Kind)
		default:
			texts[field.Name], lines[field.Name] = field.Value.Text, field.Line
		}
	}
	first := func(names ...string) (text, from string) {
		for _, name := range names {
			if texts[name] != "" {
				return texts[name], name
			}
		}
		return "", names[0]
	}
	var user string
	h.Address, h.Description = texts["host"], texts["description"]
	h.User, user = first("username", "user")
	h.Key, _ = first("keyPath", "key")
	if rest, ok := strings.CutPrefix(h.Key, "~/"); ok {
		h.Key = filepath.Join(home, rest)
	}
	switch field, reason := h.Check(); field {
	case "":
		return h, true
	case "name":
		return wrong(m.Line, "", "has a name that %s", reason)
	case "user":
		return wrong(lines[user], user, reason)
	default:
		return wrong(lines[field], field, reason)
	}
}

// examineSSH reports the machines that models may reach.
func examineSSH(h *host, dir string, lookPath func(string) (string, error), add func(state, what, format string, args ...any)) {
	home, _ := h.home() // without one there are no files in it
	hosts, problems := sshHosts(dir, home)
	for _, p := range problems {
		add("problem", "ssh", "%s", p)
	}
	if len(hosts) == 0 {
		return
	}
	names := make([]string, 0, len(hosts))
	for _, host := range hosts {
		names = append(names, host.Name)
	}
	list := strings.Join(configfile.Shorten(names, 20), ", ")
	if _, err := lookPath("ssh"); err != nil {
		add("warning", "ssh", "not on PATH, so there is no tool for %s; install OpenSSH's client", list)
		return
	}
	add("ok", "ssh", "%s", list)
}
