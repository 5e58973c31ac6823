package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// A decoder validates a value like decoders that are generated from classes, as in Kotlin. It ignores unknown members, but an
// unknown kind or value, a missing required member, or a value of the wrong type fails the whole message. An optional member may be
// null. The decoders support the stable protocol without notices and compaction, which an editor supports only if it advertises
// them.
type decoder func(v any) error

func decodeText(v any) error {
	if _, ok := v.(string); !ok {
		return fmt.Errorf("not a string: %v", v)
	}
	return nil
}

func decodeFlag(v any) error {
	if _, ok := v.(bool); !ok {
		return fmt.Errorf("not a boolean: %v", v)
	}
	return nil
}

func decodeNumber(v any) error {
	if _, ok := v.(float64); !ok {
		return fmt.Errorf("not a number: %v", v)
	}
	return nil
}

// decodeCount accepts a signed 64-bit integer of zero or more.
func decodeCount(v any) error {
	if n, ok := v.(float64); !ok || n < 0 || n != math.Trunc(n) || n >= math.MaxInt64 {
		return fmt.Errorf("not a whole number: %v", v)
	}
	return nil
}

func decodeAny(any) error { return nil }

// word accepts one of the words.
func word(words ...string) decoder {
	return func(v any) error {
		if s, ok := v.(string); !ok || !slices.Contains(words, s) {
			return fmt.Errorf("%v is none of %s", v, strings.Join(words, ", "))
		}
		return nil
	}
}

func listOf(element decoder) decoder {
	return func(v any) error {
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("not a list: %v", v)
		}
		for i, e := range list {
			if err := element(e); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
}

// memberDecoders are the members of an object by name. A name that ends in "?" is optional.
type memberDecoders map[string]decoder

func (m memberDecoders) decode(v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("not an object: %v", v)
	}
	for name, decode := range m {
		name, optional := strings.CutSuffix(name, "?")
		value, there := object[name]
		switch {
		case !there && !optional:
			return fmt.Errorf("%s is missing", name)
		case !there || value == nil && optional:
			continue
		}
		if err := decode(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// tagged is a union with the discriminator in one member. The variant "" is for objects without that member.
func tagged(tag string, variants map[string]memberDecoders) decoder {
	return func(v any) error {
		object, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("not an object: %v", v)
		}
		kind, _ := object[tag].(string)
		variant, known := variants[kind]
		if !known {
			return fmt.Errorf("unknown %s %q", tag, kind)
		}
		if err := variant.decode(v); err != nil {
			return fmt.Errorf("%s %s: %w", tag, kind, err)
		}
		return nil
	}
}

// stableDecoders are the decoders of responses and of the agent's calls, by method.
func stableDecoders() (answers, calls map[string]decoder) {
	resource := func(v any) error {
		return memberDecoders{"uri": decodeText, "mimeType?": decodeText, "text?": decodeText, "blob?": decodeText}.decode(v)
	}
	content := tagged("type", map[string]memberDecoders{
		"text": {"text": decodeText}, "image": {"data": decodeText, "mimeType": decodeText, "uri?": decodeText},
		"audio": {"data": decodeText, "mimeType": decodeText}, "resource": {"resource": resource},
		"resource_link": {"name": decodeText, "uri": decodeText, "description?": decodeText, "mimeType?": decodeText, "size?": decodeCount, "title?": decodeText},
	})
	chunk := memberDecoders{"content": content, "messageId?": decodeText}
	toolContent := tagged("type", map[string]memberDecoders{
		"content": {"content": content}, "terminal": {"terminalId": decodeText},
		"diff": {"path": decodeText, "newText": decodeText, "oldText?": decodeText},
	})
	call := func(title string) memberDecoders {
		return memberDecoders{
			"toolCallId": decodeText, title: decodeText, "content?": listOf(toolContent),
			"kind?":      word("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"),
			"status?":    word("pending", "in_progress", "completed", "failed"),
			"locations?": listOf(memberDecoders{"path": decodeText, "line?": decodeCount}.decode),
		}
	}
	modes := memberDecoders{
		"currentModeId":  decodeText,
		"availableModes": listOf(memberDecoders{"id": decodeText, "name": decodeText, "description?": decodeText}.decode),
	}
	choice := memberDecoders{"value": decodeText, "name": decodeText, "description?": decodeText}
	choices := func(v any) error {
		// Either a list of choices or one of groups.
		if list, ok := v.([]any); ok && len(list) > 0 {
			if first, ok := list[0].(map[string]any); ok && first["group"] != nil {
				return listOf(memberDecoders{"group": decodeText, "name": decodeText, "options": listOf(choice.decode)}.decode)(v)
			}
		}
		return listOf(choice.decode)(v)
	}
	options := listOf(tagged("type", map[string]memberDecoders{
		"select":  {"id": decodeText, "name": decodeText, "description?": decodeText, "category?": decodeText, "currentValue": decodeText, "options": choices},
		"boolean": {"id": decodeText, "name": decodeText, "description?": decodeText, "category?": decodeText, "currentValue": decodeFlag},
	}))
	opened := memberDecoders{"modes?": modes.decode, "configOptions?": options}
	session := memberDecoders{"sessionId": decodeText, "modes?": modes.decode, "configOptions?": options}
	update := tagged("sessionUpdate", map[string]memberDecoders{
		"user_message_chunk": chunk, "agent_message_chunk": chunk, "agent_thought_chunk": chunk,
		"tool_call": call("title"), "tool_call_update": call("title?"),
		"plan": {"entries": listOf(memberDecoders{
			"content": decodeText, "priority": word("high", "medium", "low"), "status": word("pending", "in_progress", "completed"),
		}.decode)},
		"available_commands_update": {"availableCommands": listOf(memberDecoders{
			"name": decodeText, "description": decodeText, "input?": memberDecoders{"hint": decodeText}.decode,
		}.decode)},
		"current_mode_update":  {"currentModeId": decodeText},
		"config_option_update": {"configOptions": options},
		"session_info_update":  {"title?": decodeText, "updatedAt?": decodeText},
		"usage_update":         {"used": decodeCount, "size": decodeCount, "cost?": memberDecoders{"amount": decodeNumber, "currency": decodeText}.decode},
	})
	inSession := func(m memberDecoders) decoder {
		m["sessionId"] = decodeText
		return m.decode
	}
	flags := func(names ...string) decoder {
		m := memberDecoders{}
		for _, name := range names {
			m[name] = decodeFlag
		}
		return m.decode
	}
	answers = map[string]decoder{
		acp.MethodInitialize.Name: memberDecoders{
			"protocolVersion": decodeCount,
			"agentInfo?":      memberDecoders{"name": decodeText, "version": decodeText, "title?": decodeText}.decode,
			"authMethods?": listOf(tagged("type", map[string]memberDecoders{
				"":         {"id": decodeText, "name": decodeText, "description?": decodeText},
				"terminal": {"id": decodeText, "name": decodeText, "description?": decodeText, "args?": listOf(decodeText)},
			})),
			// Some decoders require all of the old flags.
			"agentCapabilities?": memberDecoders{
				"loadSession": decodeFlag, "promptCapabilities": flags("image", "audio", "embeddedContext"), "mcpCapabilities": flags("http", "sse"),
				"sessionCapabilities?": memberDecoders{"list?": memberDecoders{}.decode, "resume?": memberDecoders{}.decode, "close?": memberDecoders{}.decode}.decode,
			}.decode,
		}.decode,
		acp.MethodSessionNew.Name:             session.decode,
		acp.MethodSessionFork.Name:            session.decode,
		acp.MethodSessionLoad.Name:            opened.decode,
		acp.MethodSessionResume.Name:          opened.decode,
		acp.MethodSessionSetConfigOption.Name: memberDecoders{"configOptions": options}.decode,
		acp.MethodSessionPrompt.Name:          memberDecoders{"stopReason": word("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")}.decode,
		acp.MethodSessionList.Name: memberDecoders{"nextCursor?": decodeText, "sessions": listOf(memberDecoders{
			"sessionId": decodeText, "cwd": decodeText, "title?": decodeText, "updatedAt?": decodeText, "additionalDirectories?": listOf(decodeText),
		}.decode)}.decode,
	}
	calls = map[string]decoder{
		acp.MethodSessionUpdate.Name: inSession(memberDecoders{"update": update}),
		acp.MethodSessionRequestPermission.Name: inSession(memberDecoders{"toolCall": call("title?").decode, "options": listOf(memberDecoders{
			"optionId": decodeText, "name": decodeText, "kind": word("allow_once", "allow_always", "reject_once", "reject_always"),
		}.decode)}),
		acp.MethodFSReadTextFile.Name:  inSession(memberDecoders{"path": decodeText, "line?": decodeCount, "limit?": decodeCount}),
		acp.MethodFSWriteTextFile.Name: inSession(memberDecoders{"path": decodeText, "content": decodeText}),
		acp.MethodTerminalCreate.Name: inSession(memberDecoders{
			"command": decodeText, "args?": listOf(decodeText), "cwd?": decodeText, "outputByteLimit?": decodeCount,
			"env?": listOf(memberDecoders{"name": decodeText, "value": decodeText}.decode),
		}),
		acp.MethodTerminalOutput.Name:      inSession(memberDecoders{"terminalId": decodeText}),
		acp.MethodTerminalWaitForExit.Name: inSession(memberDecoders{"terminalId": decodeText}),
		acp.MethodTerminalKill.Name:        inSession(memberDecoders{"terminalId": decodeText}),
		acp.MethodTerminalRelease.Name:     inSession(memberDecoders{"terminalId": decodeText}),
	}
	return answers, calls
}

// decode decodes a message.
func (w *editorWatch) decode(m *wireMessage) error {
	answers, calls := stableDecoders()
	var value any
	var how decoder
	raw := m.Params
	switch {
	case m.Method != "":
		how = calls[m.Method] // others are ignored, or answered -32601
	case len(m.Error) > 0:
		how, raw = memberDecoders{"code": decodeNumber, "message": decodeText}.decode, m.Error
	default:
		how, raw = answers[w.asked[string(m.ID)].method], m.Result
	}
	if how == nil {
		how = decodeAny
	}
	if err := jsonx.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	if err := how(value); err != nil {
		return fmt.Errorf("the decoder fails: %w", err)
	}
	return nil
}
