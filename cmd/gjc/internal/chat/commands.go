package chat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
)

// commands are those of the chat itself. All others are the server's.
var commands = []struct{ name, hint, does string }{
	{"help", "", "list the commands and keys"},
	{"image", "PATH", "add a picture to the next prompt"},
	{"new", "", "begin another session"},
	{"resume", "[NUMBER | ID]", "list the sessions of this directory, or open one"},
	{"exit", "", "end; /quit is the same"},
}

const keysHelp = `Enter sends; Alt-Enter or a \ before Enter begins another line. Tab completes commands and, after @, paths. ` +
	`Up, Down and Ctrl-R find earlier lines. Ctrl-C empties the line or cancels the turn; Ctrl-D ends; Ctrl-Z suspends; Ctrl-L clears. ` +
	`@PATH in a prompt gives a file to the agent; of a picture, its contents.`

// local runs a command of the chat, and reports whether the line was one.
func (c *chat) local(line string) bool {
	name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
	args = strings.TrimSpace(args)
	switch name {
	case "/help":
		c.help()
	case "/exit", "/quit":
		c.over = true
	case "/new":
		s := headless.Session{Cwd: c.opts.Session.Cwd, Additional: c.opts.Session.Additional, System: c.opts.Session.System}
		c.open(&s, func(o *opened) {
			if o != nil {
				c.view.line(c.view.note("a new session", headless.Current(o.options, "model")))
			}
		})
	case "/resume":
		c.resume(args)
	case "/image":
		c.image(args)
	default:
		return c.unknown(name)
	}
	return true
}

// unknown reports whether a word looks like a command that does not exist, and says so.
func (c *chat) unknown(name string) bool {
	if len(c.view.commands) == 0 || !isCommand(name) || slices.ContainsFunc(c.view.commands, func(cmd acp.AvailableCommand) bool { return "/"+cmd.Name == name }) {
		return false
	}
	c.view.line("there is no command " + cleanLine(name) + "; /help lists them, and with a space before the / it is text")
	return true
}

// isCommand reports whether a word looks like the name of a command, and not like a path.
func isCommand(word string) bool {
	name, ok := strings.CutPrefix(word, "/")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789:_-") == ""
}

func (c *chat) help() {
	var b strings.Builder
	const indent = 26
	columns := 80
	if c.raw {
		columns, _ = c.opts.Terminal.Size()
	}
	width := func() int { return columns }
	row := func(name, hint, does string) {
		left := strings.TrimSpace("/" + cleanLine(name) + " " + cleanLine(hint))
		b.WriteString("  " + c.view.cyan(left))
		at := lineedit.Width(left) + 2
		if at >= indent {
			b.WriteByte('\n')
			at = 0
		}
		lines := filler{column: indent, hang: indent}
		b.WriteString(strings.Repeat(" ", indent-at) + lines.fill(cleanLine(does), width) + lines.flush(width) + "\n")
	}
	for _, cmd := range commands {
		row(cmd.name, cmd.hint, cmd.does)
	}
	for i := range c.view.commands {
		cmd := &c.view.commands[i]
		if isLocal(cmd.Name) {
			continue
		}
		hint := ""
		if in, ok := cmd.Input.(*acp.UnstructuredCommandInput); ok {
			hint = in.Hint
		}
		row(cmd.Name, hint, cmd.Description)
	}
	var keys filler
	c.view.print(c.view.fresh() + b.String() + c.view.dim(keys.fill(keysHelp, width)+keys.flush(width)) + "\n")
}

func isLocal(name string) bool {
	for _, cmd := range commands {
		if cmd.name == name {
			return true
		}
	}
	return name == "quit"
}

// complete completes the last word of a line: a command, its argument, or a path.
func (c *chat) complete(line string) lineedit.Completion {
	from := strings.LastIndexAny(line, " \n") + 1
	word := line[from:]
	command, _, hasArgs := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "/") && !hasArgs:
		var names []string
		for _, cmd := range commands {
			names = append(names, "/"+cmd.name+" ")
		}
		for i := range c.view.commands {
			if name := c.view.commands[i].Name; !isLocal(name) {
				names = append(names, "/"+name+" ")
			}
		}
		return lineedit.Completion{Candidates: matching(names, line)}
	case strings.HasPrefix(word, "@"):
		return lineedit.Completion{From: from + 1, Candidates: c.paths(word[1:])}
	case command == "/image":
		return lineedit.Completion{From: from, Candidates: c.paths(word)}
	case command == "/resume":
		var ids []string
		for i := range c.listed {
			ids = append(ids, string(c.listed[i].SessionID))
		}
		return lineedit.Completion{From: from, Candidates: matching(ids, word)}
	case strings.HasPrefix(line, "/"):
		return lineedit.Completion{From: from, Candidates: matching(c.values(command[1:]), word)}
	default:
		return lineedit.Completion{}
	}
}

// values returns the values of a session's option.
func (c *chat) values(option string) []string {
	var values []string
	for i := range c.view.options {
		kind, ok := c.view.options[i].Kind.(*acp.SessionConfigSelect)
		if !ok || string(c.view.options[i].ID) != option {
			continue
		}
		switch list := kind.Options.(type) {
		case acp.SessionConfigUngroupedOptions:
			for _, o := range list {
				values = append(values, string(o.Value))
			}
		case acp.SessionConfigGroupedOptions:
			for _, group := range list {
				for _, o := range group.Options {
					values = append(values, string(o.Value))
				}
			}
		}
	}
	return values
}

// matching returns the sorted texts with a prefix.
func matching(all []string, prefix string) []string {
	var found []string
	for _, s := range all {
		if strings.HasPrefix(s, prefix) {
			found = append(found, s)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// maxEntries bounds the entries of a directory that are read for a completion.
const maxEntries = 2000

// paths returns the paths that begin with prefix, relative to the session's directory. A directory ends with a slash, a file with a space.
func (c *chat) paths(prefix string) []string {
	dir, name := filepath.Split(prefix)
	where := dir
	if !filepath.IsAbs(where) {
		where = filepath.Join(c.view.cwd, dir)
	}
	f, err := os.Open(where)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	entries, _ := f.ReadDir(maxEntries)
	var found []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name) || name == "" && strings.HasPrefix(e.Name(), ".") || strings.ContainsAny(e.Name(), " \n") {
			continue
		}
		end := " "
		if info, err := os.Stat(filepath.Join(where, e.Name())); err == nil && info.IsDir() {
			end = "/"
		}
		found = append(found, dir+e.Name()+end)
	}
	slices.Sort(found)
	return found
}
