package slash

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/lsp"
)

// debugSessions runs /debug.
func debugSessions(c *call) error {
	d := c.opts().Debugger
	if d == nil {
		return c.say("This session has no debugger: debug.enabled in config.yml is false.", nil)
	}
	verb, name, _ := strings.Cut(c.args, " ")
	switch verb {
	case "", "status":
		return debugStatus(c, d)
	case "stop":
		return debugStop(c, d, strings.TrimSpace(name))
	default:
		return c.say("Use /debug or /debug stop [session].", nil)
	}
}

// debugStatus shows the debug sessions, the available adapters, and why other adapters are not used.
func debugStatus(c *call, d *debug.Debugger) error {
	var b strings.Builder
	sessions := d.Sessions.Sessions()
	if len(sessions) == 0 {
		b.WriteString("No debug session is running.\n")
	}
	for _, s := range sessions {
		writeDebugSession(&b, s.Peek(), "")
	}
	list, err := d.Adapters.List(c)
	if err != nil {
		return err
	}
	b.WriteString("\nDebug adapters:\n")
	for _, a := range list.Adapters {
		fmt.Fprintf(&b, "- **%s** for %s (%s)\n", a.Name, strings.Join(a.Languages, ", "), filepath.ToSlash(a.Path))
		for _, n := range a.Notes {
			fmt.Fprintf(&b, "  - %s\n", n)
		}
	}
	if len(list.Adapters) == 0 {
		b.WriteString("- none installed\n")
	}
	unused := make([]lsp.Unused, len(list.Unused))
	for i, u := range list.Unused {
		unused[i] = lsp.Unused(u)
	}
	writeUnused(&b, unused, list.Problems)
	return c.say(strings.TrimSuffix(b.String(), "\n"), nil)
}

func writeDebugSession(b *strings.Builder, s *dap.Snapshot, indent string) {
	fmt.Fprintf(b, "%s- **%s** %s", indent, s.ID, s.State)
	if s.Stop != nil {
		fmt.Fprintf(b, " (%s)", s.Stop.Reason)
	}
	fmt.Fprintf(b, ": %s %s with %s", s.Request, filepath.ToSlash(s.Program), s.Adapter)
	if s.PID != 0 && s.State != dap.StateTerminated {
		fmt.Fprintf(b, ", pid %d", s.PID)
	}
	if s.ExitCode != nil {
		fmt.Fprintf(b, ", exit code %d", *s.ExitCode)
	}
	if f := s.Frame; f != nil && f.Path != "" {
		fmt.Fprintf(b, ", at %s:%d in %s", filepath.ToSlash(f.Path), f.Line, f.Name)
	}
	if s.Ended != nil {
		fmt.Fprintf(b, ", because %s", strings.ReplaceAll(s.Ended.Error(), "\n", " "))
	}
	b.WriteString("\n")
	for _, child := range s.Children {
		writeDebugSession(b, child, indent+"  ")
	}
}

// debugStop ends the session with an ID, or all sessions if it is empty.
func debugStop(c *call, d *debug.Debugger, id string) error {
	var b strings.Builder
	for _, s := range d.Sessions.Sessions() {
		if s.State() == dap.StateTerminated || id != "" && s.ID() != id {
			continue
		}
		ctx, cancel := context.WithTimeout(c, 5*time.Second)
		err := s.Terminate(ctx, false)
		cancel()
		if err != nil {
			fmt.Fprintf(&b, "%s could not be ended: %v\n", s.ID(), err)
			continue
		}
		fmt.Fprintf(&b, "%s was ended.\n", s.ID())
	}
	if b.Len() == 0 {
		b.WriteString("No debug session with that name is running.\n")
	}
	return c.say(strings.TrimSuffix(b.String(), "\n"), nil)
}
