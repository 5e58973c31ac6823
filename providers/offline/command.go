package offline

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

//go:embed commands.txt
var commandsText string

//go:embed explanation.txt
var explanationText string

func explanation() string {
	return strings.Replace(explanationText, "COMMANDS", strings.TrimSpace(commandsText), 1)
}

// A command is one line "!name arguments".
type command struct {
	index int
	name  string
	args  string
}

// parse returns the commands in text: the lines in which a letter follows "!".
func parse(text string) []command {
	var list []command
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		rest, ok := strings.CutPrefix(line, "!")
		if !ok || rest == "" || rest[0] < 'a' || rest[0] > 'z' {
			continue
		}
		name, args := cutWord(rest)
		list = append(list, command{index: len(list), name: name, args: args})
	}
	return list
}

// A toolInput makes the input of a command that is one tool call.
type toolInput struct {
	tool  string
	usage string
	// optional tools are called only if the request offers them.
	optional bool
	input    func(args string) (any, error)
}

var errUsage = errors.New("the arguments are missing or invalid")

// inputs holds the commands that call a fixed tool.
var inputs = map[string]toolInput{
	"read":    {"read", "!read F", false, readInput},
	"write":   {"write", "!write F TEXT", false, writeInput},
	"edit":    {"edit", "!edit F OLD => NEW", false, editInput},
	"bash":    {"bash", "!bash CMD", false, one("command")},
	"search":  {"search", "!search RE", false, one("pattern")},
	"find":    {"find", "!find GLOB", false, findInput},
	"plan":    {"todo_write", "!plan A; B", false, planInput},
	"todo":    {"todo_write", "!todo A; B", false, planInput},
	"ask":     {"ask", "!ask Q | A | B", true, askInput(false)},
	"choose":  {"ask", "!choose Q | A | B", true, askInput(true)},
	"task":    {"task", "!task TEXT", true, taskInput},
	"lsp":     {"lsp", "!lsp ACTION [name=value …]", true, actionInput},
	"debug":   {"debug", "!debug ACTION [name=value …]", true, actionInput},
	"present": {"present_plan", "!present TITLE | PLAN", true, presentInput},
	"mcpres":  {"mcp_read_resource", "!mcpres SERVER URI", true, resourceInput},
}

// command runs one command: it writes text, calls a tool, or ends the answer.
func (a *answer) command(t *turn, c command) {
	id := t.id + strconv.Itoa(c.index)
	if in, ok := inputs[c.name]; ok {
		a.toolCommand(id, in, c)
		return
	}
	switch c.name {
	case "mcp":
		a.mcp(id, c.args)
	case "say":
		a.sayCommand(c.args)
	case "think":
		if c.args != "" {
			a.send(providers.ThinkingDelta{Text: unescape(c.args)})
		}
	case "stop":
		a.stopCommand(c.args)
	case "fail":
		a.failCommand(c.args)
	case "usage":
		a.usageCommand(c.args)
	case "sleep":
		a.sleepCommand(c.args)
	case "wait":
		<-a.ctx.Done()
		a.fail(context.Cause(a.ctx))
	default:
		a.text("Unknown command !" + c.name + ". Send a message without commands to see the list.\n")
	}
}

func (a *answer) toolCommand(id string, in toolInput, c command) {
	if in.optional && !a.offered(in.tool) {
		a.text("This build offers no tool called " + in.tool + ".\n")
		return
	}
	input, err := in.input(c.args)
	if err != nil {
		a.text("!" + c.name + ": " + err.Error() + ". Use: " + in.usage + "\n")
		return
	}
	raw, err := jsonx.Marshal(input)
	if err != nil {
		a.text("!" + c.name + ": " + err.Error() + "\n")
		return
	}
	a.call(id, in.tool, raw)
}

func (a *answer) mcp(id, args string) {
	name, input := cutWord(args)
	tool := a.findTool(name)
	switch {
	case name == "":
		a.text("!mcp: " + errUsage.Error() + ". Use: !mcp TOOL JSON\n")
	case tool == "" && strings.HasPrefix(name, "mcp__") && a.findTool("search_tools") != "":
		a.call(id, name, objectOf(input)) // it may be held back until a model finds it
	case tool == "":
		a.text("This session offers no tool called " + name + ".\n")
	default:
		a.call(id, tool, objectOf(input))
	}
}

// objectOf returns the input of a call, which is an empty object if none is given.
func objectOf(input string) []byte {
	if input == "" {
		return []byte("{}")
	}
	return []byte(input)
}

func (a *answer) sayCommand(args string) {
	n, err := strconv.Atoi(args)
	if err != nil {
		a.say(unescape(args) + "\n")
		return
	}
	const most = 1_000_000
	for i := range min(n, most) {
		if !a.send(providers.TextDelta{Text: words[i%len(words)]}) {
			return
		}
	}
}

// words are the words of a generated text, each with a trailing space. sayCommand repeats them to reach the requested length.
var words = [...]string{
	"This ", "text ", "comes ", "from ", "the ", "offline ", "model; ", "it ", "has ", "as ", "many ", "words ", "as ", "were ",
	"asked ", "for. ",
}

// usageCommand sets the number of tokens that the answer reports.
func (a *answer) usageCommand(args string) {
	n, err := strconv.Atoi(args)
	if err != nil || n < 0 {
		a.text("!usage: " + errUsage.Error() + ". Use: !usage N\n")
		return
	}
	a.input = &n
	a.tellUsage()
}

const longestSleep = 10 * time.Minute

func (a *answer) sleepCommand(args string) {
	ms, err := strconv.Atoi(args)
	wait := time.Duration(ms) * time.Millisecond
	if err != nil || wait < 0 || wait > longestSleep {
		a.text("!sleep: " + errUsage.Error() + ". Use: !sleep MS, at most " + strconv.Itoa(int(longestSleep.Milliseconds())) + "\n")
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.ctx.Done():
		a.fail(context.Cause(a.ctx))
	}
}

func (a *answer) stopCommand(args string) {
	switch args {
	case "length":
		a.text("This answer ends at its length limit")
		a.stop = providers.StopLength
	case "refusal":
		a.text("This request is refused, as you asked.")
		a.stop = providers.StopRefusal
	default:
		a.text("Use: !stop length, or !stop refusal\n")
		return
	}
	a.done()
}

func (a *answer) failCommand(args string) {
	kind := providers.ErrorKind(args)
	message, ok := failures[kind]
	if !ok {
		a.text("Use: !fail KIND, where KIND is auth, rate_limit, quota, overloaded, server, network, timeout, " +
			"context_overflow, invalid_request, model or protocol\n")
		return
	}
	a.fail(&providers.Error{Kind: kind, Provider: a.info.Provider, Model: a.info.ID, Message: message})
}

var failures = map[providers.ErrorKind]string{
	providers.KindAuth:            "the API key was refused (asked for by !fail)",
	providers.KindRateLimit:       "too many requests (asked for by !fail)",
	providers.KindQuota:           "the account has no credit left (asked for by !fail)",
	providers.KindOverloaded:      "the provider is overloaded (asked for by !fail)",
	providers.KindServer:          "the provider failed (asked for by !fail)",
	providers.KindNetwork:         "the connection broke (asked for by !fail)",
	providers.KindTimeout:         "nothing arrived for too long (asked for by !fail)",
	providers.KindContextOverflow: "the conversation is longer than the model's window (asked for by !fail)",
	providers.KindInvalid:         "the request is malformed (asked for by !fail)",
	providers.KindModel:           "the model does not exist (asked for by !fail)",
	providers.KindProtocol:        "the answer is invalid (asked for by !fail)",
}

func (a *answer) offered(name string) bool {
	for i := range a.req.Tools {
		if a.req.Tools[i].Name == name {
			return true
		}
	}
	return false
}

// findTool returns the offered tool called name, or else the only MCP tool whose name on its server is name.
func (a *answer) findTool(name string) string {
	if name == "" || a.offered(name) {
		return name
	}
	found := ""
	for i := range a.req.Tools {
		tool := a.req.Tools[i].Name
		if strings.HasPrefix(tool, "mcp__") && strings.HasSuffix(tool, "_"+name) {
			if found != "" {
				return ""
			}
			found = tool
		}
	}
	return found
}
