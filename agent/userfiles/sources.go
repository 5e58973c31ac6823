package userfiles

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
)

// Kind is the purpose of a file.
type Kind string

// The kinds.
const (
	Instructions Kind = "instructions"
	Rules        Kind = "rules"
	Commands     Kind = "commands"
	Skills       Kind = "skills"
	Agents       Kind = "agents"
	Tools        Kind = "tools"
	Extensions   Kind = "extensions"
	System       Kind = "system prompt"
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{Instructions, Rules, Commands, Skills, Agents, Tools, Extensions, System}
}

// Scope is the directory in which the path of a source begins.
type Scope string

// The scopes.
const (
	// Workspace is each root of a workspace and the directories above it, up to the top of its repository.
	Workspace Scope = "workspace"
	// AgentDir is gjc's own directory of the user.
	AgentDir Scope = "agent directory"
	// Home is the user's home directory.
	Home Scope = "home"
)

// Format is the form of a file.
type Format string

// The formats.
const (
	// Markdown is text, optionally with front matter.
	Markdown Format = "Markdown"
	// TOML is a table of fields.
	TOML Format = "TOML"
	// Prompt is a Markdown file of VS Code, with ${input:name} for arguments.
	Prompt Format = "prompt file"
	// SkillDir is a directory with a SKILL.md.
	SkillDir Format = "SKILL.md"
	// YAML is a table of fields.
	YAML Format = "YAML"
)

// A Source is a place where gjc or another program keeps files of one kind.
type Source struct {
	// Origin is the program: "Claude Code".
	Origin string
	Kind   Kind
	Scope  Scope
	// Path is a slash-separated path below the scope's directories, of a file or, with a slash at its end, of a directory.
	Path string
	// Endings are the ends of the names in a directory, the longest first.
	Endings []string
	// Deep includes the subdirectories.
	Deep   bool
	Format Format
	// Group is set for files of which one directory uses only the first.
	Group string
	// Name is the name of what is in a file; for a directory, files give the names.
	Name string
	// Always is the default of a rule: whether it is in every prompt.
	Always bool
	// Plugin is the name of the plugin that the place belongs to; empty for none. The user has allowed what its files run.
	Plugin string
}

// gjcOrigin is the origin of gjc's own files, in which unknown fields are mistakes.
const gjcOrigin = "gjc"

// Own reports whether the source is gjc's own.
func (s *Source) Own() bool { return s.Origin == gjcOrigin }

// Dir reports whether the source is a directory.
func (s *Source) Dir() bool { return strings.HasSuffix(s.Path, "/") }

// Sources returns the sources of a kind in order of precedence: of two definitions with one name the first counts. Instructions are in
// the order of the prompt instead, in which the last is the strongest, except that within a group the first file of a directory counts.
func Sources(kind Kind) []Source {
	var all []Source
	switch kind {
	case Instructions:
		all = instructionSources()
	case Rules:
		all = ruleSources()
	case Commands:
		all = commandSources()
	case Skills:
		all = directories(skillDirs(), SkillDir)
	case Agents:
		all = agentSources()
	case Tools, Extensions:
		dir := string(kind) + "/"
		all = directories([]Source{own(Workspace, ".gjc/"+dir), own(AgentDir, dir)}, YAML)
		for i := range all {
			all[i].Endings = []string{".yml", ".yaml"}
		}
	case System:
		for _, name := range SystemFiles() {
			all = append(all, own(Workspace, ".gjc/"+name), own(AgentDir, name))
		}
	}
	for i := range all {
		all[i].Kind = kind
	}
	return all
}

// The files that change gjc's own prompts.
const (
	// SystemFile replaces the part of the system prompt that describes gjc's work.
	SystemFile = "SYSTEM.md"
	// AppendFile is added to the system prompt.
	AppendFile = "APPEND_SYSTEM.md"
	// TitleFile replaces the prompt for a session's title.
	TitleFile = "TITLE_SYSTEM.md"
)

// SystemFiles lists the files that change gjc's own prompts.
func SystemFiles() []string { return []string{SystemFile, AppendFile, TitleFile} }

func own(scope Scope, path string) Source {
	return Source{Origin: gjcOrigin, Scope: scope, Path: path, Format: Markdown}
}

func of(origin string, scope Scope, path string) Source {
	return Source{Origin: origin, Scope: scope, Path: path, Format: Markdown}
}

// Codex is the origin of files with Codex's arguments.
const Codex = "Codex"

const (
	claude   = "Claude Code"
	cursor   = "Cursor"
	gemini   = "Gemini CLI"
	copilot  = "VS Code and Copilot"
	windsurf = "Windsurf"
	cline    = "Cline"
	opencode = "opencode"
	agents   = "AGENTS.md and Agent Skills"
)

// instructionSources lists the instructions, the weakest first: the user's, then those of a workspace.
func instructionSources() []Source {
	in := func(group string, s Source) Source {
		s.Group = group
		return s
	}
	const codexFile, directory = "codex", "directory"
	return []Source{
		of(opencode, Home, ".config/opencode/AGENTS.md"),
		of(gemini, Home, ".gemini/GEMINI.md"),
		in(codexFile, of(Codex, Home, ".codex/AGENTS.override.md")),
		in(codexFile, of(Codex, Home, ".codex/AGENTS.md")),
		of(agents, Home, ".agents/AGENTS.md"),
		of(claude, Home, ".claude/CLAUDE.md"),
		own(AgentDir, "AGENTS.md"),
		in(directory, of(Codex, Workspace, "AGENTS.override.md")),
		in(directory, of(agents, Workspace, "AGENTS.md")),
		in(directory, of(claude, Workspace, "CLAUDE.md")),
		in(directory, of(claude, Workspace, ".claude/CLAUDE.md")),
		in(directory, of(gemini, Workspace, "GEMINI.md")),
		of(claude, Workspace, "CLAUDE.local.md"),
	}
}

func ruleSources() []Source {
	markdown := []string{".md", ".mdc"}
	dir := func(s Source, endings ...string) Source {
		s.Endings = endings
		return s
	}
	deep := func(s Source) Source {
		s.Deep = true
		return s
	}
	always := func(s Source) Source {
		s.Always = true
		return s
	}
	named := func(name string, s Source) Source {
		s.Name, s.Always = name, true
		return s
	}
	return []Source{
		dir(own(Workspace, ".gjc/rules/"), markdown...),
		dir(own(AgentDir, "rules/"), markdown...),
		always(dir(own(Workspace, ".gjc/instructions/"), ".instructions.md", ".md")),
		always(dir(own(AgentDir, "instructions/"), ".instructions.md", ".md")),
		always(deep(dir(of(claude, Workspace, ".claude/rules/"), ".md"))),
		always(deep(dir(of(claude, Home, ".claude/rules/"), ".md"))),
		deep(dir(of(cursor, Workspace, ".cursor/rules/"), ".mdc", ".md")),
		named("cursorrules", of(cursor, Workspace, ".cursorrules")),
		deep(dir(of(cursor, Home, ".cursor/rules/"), ".mdc", ".md")),
		always(dir(of(windsurf, Workspace, ".windsurf/rules/"), ".md")),
		named("windsurfrules", of(windsurf, Workspace, ".windsurfrules")),
		named("global_rules", of(windsurf, Home, ".codeium/windsurf/memories/global_rules.md")),
		named("clinerules", of(cline, Workspace, ".clinerules")),
		always(deep(dir(of(cline, Workspace, ".clinerules/"), ".md"))),
		named("copilot-instructions", of(copilot, Workspace, ".github/copilot-instructions.md")),
		deep(dir(of(copilot, Workspace, ".github/instructions/"), ".instructions.md")),
	}
}

func commandSources() []Source {
	dir := func(s Source, endings ...string) Source {
		s.Endings, s.Deep = endings, true
		switch endings[0] {
		case ".toml":
			s.Format = TOML
		case ".prompt.md":
			s.Format = Prompt
		}
		return s
	}
	return []Source{
		dir(own(Workspace, ".gjc/commands/"), ".md"),
		dir(own(Workspace, ".gjc/prompts/"), ".md"),
		dir(own(AgentDir, "commands/"), ".md"),
		dir(own(AgentDir, "prompts/"), ".md"),
		dir(of(claude, Workspace, ".claude/commands/"), ".md"),
		dir(of(claude, Home, ".claude/commands/"), ".md"),
		dir(of(agents, Workspace, ".agents/commands/"), ".md"),
		dir(of(agents, Home, ".agents/commands/"), ".md"),
		dir(of(Codex, Workspace, ".codex/prompts/"), ".md"),
		dir(of(Codex, Home, ".codex/prompts/"), ".md"),
		dir(of(Codex, Workspace, ".codex/commands/"), ".md"),
		dir(of(Codex, Home, ".codex/commands/"), ".md"),
		dir(of(gemini, Workspace, ".gemini/commands/"), ".toml"),
		dir(of(gemini, Home, ".gemini/commands/"), ".toml"),
		dir(of(opencode, Workspace, ".opencode/commands/"), ".md"),
		dir(of(opencode, Workspace, ".opencode/command/"), ".md"),
		dir(of(opencode, Home, ".config/opencode/commands/"), ".md"),
		dir(of(opencode, Home, ".config/opencode/command/"), ".md"),
		dir(of(cursor, Workspace, ".cursor/commands/"), ".md"),
		dir(of(cursor, Home, ".cursor/commands/"), ".md"),
		dir(of(windsurf, Workspace, ".windsurf/workflows/"), ".md"),
		dir(of(copilot, Workspace, ".github/prompts/"), ".prompt.md"),
	}
}

func skillDirs() []Source {
	return []Source{
		own(Workspace, ".gjc/skills/"),
		own(AgentDir, "skills/"),
		of(claude, Workspace, ".claude/skills/"),
		of(claude, Home, ".claude/skills/"),
		of(agents, Workspace, ".agents/skills/"),
		of(agents, Home, ".agents/skills/"),
		of(Codex, Workspace, ".codex/skills/"),
		of(Codex, Home, ".codex/skills/"),
		of(gemini, Workspace, ".gemini/skills/"),
		of(gemini, Home, ".gemini/skills/"),
		of(opencode, Workspace, ".opencode/skills/"),
		of(opencode, Workspace, ".opencode/skill/"),
		of(opencode, Home, ".config/opencode/skills/"),
		of(cursor, Workspace, ".cursor/skills/"),
		of(cursor, Home, ".cursor/skills/"),
		of(windsurf, Workspace, ".windsurf/skills/"),
		of(windsurf, Home, ".codeium/windsurf/skills/"),
		of(copilot, Workspace, ".github/skills/"),
		of(copilot, Home, ".copilot/skills/"),
	}
}

func agentSources() []Source {
	list := directories([]Source{
		own(Workspace, ".gjc/agents/"),
		own(AgentDir, "agents/"),
		of(claude, Workspace, ".claude/agents/"),
		of(claude, Home, ".claude/agents/"),
		of(agents, Workspace, ".agents/agents/"),
		of(agents, Home, ".agents/agents/"),
		of(Codex, Workspace, ".codex/agents/"),
		of(Codex, Home, ".codex/agents/"),
		of(gemini, Workspace, ".gemini/agents/"),
		of(gemini, Home, ".gemini/agents/"),
		of(opencode, Workspace, ".opencode/agents/"),
		of(opencode, Workspace, ".opencode/agent/"),
		of(opencode, Home, ".config/opencode/agents/"),
		of(opencode, Home, ".config/opencode/agent/"),
		of(cursor, Workspace, ".cursor/agents/"),
		of(cursor, Home, ".cursor/agents/"),
		of(copilot, Workspace, ".github/agents/"),
		of(copilot, Workspace, ".github/chatmodes/"),
	}, Markdown)
	for i := range list {
		switch s := &list[i]; {
		case s.Origin == Codex:
			s.Endings = []string{".toml", ".md"}
		case strings.HasSuffix(s.Path, "chatmodes/"):
			s.Endings = []string{".chatmode.md"}
		case s.Origin == copilot:
			s.Endings = []string{".agent.md", ".md"}
		default:
			s.Endings = []string{".md"}
		}
	}
	return list
}

// directories sets the format of directories.
func directories(list []Source, format Format) []Source {
	for i := range list {
		list[i].Format = format
	}
	return list
}

// Patterns returns the patterns of the files in a workspace from which sources of a kind are read, with a slash at the end of directories.
func Patterns(kind Kind) []string {
	var all []string
	for _, s := range Sources(kind) {
		if s.Scope == Workspace && !slices.Contains(all, s.Path) {
			all = append(all, s.Path)
		}
	}
	return all
}

// A Place is a source in one directory.
type Place struct {
	Source
	// Root is the directory; Dir is a slash-separated path below it, without a slash at its end. Symbolic links must not lead out of Root.
	Root, Dir string
	// Trusted places are the user's own; links there may lead anywhere.
	Trusted bool
}

// Foreign reports whether the place belongs to another program.
func (p *Place) Foreign() bool { return !p.Own() }

// Full returns the path of the place.
func (p *Place) Full() string { return filepath.Join(p.Root, filepath.FromSlash(p.Dir)) }

// Where holds the directories in which a session finds its files. Empty ones are left out.
type Where struct {
	// Roots are the workspace's, starting with the working directory.
	Roots []string
	// UserDir is the agent directory.
	UserDir string
	Home    string
	// CodexHome is where Codex keeps the user's files; if empty, .codex in Home.
	CodexHome string
	// Plugins are those that the session may use. Their places come last.
	Plugins []Plugin
}

// Places returns the places of a kind in order of precedence.
func (w *Where) Places(kind Kind) []Place {
	upwards := configfile.Upwards(w.Roots...)
	sources := Sources(kind)
	var list []Place
	for _, s := range sources {
		dir := path.Clean(s.Path)
		switch s.Scope {
		case Workspace:
			for _, root := range upwards {
				// In the home directory the user's own places are not a workspace's.
				if root == w.Home && slices.ContainsFunc(sources, func(o Source) bool { return o.Scope == Home && o.Path == s.Path }) {
					continue
				}
				list = append(list, Place{Source: s, Root: root, Dir: dir})
			}
		case AgentDir:
			if w.UserDir != "" {
				list = append(list, Place{Source: s, Root: w.UserDir, Dir: dir, Trusted: true})
			}
		case Home:
			if in, moved := strings.CutPrefix(s.Path, ".codex/"); moved && w.CodexHome != "" {
				list = append(list, Place{Source: s, Root: w.CodexHome, Dir: path.Clean(in), Trusted: true})
			} else if w.Home != "" {
				list = append(list, Place{Source: s, Root: w.Home, Dir: dir, Trusted: true})
			}
		}
	}
	return append(list, w.pluginPlaces(kind)...)
}

// State is the fate of a file.
type State string

// The states.
const (
	Used      State = "used"
	Shadowed  State = "shadowed"
	Duplicate State = "duplicate"
	// Left is the state of a file that exceeds a limit.
	Left State = "left out"
	// Refused is the state of a file that cannot be used.
	Refused State = "not used"
)

// File is a file that was found, for a listing.
type File struct {
	Origin string
	Kind   Kind
	Path   string
	// Name is the name of what the file defines; empty for instructions.
	Name  string
	Bytes int
	State State
	// Why explains a state other than [Used].
	Why string
}
