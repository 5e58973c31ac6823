package debug

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/internal/text"
)

// sideEffect is a change to the program by an action, and its description for the user.
type sideEffect struct {
	effect approval.Effect
	shown  string
}

// evaluates reports whether the call contains anything that the adapter could evaluate, or changes the program.
func (c *debugCall) evaluates() bool {
	switch in := c.in; in.Action {
	case "evaluate", "completions", "set_variable", "set_expression", "write_memory", "custom_request", "goto":
		return true
	case "set_breakpoint", "set_instruction_breakpoint", "set_data_breakpoint", "set_exception_breakpoints":
		return in.Condition != "" || in.HitCondition != "" || in.LogMessage != "" || in.Function != "" || in.InstructionReference != "" || len(in.Conditions) > 0
	case "data_breakpoint_info":
		return c.ref() == 0
	case "read_memory", "disassemble":
		return in.MemoryReference != ""
	default:
		return false
	}
}

// sideEffects returns the side effects of the call. The user is asked about each separately, and an answer to one permits no other.
// Changes of variables to plain values are the exception: an answer permits all of them in the same program.
func (c *debugCall) sideEffects(bare bool) []sideEffect {
	return append(c.conditionEffects(bare), c.actionEffects(bare)...)
}

// conditionEffects returns the side effects of expressions that the program evaluates at breakpoints.
func (c *debugCall) conditionEffects(bare bool) []sideEffect {
	in := c.in
	var list []sideEffect
	add := func(what, text string, plain bool) {
		if text != "" && !plain {
			list = append(list, c.exactly(fmt.Sprintf("%s: %s of %s\nIt is evaluated in the program each time.", c.title(), what, text)))
		}
	}
	add("condition", in.Condition, plainExpression(in.Condition, bare))
	add("hit condition", string(in.HitCondition), plainHits(string(in.HitCondition)))
	add("log message", in.LogMessage, plainLog(in.LogMessage, bare))
	for _, filter := range in.Filters {
		if text := in.Conditions[filter]; !plainTypes(text, bare) {
			add("condition for "+filter, text, plainExpression(text, bare))
		}
	}
	return list
}

// exactly returns a side effect that an answer permits only in this exact wording.
func (c *debugCall) exactly(shown string) sideEffect {
	return c.sideEffect(c.title(), shown, "this exact step", shown)
}

// actionEffects returns the side effects of the action itself.
func (c *debugCall) actionEffects(bare bool) (list []sideEffect) {
	in := c.in
	exact := func(shown string) { list = append(list, c.exactly(shown)) }
	switch in.Action {
	case "evaluate":
		if context := c.evaluateContext(bare); !plainExpression(in.Expression, bare) || !slices.Contains(evaluateContexts, context) {
			exact(fmt.Sprintf("Evaluate (%s):\n%s", context, in.Expression))
		}
	case "completions":
		if text := strings.TrimRight(in.Expression, "."); text != "" && !plainExpression(text, bare) {
			exact("Complete, which may evaluate the expression:\n" + in.Expression)
		}
	case "data_breakpoint_info":
		if !plainExpression(in.Name, bare) {
			exact("Evaluate for a data breakpoint:\n" + in.Name)
		}
	case "set_variable", "set_expression":
		list = append(list, c.assignment(bare))
	case "write_memory":
		shown := fmt.Sprintf("Write to %s + %d:\n", in.MemoryReference, in.Offset)
		if data, err := memoryData(in); err == nil {
			shown += toolkit.CutBytes(hexdump("", data), toolkit.MaxText)
		}
		list = append(list, c.sideEffect(c.title(), shown, "this exact step", fmt.Sprintf("write %q %d %q", in.MemoryReference, in.Offset, in.Data)))
	case "custom_request":
		exact("Debug adapter request " + in.Command + "\n" + string(in.Arguments))
	case "goto":
		list = append(list, c.sideEffect(c.title(), c.title()+": the code in between does not run.", "jumps in "+c.programName(), "goto"))
	case "read_memory", "disassemble":
		if !plainReference(in.MemoryReference) {
			exact(c.title())
		}
	case "set_instruction_breakpoint":
		if !plainReference(in.InstructionReference) {
			exact(c.title())
		}
	case "set_breakpoint":
		if !plainFunction(in.Function) {
			exact(c.title())
		}
	}
	return list
}

// assignment returns the side effect of set_variable and set_expression.
func (c *debugCall) assignment(bare bool) sideEffect {
	in := c.in
	target, plain := in.Name, plainExpression(in.Name, false) // some adapters join name and value to one string and evaluate it
	if in.Action == "set_expression" {
		target, plain = in.Expression, plainExpression(in.Expression, bare)
	}
	shown := target + " = " + string(in.Value)
	if plain && plainExpression(string(in.Value), bare) {
		return c.sideEffect(c.title(), shown, "changes to variables of "+c.programName(), "variables")
	}
	return c.exactly(shown)
}

// again returns the side effect of a restart: the program may have changed, so the user is asked as for a launch.
func (c *debugCall) again() sideEffect {
	st := c.session.Started()
	program, _ := nodeID(st.Program)
	if !filepath.IsAbs(program) {
		program = ""
	}
	name := text.VisibleLine(toolkit.Display(&c.call.Workspace, st.Program))
	e := approval.Effect{Action: approval.ActionDebug, Path: program, Host: st.Host(), Subject: st.Subject, Covers: st.Covers, Title: "Restart " + name, Where: c.where()}
	return sideEffect{e, "Start " + name + " again, as it is now."}
}

// typeNames matches a list of exception types, which some adapters evaluate as a condition.
var typeNames = lazyregexp.New(`^\s*[A-Z_a-z][\w.:]*(\s*,\s*[A-Z_a-z][\w.:]*)*\s*$`)

// constants is typeNames for languages in which other names can be calls.
var constants = lazyregexp.New(`^\s*[A-Z][\w:]*(\s*,\s*[A-Z][\w:]*)*\s*$`)

func plainTypes(text string, bareCalls bool) bool {
	if bareCalls {
		return constants().MatchString(text)
	}
	return typeNames().MatchString(text)
}

// sideEffect returns a side effect. Its subject names the program, so that an answer applies to no other program.
func (c *debugCall) sideEffect(title, shown, covers, subject string) sideEffect {
	if c.session != nil {
		snap := c.session.Peek()
		subject = fmt.Sprintf("%s %q %q %q %s", c.in.Action, snap.Adapter, snap.Program, c.in.Context, subject)
	} else {
		subject = fmt.Sprintf("%s %s", c.in.Action, subject)
	}
	return sideEffect{approval.Effect{Action: approval.ActionDebug, Subject: subject, Covers: covers, Title: title, Where: c.where()}, text.Visible(shown)}
}

// where says where the session's program runs.
func (c *debugCall) where() approval.Where {
	switch {
	case c.session == nil:
		return approval.Started // a condition for the next session
	case c.session.Started().Inside:
		return approval.Inside
	default:
		return approval.Outside
	}
}

// programName returns the program of the session, for people.
func (c *debugCall) programName() string {
	if c.session == nil {
		return "the program"
	}
	return toolkit.Display(&c.call.Workspace, c.session.Peek().Program)
}

// bareCallers are languages in which a name alone can be a call.
var bareCallers = []string{"ruby", "elixir", "perl", "crystal", "groovy", "scala"}

// bareKinds are the adapters (see [dap.Spec]) for such languages.
var bareKinds = []string{"rdbg", "elixir-ls-debugger"}

// bareCalls reports whether a name alone can be a call in the program's language.
func (c *debugCall) bareCalls(ctx context.Context) bool {
	bareFile := func(path string) bool {
		ext := strings.ToLower(filepath.Ext(path))
		return slices.Contains([]string{".rb", ".rake", ".gemspec", ".ru", ".ex", ".exs", ".heex", ".eex", ".pl", ".pm", ".cr", ".groovy", ".scala"}, ext)
	}
	if bareFile(c.path) {
		return true
	}
	if c.session == nil {
		return false
	}
	snap := c.session.Peek()
	if bareFile(snap.Program) {
		return true
	}
	list, err := c.adapters.List(ctx)
	if err != nil {
		return true // unknown; an extra question is harmless
	}
	for _, spec := range list.Adapters {
		if spec.Name == snap.Adapter {
			// A project's definition of the languages needs no trust, so the kind is checked, too.
			return slices.Contains(bareKinds, spec.Kind) || slices.ContainsFunc(spec.Languages, func(l string) bool { return slices.Contains(bareCallers, strings.ToLower(l)) })
		}
	}
	return false
}
