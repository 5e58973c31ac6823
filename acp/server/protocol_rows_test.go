package server_test

// row is the hand-written part of a row about a method or an update in docs/reference/protocol.md.
type row struct {
	// when is the condition, such as a capability of the client; empty for always.
	when string
	// tests lists the tests of the method or update, as "`package` TestName, TestName".
	tests string
}

// methodRows has a row for each method, by name. If a request and a notification share a name, the key of the notification has the
// suffix "notification".
var methodRows = map[string]row{
	"$/cancel_request":           {"", "`cmd/gjc` TestCancelRequest; `internal/jsonrpc` TestConn_CancelReachesTheHandlerAndOnlyIt; `acp/server` TestCancel_WithAnOpenQuestion"},
	"auth/status":                {"", "`acp/server` TestAuthStatus_Changes"},
	"auth/status_update":         {"the client has asked for auth/status", "`acp/server` TestAuthStatus_Changes"},
	"authenticate":               {"", "`acp/server` TestAuthMethods, TestErrors"},
	"elicitation/complete":       {"elicitation.url; an MCP server reports that its URL request is complete", "`mcp` TestSet_Questions; `bridges` TestClientElicitor_URL"},
	"elicitation/create":         {"elicitation.form or elicitation.url, for each mode", "`acp/server` TestAsk, TestMCP_Elicitation; `bridges` TestClientElicitor_Form"},
	"fs/read_text_file":          {"fs.readTextFile; files in the roots", "`acp/server` TestFilesThroughTheEditor, TestWithoutCapabilities; `bridges` TestClientFS_BuffersWin"},
	"fs/write_text_file":         {"fs.writeTextFile; files in the roots", "`acp/server` TestFilesThroughTheEditor; `bridges` TestClientFS_HalfCapabilities"},
	"initialize":                 {"", "`cmd/gjc` TestInitialize_WithoutAnything; `acp` TestProtocolVersionIsNeverAFault; `acp/server` TestTranscripts"},
	"logout":                     {"", "`acp/server` TestAuthStatus_Changes; `providers/registry` TestLogout"},
	"mcp/message":                {"the client has passed a server of type acp", "`acp/server` TestMCP_OverACP"},
	"mcp/message notification":   {"", "`acp/server` TestMCP_OverACP; `mcp` TestSet_Call_ProgressAndCancel"},
	"providers/disable":          {"", "`providers/registry` TestDisableProvider; `cmd/gjc` TestConformance"},
	"providers/list":             {"", "`providers/registry` TestProviders; `cmd/gjc` TestConformance"},
	"providers/set":              {"", "`providers/registry` TestSetProvider_ReplacesTheWholeConfiguration; `acp/server` TestErrors"},
	"proxy/initialize":           {"", "`acp/server` TestErrors"},
	"proxy/successor":            {"", "`acp/server` TestErrors"},
	"session/archive":            {"", "`acp/server` TestArchive_AndUnarchive"},
	"session/cancel":             {"", "`acp/server` TestCancel_WithARunningCommand, TestTranscripts; `agent` TestCancel"},
	"session/close":              {"", "`acp/server` TestLoad_WhileClosing, TestErrors"},
	"session/delete":             {"", "`acp/server` TestDeleteSession_IsIdempotent, TestDeleteSession_DuringATurn"},
	"session/fork":               {"also at a message, see `_meta` below", "`acp/server` TestFork_IsIndependent, TestFork_AtAMessage; `sessions` TestFork_BetweenProcesses"},
	"session/list":               {"", "`sessions` TestList_PagesHoldTheirPlace, TestPages_BadCursors; `acp/server` TestLoadAndResume"},
	"session/load":               {"", "`acp/server` TestLoadAndResume, TestLoad_ThenPrompt; `agent` TestReplay_LooksLikeTheLiveSession"},
	"session/new":                {"", "`acp/server` TestOrder, TestErrors, TestAdditionalDirectories_FollowTheLastRequest"},
	"session/prompt":             {"", "`acp/server` TestOrder, TestTranscripts, TestPromptUsage, TestUsage_CutOff; `agent` TestTurn_QueueIsFIFO"},
	"session/request_permission": {"", "`agent` TestApproval, TestApproval_OneAtATime; `bridges` TestClientApprover_Answers; `cmd/gjc` TestUnansweredPermission"},
	"session/resume":             {"", "`acp/server` TestLoadAndResume"},
	"session/set_config_option":  {"", "`acp/server` TestModesAndOptions, TestBooleanOption, TestErrors"},
	"session/set_mode":           {"", "`acp/server` TestModesAndOptions"},
	"session/set_title":          {"", "`acp/server` TestSetTitle"},
	"session/status":             {"", "`acp/server` TestSessionStatus"},
	"session/unarchive":          {"", "`acp/server` TestArchive_AndUnarchive"},
	"session/update":             {"", "the next table"},
	"terminal/create":            {"terminal", "`bridges` TestTerminal, TestClientTerminal_Request"},
	"terminal/kill":              {"terminal", "`acp/server` TestCancel_WithARunningCommand"},
	"terminal/output":            {"terminal", "`bridges` TestTerminal"},
	"terminal/release":           {"terminal", "`acp/server` TestCancel_WithARunningCommand, TestTerminalFails"},
	"terminal/wait_for_exit":     {"terminal", "`bridges` TestTerminal"},
}

// updateRows has a row for each kind of session/update.
var updateRows = map[string]row{
	"user_message_chunk":        {"replay; a client shows its own prompts itself", "`acp/server` TestLoadAndResume, TestCommands_Files"},
	"agent_message_chunk":       {"", "`acp/server` TestOrder, TestLongTextIsSplit"},
	"agent_thought_chunk":       {"", "`acp/server` TestBooleanOption; `agent` TestTurn_TextToolText"},
	"tool_call":                 {"", "`acp/server` TestTranscripts; `agent` TestTurn_BadCallsAreResults"},
	"tool_call_update":          {"", "`acp/server` TestTranscripts, TestTerminalOutputMeta"},
	"plan":                      {"the client has no plan capability", "`acp/server` TestTranscripts; `cmd/gjc` TestConformance"},
	"plan_update":               {"plan", "`acp/server` TestPlanUpdates"},
	"plan_removed":              {"plan", "`acp/server` TestPlanUpdates"},
	"available_commands_update": {"", "`acp/server` TestOrder, TestCommands_Files, TestMCP_Prompts"},
	"current_mode_update":       {"the mode was changed other than by session/set_mode", "`acp/server` TestModesAndOptions, TestCommands"},
	"config_option_update":      {"an option was changed other than by session/set_config_option", "`acp/server` TestModesAndOptions, TestCommands"},
	"session_info_update":       {"", "`acp/server` TestTranscripts, TestCommands"},
	"usage_update":              {"the model's window is known", "`acp/server` TestTranscripts, TestUsage, TestUsage_CutOff; `agent` TestUsage_OfTheModelThatAnswered, TestSpending, TestCutOff_Cancelled"},
	"notice":                    {"session.notices; otherwise a message in the next turn", "`acp/server` TestMCP_BadServers, TestCommands_BadFile"},
	"compaction_update":         {"session.compaction; otherwise a line at its end", "`acp/server` TestCompaction_IsShown, TestCompaction_Failures"},
	"compaction_summary_chunk":  {"session.compaction", "`acp/server` TestCompaction_Failures"},
	"subagent_update":           {"subagents; otherwise the child's calls are calls of the parent", "`acp/server` TestSubagents, TestSubagents_Cancel"},
	"session_message":           {"subagents", "`acp/server` TestSubagents"},
	"session_message_chunk":     {"never: a message to a child is sent whole", ""},
}
