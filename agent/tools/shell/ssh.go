package shell

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed ssh.md
var sshText string

const (
	sshTimeout = 60.0 // seconds
	// maxHosts bounds the hosts in the description.
	maxHosts = 30
)

// SSHHost is a machine that the user lets models reach.
type SSHHost struct {
	// Name is the name by which models refer to the machine.
	Name string
	// Address is a host name, an address, or a host of the user's ssh configuration.
	Address string
	// User, Port and Key override that configuration unless they are empty; Key is the path of a file.
	User, Key string
	Port      int
	// Description is for the model.
	Description string
}

// Check returns the invalid part of the host (name, host, user, port) and the reason. Both are empty if the host is valid.
func (h *SSHHost) Check() (part, why string) {
	odd := func(s string) bool {
		return strings.HasPrefix(s, "-") || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	}
	switch {
	case h.Name == "" || odd(h.Name):
		return "name", "is empty, begins with - or contains spaces"
	case h.Address == "" || odd(h.Address):
		return "host", "is missing, begins with - or contains spaces"
	case odd(h.User) || strings.Contains(h.User, "@"):
		return "user", "begins with - or contains spaces or @"
	case h.Port < 0 || h.Port > 65535:
		return "port", "is not between 1 and 65535"
	}
	return "", ""
}

// target formats the machine's address for people.
func (h *SSHHost) target() string {
	s := h.Address
	if h.User != "" {
		s = h.User + "@" + s
	}
	if h.Port != 0 {
		s += ":" + strconv.Itoa(h.Port)
	}
	return s
}

// args returns the arguments of ssh for a command; options are those of the connection. ssh asks no question on a terminal and
// forwards nothing from this machine. The user's configuration determines which host keys are known.
func (h *SSHHost) args(options []string, command string) []string {
	args := []string{"-T", "-n", "-a", "-x"}
	for _, o := range append([]string{"BatchMode=yes", "ClearAllForwardings=yes", "PermitLocalCommand=no", "ConnectTimeout=15"}, options...) {
		args = append(args, "-o", o)
	}
	if h.Port != 0 {
		args = append(args, "-p", strconv.Itoa(h.Port))
	}
	if h.User != "" {
		args = append(args, "-l", h.User)
	}
	if h.Key != "" {
		args = append(args, "-i", h.Key)
	}
	return append(args, "--", h.Address, command)
}

type sshInput struct {
	Host    string  `json:"host" jsonschema:"one of the hosts in the description"`
	Command string  `json:"command" jsonschema:"the command line for the remote shell"`
	Cwd     string  `json:"cwd,omitzero" jsonschema:"remote directory to run in"`
	Timeout float64 `json:"timeout,omitzero" jsonschema:"seconds, 1 to 3600; 60 if absent"`
}

// SSH returns the tool for hosts, which must not be empty.
func SSH(hosts []SSHHost, set *BashSettings) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[sshInput]{
		Schemas: schemas,
		Name:    "ssh", Description: toolkit.Description(sshText) + "\n\n" + listed(hosts), Kind: agent.KindExecute, Exclusive: true, Program: "ssh",
		Plan: func(_ context.Context, call *agent.Call, in *sshInput) (*agent.CallPlan, error) {
			c, err := in.command(call, hosts, set)
			if err != nil {
				return nil, err
			}
			title := "On " + c.host.Name + ": " + toolkit.CommandTitle(in.Command)
			return &agent.CallPlan{
				Title: title, Content: c.shown(), Effects: []approval.Effect{toolkit.ServerEffect(title, "ssh", c.host.Name, c.line)},
			}, nil
		},
		Run: func(ctx context.Context, call *agent.Call, in *sshInput) (*agent.Result, error) {
			c, err := in.command(call, hosts, set)
			if err != nil {
				return nil, err
			}
			return c.run(ctx, call)
		},
	})
}

// listed returns the part of the tool's description that lists the hosts.
func listed(hosts []SSHHost) string {
	var b strings.Builder
	b.WriteString("Hosts:")
	for i, h := range hosts {
		if i == maxHosts {
			fmt.Fprintf(&b, "\n- and %d more", len(hosts)-i)
			break
		}
		b.WriteString("\n- " + h.Name)
		if d := strings.Join(strings.Fields(h.Description), " "); d != "" {
			b.WriteString(": " + toolkit.CutLine(d, 100))
		}
	}
	return b.String()
}

// sshCommand is a checked call. Its line is for the remote shell.
type sshCommand struct {
	*bashCommand
	host *SSHHost
}

func (in *sshInput) command(call *agent.Call, hosts []SSHHost, set *BashSettings) (*sshCommand, error) {
	c := &sshCommand{bashCommand: &bashCommand{line: strings.TrimSpace(in.Command), dir: call.Workspace.Cwd, timeout: sshTimeout}}
	bad := func(format string, args ...any) (*sshCommand, error) {
		return nil, fmt.Errorf("%w for ssh: "+format, append([]any{agent.ErrBadInput}, args...)...)
	}
	var names []string
	for i := range hosts {
		if hosts[i].Name == in.Host {
			c.host = &hosts[i]
		}
		names = append(names, hosts[i].Name)
	}
	switch {
	case c.host == nil:
		return bad("unknown host %q; the hosts are %s", toolkit.CutLine(in.Host, toolkit.MaxColumns), strings.Join(names[:min(len(names), maxHosts)], ", "))
	case c.line == "":
		return bad("command is empty")
	case strings.ContainsRune(c.line+in.Cwd, 0):
		return bad("it contains a NUL byte")
	case strings.ContainsAny(in.Cwd, "\r\n"):
		return bad("cwd contains a line break")
	}
	if in.Cwd != "" {
		c.line = "cd -- " + remoteDir(in.Cwd) + " || exit\n" + c.line
	}
	set.limit(c.bashCommand, in.Timeout)
	return c, nil
}

// remoteDir quotes a directory for a shell that expands ~.
func remoteDir(dir string) string {
	switch rest, inHome := strings.CutPrefix(dir, "~/"); {
	case dir == "~":
		return "~"
	case inHome && rest != "":
		return "~/" + text.ShellQuote(rest)
	case inHome:
		return "~"
	default:
		return text.ShellQuote(dir)
	}
}

func (c *sshCommand) shown() []agent.Content {
	return []agent.Content{agent.TextContent{Text: "on " + c.host.Name + " (" + c.host.target() + ")\n$ " + c.line}}
}

func (c *sshCommand) run(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	path, err := call.Programs.LookPath("ssh")
	if err != nil {
		return nil, fmt.Errorf("cannot find ssh: %w", err)
	}
	r := &bashRun{call: call, command: c.bashCommand, shown: c.shown(), name: toolkit.CommandTitle(c.line)}
	args := append([]string{path}, c.host.args(sshLinksOf(call).options(call, path, c.host), c.line)...)
	if err := r.begin(ctx, agent.Command{Args: args, Dir: c.dir}); err != nil {
		return nil, err
	}
	waitCtx, cancel := context.WithTimeoutCause(ctx, r.limit(), errBashTimeout)
	defer cancel()
	status, err := r.exec.Wait(waitCtx)
	if err == nil && status.Code == 255 {
		r.command.notes = append(r.command.notes, "Exit code 255 is from ssh itself: it could not reach "+c.host.Name+", or was refused. No password can be typed; the host key must be known, and a key of the user must be accepted.")
	}
	return r.close(ctx, waitCtx, status, err, false)
}
