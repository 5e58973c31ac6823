package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/workspace"
)

// resolver replaces the variables of one configuration.
type resolver struct {
	Resolve
	goos, root, home string
	roots            []string
	env              []string
	// inputs is the list of inputs in the file; nil for none. answers has the answers so far, by ID.
	inputs  *configfile.Node
	answers map[string]string

	notes, secrets []string
	// errs are the reasons why the configuration cannot be used.
	errs []error
}

// interpreterCommands return the interpreter that the editor has selected; gjc uses the adapter's own instead.
var interpreterCommands = []string{"${command:python.interpreterPath}", "${command:python.getSelectedInterpreter}"}

// value returns a value with its variables replaced. It returns false if the member must be omitted.
func (r *resolver) value(ctx context.Context, n *configfile.Node) (v any, ok bool) {
	switch n.Kind {
	case configfile.Text:
		switch {
		case slices.Contains(interpreterCommands, n.Text):
			r.notes = append(r.notes, "the editor's Python interpreter is unknown; the debug adapter's is used")
			return nil, false
		case r.PID > 0 && picksProcess(n.Text):
			return r.PID, true
		}
		return r.text(ctx, n.Text), true
	case configfile.List:
		all := make([]any, 0, len(n.List))
		for _, part := range n.List {
			if v, ok := r.value(ctx, part); ok {
				all = append(all, v)
			}
		}
		return all, true
	case configfile.Object:
		all := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			if v, ok := r.value(ctx, m.Value); ok {
				all[m.Name] = v
			}
		}
		return all, true
	default:
		return n.Any(), true
	}
}

// picksProcess reports whether text is an editor command that asks the user for a process.
func picksProcess(text string) bool {
	name, ok := strings.CutPrefix(text, "${command:")
	name = strings.ToLower(name)
	return ok && strings.HasSuffix(name, "}") && strings.Contains(name, "pick") && strings.Contains(name, "process") && strings.Count(text, "${") == 1
}

// text replaces the variables of a text. It does not replace variables in their values.
func (r *resolver) text(ctx context.Context, text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			b.WriteString("${" + rest)
			return b.String()
		}
		v, err := r.variable(ctx, name)
		if err != nil {
			r.errs = append(r.errs, err)
		}
		b.WriteString(v)
		text = after
	}
}

// plainVariables returns the names of the variables without a colon, for suggestions.
func plainVariables() []string {
	return []string{
		"workspaceFolder", "workspaceFolderBasename", "workspaceRoot", "file", "fileBasename", "fileBasenameNoExtension", "fileDirname", "fileDirnameBasename",
		"fileExtname", "fileWorkspaceFolder", "fileWorkspaceFolderBasename", "relativeFile", "relativeFileDirname", "cwd", "pathSeparator", "userHome",
	}
}

func (r *resolver) variable(ctx context.Context, name string) (string, error) {
	kind, of, _ := strings.Cut(name, ":")
	if strings.HasPrefix(kind, "file") || strings.HasPrefix(kind, "relativeFile") {
		return r.fileVariable(kind, name)
	}
	switch kind {
	case "workspaceFolder", "workspaceRoot", "workspaceFolderBasename":
		root := r.root
		if of != "" {
			i := slices.IndexFunc(r.roots, func(dir string) bool { return filepath.Base(dir) == of })
			if i < 0 {
				return "", fmt.Errorf("${%s}: no directory of the workspace has the name %s", name, configfile.Quote(of))
			}
			root = r.roots[i]
		}
		if kind == "workspaceFolderBasename" {
			return filepath.Base(root), nil
		}
		return root, nil
	case "cwd":
		if r.Dir != "" {
			return r.Dir, nil
		}
		return r.root, nil
	case "userHome":
		if r.home == "" {
			return "", errors.New("${userHome}: the home directory is unknown")
		}
		return r.home, nil
	case "pathSeparator", "/":
		if r.goos == "windows" {
			return `\`, nil
		}
		return "/", nil
	case "env":
		if proc.IsSecretVariable(of) {
			r.notes = append(r.notes, "${env:"+of+"} is empty: programs do not get gjc's own keys")
			return "", nil
		}
		return workspace.Variable(r.env, of, r.goos), nil
	case "config":
		return "", fmt.Errorf("${%s} is a setting of the editor and unknown to gjc; write its value into launch.json, or launch with explicit arguments", name)
	case "command":
		if lower := strings.ToLower(of); strings.Contains(lower, "pick") && strings.Contains(lower, "process") {
			if r.PID > 0 {
				return fmt.Sprint(r.PID), nil
			}
			return "", fmt.Errorf("${%s} asks which process to attach to: pass its pid", name)
		}
		return "", fmt.Errorf("${%s} is a command of the editor that gjc cannot run; write its result into launch.json, or launch with explicit arguments", name)
	case "input":
		return r.input(ctx, of)
	case "selectedText", "lineNumber", "columnNumber", "execPath", "defaultBuildTask", "extensionInstallFolder":
		return "", fmt.Errorf("${%s} depends on the editor's window and is unknown to gjc; write its value into launch.json, or launch with explicit arguments", name)
	default:
		return "", fmt.Errorf("unknown variable ${%s} in launch.json%s", configfile.Quote(name), configfile.Suggestion(kind, plainVariables()))
	}
}

// fileVariable returns the value of a variable that depends on the file.
func (r *resolver) fileVariable(kind, name string) (string, error) {
	if !slices.Contains(plainVariables(), kind) {
		return "", fmt.Errorf("unknown variable ${%s} in launch.json%s", configfile.Quote(name), configfile.Suggestion(kind, plainVariables()))
	}
	if r.File == "" {
		return "", fmt.Errorf("${%s} depends on the file that is open in the editor: pass it as file", name)
	}
	base := filepath.Base(r.File)
	relative := func(path string) string {
		if rel, err := filepath.Rel(r.root, path); err == nil {
			return rel
		}
		return path
	}
	folder := r.root
	for _, root := range r.roots {
		if _, in := workspace.Within(root, r.File, r.goos); in && len(root) > len(folder) {
			folder = root
		}
	}
	dir := filepath.Dir(r.File)
	return map[string]string{
		"file": r.File, "fileBasename": base, "fileBasenameNoExtension": strings.TrimSuffix(base, filepath.Ext(base)), "fileDirname": dir,
		"fileDirnameBasename": filepath.Base(dir), "fileExtname": filepath.Ext(base), "fileWorkspaceFolder": folder,
		"fileWorkspaceFolderBasename": filepath.Base(folder), "relativeFile": relative(r.File), "relativeFileDirname": relative(dir),
	}[kind], nil
}

// input returns the answer to an input. It asks the user once for each ID.
func (r *resolver) input(ctx context.Context, id string) (string, error) {
	if answer, ok := r.answers[id]; ok {
		return answer, nil
	}
	in, err := r.question(id)
	if err != nil {
		return "", err
	}
	if len(r.errs) > 0 {
		return "", nil // do not ask for a configuration that cannot be used
	}
	if r.Ask == nil {
		return "", fmt.Errorf("${input:%s} needs an answer of the user (%s), who cannot be asked here; launch with explicit arguments", id, configfile.Quote(in.Description))
	}
	answer, err := r.Ask(ctx, in)
	if err != nil {
		return "", fmt.Errorf("${input:%s}: %w", id, err)
	}
	if in.Password && answer != "" {
		r.secrets = append(r.secrets, answer)
	}
	r.answers[id] = answer
	return answer, nil
}

// question returns the input with an ID.
func (r *resolver) question(id string) (Input, error) {
	var ids []string
	if r.inputs != nil {
		for _, n := range r.inputs.List {
			ids = append(ids, n.TextOf("id"))
			if n.TextOf("id") != id {
				continue
			}
			in := Input{ID: id, Description: n.TextOf("description"), Default: n.TextOf("default"), Password: n.Member("password").True()}
			in.Description = cmp.Or(in.Description, id)
			switch kind := n.TextOf("type"); kind {
			case "promptString":
			case "pickString":
				in.Options = inputOptions(n.Member("options"))
				if len(in.Options) == 0 {
					return in, fmt.Errorf("${input:%s} has no options to choose from (line %d)", id, n.Line)
				}
			case "command":
				return in, fmt.Errorf("${input:%s} is a command of the editor that gjc cannot run; launch with explicit arguments", id)
			default:
				return in, fmt.Errorf("${input:%s} has the unknown type %s; use promptString or pickString (line %d)", id, configfile.Quote(kind), n.Line)
			}
			return in, nil
		}
	}
	return Input{}, fmt.Errorf("${input:%s} is not among the inputs of launch.json%s", id, configfile.Suggestion(id, ids))
}

func inputOptions(n *configfile.Node) []InputOption {
	if n == nil {
		return nil
	}
	var all []InputOption
	for _, o := range n.List {
		switch o.Kind {
		case configfile.Text:
			all = append(all, InputOption{o.Text, o.Text})
		case configfile.Object:
			value, label := o.Member("value"), o.Member("label")
			if value == nil || value.Kind != configfile.Text {
				continue
			}
			if label == nil || label.Text == "" {
				label = value
			}
			all = append(all, InputOption{label.Text, value.Text})
		default:
		}
	}
	return all
}
