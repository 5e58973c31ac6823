package slash

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/lsp"
)

// languageServers runs /lsp.
func languageServers(c *call) error {
	w := c.opts().Languages
	if w == nil {
		return c.say("This session has no language servers: they are switched off (--no-lsp, or lsp.enabled in config.yml).", nil)
	}
	verb, name, _ := strings.Cut(c.args, " ")
	name = strings.TrimSpace(name)
	switch verb {
	case "", "status":
		return lspStatus(c, w)
	case "restart":
		return lspRestart(c, w, name)
	case "log":
		return lspLog(c, w, name)
	default:
		return c.say("Use /lsp, /lsp restart [server] or /lsp log [server].", nil)
	}
}

// lspStatus shows the state of each server, and why others are not used.
func lspStatus(c *call, w *lsp.Workspace) error {
	servers, list, err := w.All(c)
	if err != nil {
		return err
	}
	var b strings.Builder
	if len(servers) == 0 {
		b.WriteString("No language server can be used in this workspace.\n")
	}
	for _, s := range servers {
		st := s.Status()
		fmt.Fprintf(&b, "- **%s** %s", st.Name, st.State)
		var facts []string
		if st.Info != "" {
			facts = append(facts, st.Info)
		}
		if st.PID != 0 {
			facts = append(facts, fmt.Sprintf("pid %d, up %s", st.PID, time.Since(st.Started).Round(time.Second)))
		}
		if st.State == lsp.StateReady {
			facts = append(facts, string(st.Encoding))
		}
		if st.Inside {
			facts = append(facts, "in the sandbox")
		}
		if st.Documents > 0 {
			facts = append(facts, fmt.Sprintf("%d open documents", st.Documents))
		}
		if st.Restarts > 0 {
			facts = append(facts, fmt.Sprintf("restarted %d times", st.Restarts))
		}
		if len(facts) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(facts, "; "))
		}
		fmt.Fprintf(&b, " in %s\n", filepath.ToSlash(st.Root))
		for _, p := range st.Progress {
			fmt.Fprintf(&b, "  - busy: %s\n", p)
		}
		if st.LastError != "" {
			fmt.Fprintf(&b, "  - last error: %s\n", strings.ReplaceAll(st.LastError, "\n", "\n    "))
		}
	}
	ownRust := slices.ContainsFunc(servers, func(s *lsp.Server) bool { return s.Name() == "rust-analyzer" && s.Status().Inside })
	if mux, ok := w.Catalog().(interface{ LspmuxStatus(context.Context) string }); ok && !ownRust {
		if line := mux.LspmuxStatus(c); line != "" {
			b.WriteString("\n" + line + "\n")
		}
	}
	writeUnused(&b, list.Unused, list.Problems)
	return c.say(strings.TrimSuffix(b.String(), "\n"), nil)
}

// writeUnused lists the servers or adapters that the user could make available for this workspace, and the mistakes in the
// configuration.
func writeUnused(b *strings.Builder, unused []lsp.Unused, problems []string) {
	if len(unused) > 0 {
		b.WriteString("\nNot used:\n")
		others := 0
		for _, u := range unused {
			if u.Elsewhere {
				others++
				continue
			}
			fmt.Fprintf(b, "- %s: %s\n", u.Name, u.Why)
		}
		if others > 0 {
			fmt.Fprintf(b, "- %d more are for other kinds of projects.\n", others)
		}
	}
	if len(problems) > 0 {
		b.WriteString("\nConfiguration:\n")
		for _, p := range problems {
			fmt.Fprintf(b, "- %s\n", p)
		}
	}
}

// named returns the servers that the workspace has used. If name is not empty, it returns only servers with that name.
func named(w *lsp.Workspace, name string) []*lsp.Server {
	var list []*lsp.Server
	for _, s := range w.Active() {
		if name == "" || s.Name() == name {
			list = append(list, s)
		}
	}
	return list
}

func lspRestart(c *call, w *lsp.Workspace, name string) error {
	servers := named(w, name)
	if len(servers) == 0 {
		return c.say(noSuchServer(w, name), nil)
	}
	w.Catalog().Changed(nil) // find servers installed or configured since
	var b strings.Builder
	for _, s := range servers {
		if err := s.Restart(c); err != nil {
			fmt.Fprintf(&b, "%s did not start: %v\n", s.Name(), err)
			continue
		}
		fmt.Fprintf(&b, "%s was restarted.\n", s.Name())
	}
	return c.say(strings.TrimSuffix(b.String(), "\n"), nil)
}

func lspLog(c *call, w *lsp.Workspace, name string) error {
	servers := named(w, name)
	if len(servers) == 0 {
		return c.say(noSuchServer(w, name), nil)
	}
	var b strings.Builder
	for _, s := range servers {
		log := strings.TrimSpace(s.Status().Log)
		if log == "" {
			log = "(nothing)"
		}
		fmt.Fprintf(&b, "**%s**\n\n```\n%s\n```\n", s.Name(), strings.ReplaceAll(log, "```", "'''"))
	}
	return c.say(strings.TrimSuffix(b.String(), "\n"), nil)
}

func noSuchServer(w *lsp.Workspace, name string) string {
	var names []string
	for _, s := range w.Active() {
		names = append(names, s.Name())
	}
	switch {
	case len(names) == 0:
		return "No language server has been used in this session yet; they start on first use."
	default:
		return fmt.Sprintf("No language server %q in this session; the servers are %s.", name, strings.Join(names, ", "))
	}
}
