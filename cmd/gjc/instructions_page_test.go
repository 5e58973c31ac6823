package main

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/userfiles"
)

// instructionsPage lists the places in which gjc finds instructions, rules, commands, skills, helpers and prompts.
func instructionsPage(*testing.T) string {
	var b strings.Builder
	b.WriteString("# Places of instructions\n\n[Instructions](../instructions.md) explains this table. \"Workspace\" is each root and the directories above it, up to the top of its repository.\n")
	for _, kind := range userfiles.Kinds() {
		b.WriteString("\n## " + strings.ToUpper(string(kind[:1])) + string(kind[1:]) + "\n\n")
		switch kind {
		case userfiles.Instructions:
			b.WriteString("In the order of the prompt: the last is the strongest. Of files with the same letter in one directory, only the first is used.\n\n")
		case userfiles.System:
			b.WriteString("The nearest file in the workspace is used, else that of the agent directory.\n\n")
		default:
			b.WriteString("In order of precedence: of two with the same name, the first is used.\n\n")
		}
		header(&b, "Program", "Where", "File", "Notes")
		for _, s := range userfiles.Sources(kind) {
			cells(&b, s.Origin, string(s.Scope), "`"+s.Path+sourceFiles(&s)+"`", sourceNotes(&s))
		}
	}
	return b.String()
}

// sourceFiles returns the names of the files in a directory.
func sourceFiles(s *userfiles.Source) string {
	var names []string
	for _, end := range s.Endings {
		names = append(names, "*"+end)
	}
	switch all := strings.Join(names, ", "); {
	case s.Format == userfiles.SkillDir:
		return "NAME/SKILL.md"
	case s.Deep:
		return "**/" + all
	default:
		return all
	}
}

func sourceNotes(s *userfiles.Source) string {
	var notes []string
	switch s.Group {
	case "codex":
		notes = append(notes, "A")
	case "directory":
		notes = append(notes, "B")
	}
	if s.Always {
		notes = append(notes, "in every prompt, unless its front matter says otherwise")
	}
	if s.Format == userfiles.TOML {
		notes = append(notes, "TOML")
	}
	return strings.Join(notes, "; ")
}

// The table of sources is consistent: each path is clean, directories have endings or hold skills, and no place is listed twice.
func TestSources(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, kind := range userfiles.Kinds() {
		list := userfiles.Sources(kind)
		if len(list) == 0 {
			t.Errorf("%s has no sources", kind)
		}
		for _, s := range list {
			key := string(kind) + " " + string(s.Scope) + " " + s.Path
			if seen[key] || s.Kind != kind || s.Origin == "" || s.Format == "" || strings.HasPrefix(s.Path, "/") || strings.Contains(s.Path, "..") {
				t.Errorf("%s: %+v", key, s)
			}
			seen[key] = true
			if s.Dir() != (len(s.Endings) > 0 || s.Format == userfiles.SkillDir) {
				t.Errorf("%s has endings %q", key, s.Endings)
			}
			if !s.Dir() && kind == userfiles.Rules && s.Name == "" {
				t.Errorf("%s has no name", key)
			}
			if s.Own() != (s.Scope == userfiles.AgentDir || strings.HasPrefix(s.Path, ".gjc/")) {
				t.Errorf("%s has the origin %s", key, s.Origin)
			}
		}
	}
	for _, want := range []string{
		"instructions workspace AGENTS.md", "instructions home .claude/CLAUDE.md", "rules workspace .windsurfrules", "rules workspace .clinerules/",
		"commands home .codex/prompts/", "commands workspace .gemini/commands/", "skills workspace .agents/skills/", "agents workspace .opencode/agent/",
		"system prompt agent directory TITLE_SYSTEM.md",
	} {
		if !seen[want] {
			t.Errorf("no source %s", want)
		}
	}
}
