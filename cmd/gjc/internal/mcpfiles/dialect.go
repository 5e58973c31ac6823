// Package mcpfiles reads and changes the files that define MCP servers: the user's mcp.json, the files of a workspace, and those of
// other programs.
package mcpfiles

import "slices"

// dialect describes the form in which a program writes the definitions of MCP servers.
type dialect struct {
	// Name is the name of the program.
	Name string
	// File is the path in a workspace, with slashes; empty for a program without such a file.
	File string
	// top is the member with the servers, and others are the other members that the program has; nil for any.
	top    string
	others []string
	toml   bool
	style  style
	// sse says that url alone is the address of the older transport.
	sse    bool
	fields []field
}

// style is the syntax of placeholders in strings.
type style byte

const (
	plain  style = iota // none
	braces              // ${NAME} and ${NAME:-value}
	dollar              // $NAME, too
	editor              // ${env:NAME}, ${workspaceFolder}
)

// field is a field of a server: its name in the file and its meaning.
type field struct {
	name string
	as   meaning
}

// meaning is the meaning of a field, under the name that gjc's own files have for it if they have it.
type meaning string

const (
	aType         meaning = "type"
	aCommand      meaning = "command"
	aArgs         meaning = "args"
	aDir          meaning = "cwd"
	aEnv          meaning = "env"
	aEnvFile      meaning = "envFile"
	aVariables    meaning = "variables" // names of variables that are passed on; every server gets the environment
	aURL          meaning = "url"
	aStreamURL    meaning = "httpUrl" // an address that is never that of the older transport
	aHeaders      meaning = "headers"
	aHelper       meaning = "headersHelper"
	aBearer       meaning = "bearer"          // the variable with a token
	aHeaderVars   meaning = "headerVariables" // headers whose values are in variables
	aTimeout      meaning = "timeout"         // milliseconds
	aCallSeconds  meaning = "callSeconds"
	aStartSeconds meaning = "startSeconds"
	aStartTimeout meaning = "startTimeout" // milliseconds
	aEnabled      meaning = "enabled"
	aDisabled     meaning = "disabled"
	aTools        meaning = "tools" // {"allow": [], "deny": []}, or in other programs' files a list of those that are allowed
	anAllow       meaning = "allow"
	aDeny         meaning = "deny"
	aSignIn       meaning = "oauth"
	aScopes       meaning = "scopes"
	anotherWay    meaning = "another"  // a way to sign in that gjc does not have
	aSandbox      meaning = "sandbox"  // a boundary that gjc would not enforce
	anApproval    meaning = "approval" // tools that run without a question
	unused        meaning = ""         // the other program has it, and it changes nothing for gjc
)

func same(names ...meaning) []field {
	all := make([]field, len(names))
	for i, name := range names {
		all[i] = field{string(name), name}
	}
	return all
}

// own is the dialect of gjc's own files.
func own() *dialect {
	return &dialect{
		Name: "gjc", File: ".gjc/" + FileName, top: topServers, others: []string{"$schema", topProjects}, style: braces,
		fields: append(same(aSignIn, aArgs, aCommand, aDir, aDisabled, aEnabled, aEnv, aHeaders, aHelper, aTimeout, aTools, aType, aURL), field{"auth", anotherWay}),
	}
}

const (
	topServers  = "mcpServers"
	topProjects = "projects"
)

// workspaceDialects returns the dialects of the files that a workspace may have. Earlier ones take precedence.
func workspaceDialects() []*dialect {
	return []*dialect{own(), claude(), vscode(), cursor(), gemini(), codex()}
}

func claude() *dialect {
	return &dialect{
		Name: "claude", File: ".mcp.json", top: topServers, others: []string{"$schema"}, style: braces,
		fields: append(same(aType, aCommand, aArgs, aDir, aEnv, aURL, aHeaders, aHelper, aTimeout, aTools, aEnabled, aDisabled),
			field{"oauth", aSignIn}, field{"alwaysLoad", unused}, field{"description", unused}),
	}
}

func vscode() *dialect {
	return &dialect{
		Name: "vscode", File: ".vscode/mcp.json", top: "servers", others: []string{"$schema", "inputs"}, style: editor,
		fields: append(same(aType, aCommand, aArgs, aDir, aEnv, aEnvFile, aURL, aHeaders), field{"oauth", aSignIn}, field{"sandboxEnabled", aSandbox},
			field{"sandbox", unused}, field{"dev", unused}, field{"gallery", unused}, field{"version", unused}),
	}
}

func cursor() *dialect {
	return &dialect{
		Name: "cursor", File: ".cursor/mcp.json", top: topServers, others: []string{"$schema"}, style: editor,
		fields: append(same(aType, aCommand, aArgs, aDir, aEnv, aEnvFile, aURL, aHeaders, aEnabled, aDisabled), field{"auth", aSignIn}),
	}
}

func gemini() *dialect {
	return &dialect{
		Name: "gemini", File: ".gemini/settings.json", top: topServers, style: dollar, sse: true,
		fields: append(same(aType, aCommand, aArgs, aDir, aEnv, aURL, aStreamURL, aHeaders, aTimeout),
			field{"includeTools", anAllow}, field{"excludeTools", aDeny}, field{"oauth", aSignIn}, field{"authProviderType", anotherWay},
			field{"targetAudience", anotherWay}, field{"targetServiceAccount", anotherWay},
			field{"trust", anApproval}, field{"description", unused}, field{"extensionName", unused}),
	}
}

func codex() *dialect {
	return &dialect{
		Name: "codex", File: ".codex/config.toml", top: "mcp_servers", toml: true, style: plain,
		fields: append(same(aCommand, aArgs, aDir, aEnv, aURL, aEnabled),
			field{"env_vars", aVariables}, field{"bearer_token_env_var", aBearer}, field{"http_headers", aHeaders},
			field{"env_http_headers", aHeaderVars}, field{"enabled_tools", anAllow}, field{"disabled_tools", aDeny},
			field{"startup_timeout_sec", aStartSeconds}, field{"startup_timeout_ms", aStartTimeout}, field{"tool_timeout_sec", aCallSeconds},
			field{"oauth", aSignIn}, field{"scopes", aScopes}, field{"oauth_resource", anotherWay},
			field{"required", unused}, field{"supports_parallel_tool_calls", unused}, field{"default_tools_approval_mode", anApproval}, field{"tools", anApproval}),
	}
}

// windsurf and claudeDesktop have only files of the user.
func windsurf() *dialect {
	return &dialect{
		Name: "windsurf", top: topServers, style: editor,
		fields: append(same(aType, aCommand, aArgs, aEnv, aURL, aHeaders, aDisabled), field{"serverUrl", aURL}, field{"disabledTools", aDeny},
			field{"alwaysAllow", anApproval}),
	}
}

func claudeDesktop() *dialect {
	return &dialect{Name: "claude-desktop", top: topServers, style: plain, fields: same(aType, aCommand, aArgs, aEnv)}
}

// names returns the names of the fields that mean something, sorted.
func (d *dialect) names() []string {
	var all []string
	for _, f := range d.fields {
		if f.as != unused {
			all = append(all, f.name)
		}
	}
	slices.Sort(all)
	return all
}

// meaning returns the meaning of a field, and whether the program has it.
func (d *dialect) meaning(name string) (meaning, bool) {
	i := slices.IndexFunc(d.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return unused, false
	}
	return d.fields[i].as, true
}

// FileName is the name of gjc's own files of MCP servers.
const FileName = "mcp.json"
