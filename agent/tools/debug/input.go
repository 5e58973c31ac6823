package debug

import (
	"errors"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// debugInput holds the parameters of all actions. Each action uses some of them.
type debugInput struct {
	Action  string `json:"action" jsonschema:"an action from the description"`
	Session string `json:"session,omitzero" jsonschema:"debug session, such as debug-1 (child: debug-1.1); the last one used if absent"`
	startInput
	breakpointInput
	frameInput
	memoryInput
	Timeout float64 `json:"timeout,omitzero" jsonschema:"seconds to wait, 5 to 300; 30 if absent"`
}

// startInput holds the parameters of launch and attach.
type startInput struct {
	Program       string            `json:"program,omitzero" jsonschema:"launch: source file, binary, Go package directory or pytest node id"`
	Args          []string          `json:"args,omitzero" jsonschema:"launch: arguments of the program"`
	Cwd           string            `json:"cwd,omitzero" jsonschema:"launch: directory to run in"`
	Env           map[string]string `json:"env,omitzero" jsonschema:"launch: environment variables to set"`
	Mode          string            `json:"mode,omitzero" jsonschema:"launch: debug, test, exec or core; the one that fits if absent"`
	StopOnEntry   *bool             `json:"stop_on_entry,omitzero" jsonschema:"launch, attach: stop at once; if absent, true unless breakpoints are set"`
	Terminal      bool              `json:"terminal,omitzero" jsonschema:"launch: run in the user's terminal, for programs that read from it"`
	Core          string            `json:"core,omitzero" jsonschema:"launch: core file to inspect"`
	Adapter       string            `json:"adapter,omitzero" jsonschema:"debug adapter, such as dlv, debugpy, lldb-dap; the one that fits if absent"`
	Configuration string            `json:"configuration,omitzero" jsonschema:"launch, attach: name of a configuration in .vscode/launch.json"`
	Arguments     jsonText          `json:"arguments,omitzero" jsonschema:"JSON object: launch, attach: members for the adapter, overriding all others; custom_request: its arguments"`
	PID           int               `json:"pid,omitzero" jsonschema:"attach: process id"`
	Host          string            `json:"host,omitzero" jsonschema:"attach: host of port; 127.0.0.1 if absent"`
	Port          int               `json:"port,omitzero" jsonschema:"attach: port"`
	Listen        bool              `json:"listen,omitzero" jsonschema:"attach: wait on port for the program to connect"`
}

// breakpointInput holds the parameters of breakpoints, and of the actions on a line of a file.
type breakpointInput struct {
	File         string            `json:"file,omitzero" jsonschema:"source file, for breakpoints, run_to, goto"`
	Line         int               `json:"line,omitzero" jsonschema:"line in file, from 1"`
	Function     string            `json:"function,omitzero" jsonschema:"breakpoint on a function instead of file and line"`
	Condition    string            `json:"condition,omitzero" jsonschema:"breakpoint: expression that must be true"`
	HitCondition scalar            `json:"hit_condition,omitzero" jsonschema:"breakpoint: hit count at which to stop, such as >= 5"`
	LogMessage   string            `json:"log_message,omitzero" jsonschema:"breakpoint: print this instead of stopping; {x} prints an expression"`
	Filters      []string          `json:"filters,omitzero" jsonschema:"set_exception_breakpoints: the complete list to stop at; empty for none; absent lists them"`
	Conditions   map[string]string `json:"conditions,omitzero" jsonschema:"set_exception_breakpoints: conditions by filter"`
}

// frameInput holds the parameters of actions on threads, frames and variables.
type frameInput struct {
	FrameID     int    `json:"frame_id,omitzero" jsonschema:"frame, from stack_trace; the top one if absent"`
	ScopeID     int    `json:"scope_id,omitzero" jsonschema:"scope, from scopes (ref)"`
	VariableRef int    `json:"variable_ref,omitzero" jsonschema:"variable with children (ref)"`
	Name        string `json:"name,omitzero" jsonschema:"variable, for set_variable and data_breakpoint_info"`
	Value       scalar `json:"value,omitzero" jsonschema:"set_variable, set_expression: new value"`
	Expression  string `json:"expression,omitzero" jsonschema:"evaluate, set_expression; completions: text to complete"`
	Context     string `json:"context,omitzero" jsonschema:"evaluate: watch, repl, hover, variables or clipboard"`
	Column      int    `json:"column,omitzero" jsonschema:"completions: position in the text, from 1; its end if absent"`
	Depth       int    `json:"depth,omitzero" jsonschema:"inspect: frames, 1 to 10; 3 if absent"`
	Levels      int    `json:"levels,omitzero" jsonschema:"stack_trace: frames; 20 if absent"`
	Thread      int    `json:"thread,omitzero" jsonschema:"thread or goroutine; the one that stopped if absent"`
	Target      *int   `json:"target,omitzero" jsonschema:"step_in, goto: id from step_in_targets, goto_targets"`
	Granularity string `json:"granularity,omitzero" jsonschema:"steps: statement, line or instruction"`
}

// memoryInput holds the parameters of actions on memory, instructions, modules and sources, and of custom requests.
type memoryInput struct {
	MemoryReference      string `json:"memory_reference,omitzero" jsonschema:"address or reference, for memory and disassemble"`
	InstructionReference string `json:"instruction_reference,omitzero" jsonschema:"instruction breakpoint: address"`
	Offset               int    `json:"offset,omitzero" jsonschema:"bytes after the reference; variables, stack_trace: how many to skip"`
	Count                int    `json:"count,omitzero" jsonschema:"read_memory: bytes; variables: how many"`
	InstructionCount     int    `json:"instruction_count,omitzero" jsonschema:"disassemble: how many instructions"`
	InstructionOffset    int    `json:"instruction_offset,omitzero" jsonschema:"disassemble: instructions after the reference"`
	ResolveSymbols       bool   `json:"resolve_symbols,omitzero" jsonschema:"disassemble: with symbols"`
	Data                 string `json:"data,omitzero" jsonschema:"write_memory: bytes in base64"`
	AllowPartial         bool   `json:"allow_partial,omitzero" jsonschema:"write_memory: fewer bytes may be written"`
	DataID               string `json:"data_id,omitzero" jsonschema:"data breakpoint: id from data_breakpoint_info"`
	AccessType           string `json:"access_type,omitzero" jsonschema:"data breakpoint: read, write or readWrite"`
	SourceReference      int    `json:"source_reference,omitzero" jsonschema:"source: reference from loaded_sources"`
	StartModule          int    `json:"start_module,omitzero" jsonschema:"modules: first one, from 0"`
	ModuleCount          int    `json:"module_count,omitzero" jsonschema:"modules: how many"`
	Command              string `json:"command,omitzero" jsonschema:"custom_request: the DAP request"`
}

// jsonText is a JSON value that a model may also write as a string.
type jsonText string

// UnmarshalJSON implements the decoding for [jsonx].
func (j *jsonText) UnmarshalJSON(data []byte) error {
	raw := jsonx.Raw(data)
	if raw.Kind() != '"' {
		*j = jsonText(data)
		return nil
	}
	var text string
	if err := jsonx.Unmarshal(raw, &text); err != nil {
		return err
	}
	*j = jsonText(strings.TrimSpace(text))
	return nil
}

// scalar is a string that a model may also write as a number or a boolean.
type scalar string

// UnmarshalJSON implements the decoding for [jsonx].
func (s *scalar) UnmarshalJSON(data []byte) error {
	switch raw := jsonx.Raw(data); raw.Kind() {
	case '"':
		return jsonx.Unmarshal(raw, (*string)(s))
	case '{', '[':
		return errors.New("it must be a string or a number")
	default:
		*s = scalar(data)
		return nil
	}
}
