package permissions

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Suggestion holds what the settings of another agent would mean here. It has no effect before the user adopts it.
type Suggestion struct {
	// From is the file.
	From string
	// Rules are its rules, Settings lines for config.yml, and Left the entries that mean nothing here.
	Rules    []approval.Rule
	Settings []string
	Left     []string
}

// maxSettings bounds the size of a file of another agent.
const maxSettings = 1 << 20

// Suggest reads the permissions of other agents for a workspace: those of Claude Code (permissions in .claude/settings.json, see
// https://docs.claude.com/en/docs/claude-code/settings) and the sandbox settings of Codex (config.toml, see
// https://developers.openai.com/codex/config). With home, it reads the user's own, too; codex is
// the directory of the user's files of Codex, if it is not .codex in home. Files that cannot be read suggest nothing.
func Suggest(root, home, codex string) []Suggestion {
	var all []Suggestion
	for _, dir := range []string{root, home} {
		if dir == "" {
			continue
		}
		config := filepath.Join(dir, ".codex", "config.toml")
		if dir == home && codex != "" {
			config = filepath.Join(codex, "config.toml")
		}
		for _, name := range []string{".claude/settings.json", ".claude/settings.local.json"} {
			if s, ok := fromClaude(filepath.Join(dir, filepath.FromSlash(name))); ok {
				all = append(all, s)
			}
		}
		if s, ok := fromCodex(config); ok {
			all = append(all, s)
		}
	}
	return all
}

// read returns the content of a file of at most maxSettings bytes; nil for others.
func read(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil
	}
	data, _ := os.ReadFile(path) // what cannot be read suggests nothing
	return data
}

func fromClaude(path string) (s Suggestion, ok bool) {
	var f struct {
		Permissions struct {
			Allow                 []string `json:"allow"`
			Ask                   []string `json:"ask"`
			Deny                  []string `json:"deny"`
			AdditionalDirectories []string `json:"additionalDirectories"`
			DefaultMode           string   `json:"defaultMode"`
		} `json:"permissions"`
	}
	if data := read(path); data == nil || jsonx.Unmarshal(data, &f) != nil {
		return s, false
	}
	s.From = path
	for _, part := range []struct {
		verdict approval.Verdict
		texts   []string
	}{{approval.Allow, f.Permissions.Allow}, {approval.Ask, f.Permissions.Ask}, {approval.Deny, f.Permissions.Deny}} {
		for _, text := range part.texts {
			if r, err := approval.ParseRule(part.verdict, claudeRule(text)); err == nil {
				s.Rules = append(s.Rules, r)
			} else {
				s.Left = append(s.Left, text)
			}
		}
	}
	return s, len(s.Rules)+len(s.Left) > 0
}

// claudeTools are the names that tools of Claude Code have in rules here.
var claudeTools = map[string]string{
	"Bash": "bash", "Read": "read", "Grep": "read", "Glob": "read", "LS": "read", "Edit": "edit", "Write": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "WebFetch": "network", "WebSearch": "web_search",
}

// claudeRule returns a rule of Claude Code as one of gjc's; empty if there is none.
func claudeRule(text string) string {
	tool, about, has := strings.Cut(strings.TrimSpace(text), "(")
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok && !has {
		server, name, _ := strings.Cut(rest, "__")
		if name == "" {
			name = "*"
		}
		return "mcp__" + server + "_" + name
	}
	name := claudeTools[tool]
	if name == "" {
		return ""
	}
	about = strings.TrimSuffix(about, ")")
	switch name {
	case "bash":
		about = strings.ReplaceAll(about, ":*", " *")
	case "network":
		about = strings.TrimPrefix(about, "domain:")
	default:
		about = strings.TrimPrefix(about, "./")
		if rest, ok := strings.CutPrefix(about, "//"); ok { // an absolute path
			about = "/" + rest
		} else if rest, ok := strings.CutPrefix(about, "/"); ok { // from the file's directory
			about = rest
		}
	}
	if !has || about == "" || about == "*" {
		return name
	}
	return name + "(" + about + ")"
}

func fromCodex(path string) (s Suggestion, ok bool) {
	var f struct {
		SandboxMode string `toml:"sandbox_mode"`
		Workspace   struct {
			WritableRoots []string `toml:"writable_roots"`
			NetworkAccess bool     `toml:"network_access"`
		} `toml:"sandbox_workspace_write"`
	}
	data := read(path)
	if data == nil {
		return s, false
	}
	if _, err := toml.Decode(string(data), &f); err != nil {
		return s, false
	}
	s.From = path
	switch f.SandboxMode {
	case "danger-full-access":
		s.Settings = append(s.Settings, "bash.sandbox: off")
	case "read-only":
		s.Settings = append(s.Settings, "permissions.deny: [edit]")
	}
	for _, dir := range f.Workspace.WritableRoots {
		s.Settings = append(s.Settings, fmt.Sprintf("bash.sandboxWrite: [%q]", dir))
	}
	if f.Workspace.NetworkAccess {
		s.Settings = append(s.Settings, "bash.sandboxNetwork: true")
	}
	return s, len(s.Settings) > 0
}

// Describe returns suggestions for people, one line each.
func Describe(all []Suggestion) []string {
	var lines []string
	for _, s := range all {
		lines = append(lines, s.From+":")
		for _, r := range s.Rules {
			lines = append(lines, "  permissions."+verdictNames[r.Verdict]+": "+r.Text)
		}
		for _, text := range s.Settings {
			lines = append(lines, "  "+text)
		}
		for _, text := range s.Left {
			lines = append(lines, "  (no equivalent: "+text+")")
		}
	}
	return lines
}

var verdictNames = map[approval.Verdict]string{approval.Allow: "allow", approval.Ask: "ask", approval.Deny: "deny"}

// sum identifies suggestions: other ones are shown again.
func sum(all []Suggestion) string {
	h := sha256.Sum256([]byte(strings.Join(Describe(all), "\n")))
	return hex.EncodeToString(h[:])
}
