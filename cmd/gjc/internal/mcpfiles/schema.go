package mcpfiles

import "github.com/gajae-code/gjc/internal/configfile"

func aString() configfile.JSONSchema  { return configfile.OfKind(configfile.Text) }
func aBoolean() configfile.JSONSchema { return configfile.OfKind(configfile.Boolean) }

// Schema returns the schema of mcp.json.
func Schema() configfile.JSONSchema {
	globs := func(about string) configfile.JSONSchema { return configfile.ListOf(aString()).About(about) }
	server := configfile.Fields(map[string]configfile.JSONSchema{
		"type":          configfile.OneOf(ownTransports()).About("the transport: by default stdio with command, and http with url"),
		"command":       aString().About("the program; ~/ is the home directory"),
		"args":          configfile.ListOf(aString()).About("its arguments"),
		"cwd":           aString().About("its directory, absolute or with ~/, in a workspace's file also relative to the workspace; by default the session's"),
		"env":           configfile.MapOf(aString()).About("more variables of its environment; a value that begins with ! is a command whose output is the value"),
		"url":           aString().About("the server's address"),
		"headers":       configfile.MapOf(aString()).About("headers of each request; a value that begins with ! is a command whose output is the value"),
		"headersHelper": aString().About("a command that prints a JSON object of further headers, run for each connection"),
		"oauth": configfile.Fields(map[string]configfile.JSONSchema{
			"clientId": aString().About("a client that is registered at the authorization server; otherwise gjc registers itself"), "clientSecret": aString().About("its secret, as ${NAME}"),
			"clientMetadataUrl": aString().About("the address of a client ID metadata document"),
			"scopes":            configfile.AnyOf(aString(), configfile.ListOf(aString())).About("instead of those that the server names"),
			"callbackPort":      configfile.OfNumbers(true, 1, 65535).About("the port of 127.0.0.1 that the browser returns to; otherwise any"),
		}).About("how to sign in to a server that wants it, with gjc mcp login or /mcp login"),
		"timeout": configfile.JSONSchema{"type": "number", "exclusiveMinimum": 0, "maximum": maxTimeout}.About("milliseconds to start, and without a message during a call"),
		"tools": configfile.Fields(map[string]configfile.JSONSchema{
			"allow": globs("only these tools, by name or glob"), "deny": globs("not these tools, by name or glob"),
		}).About("the tools that may be offered and called; deny wins"),
		"enabled":  aBoolean().About("false: do not start the server"),
		"disabled": aBoolean().About("true: do not start the server"),
	})
	server.About("In strings, ${NAME} is a variable of the environment, and ${NAME:-value} has a default.")
	project := configfile.Fields(map[string]configfile.JSONSchema{
		"enabled": configfile.ListOf(aString()).About("servers to start although the workspace's file disables them"), "disabled": configfile.ListOf(aString()).About("servers not to start"),
	})
	return configfile.Fields(map[string]configfile.JSONSchema{
		"$schema": aString(), topServers: configfile.MapOf(server).About("the servers, by name"),
		topProjects: configfile.MapOf(project).About("which servers start in a directory: those of its files, and the user's; only in the user's file"),
	})
}
