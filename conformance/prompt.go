package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// refusesPrompt returns a check that a prompt with some parameters is refused.
func refusesPrompt(prompt any, codes ...int) func(*trial) {
	return inSession(func(s *scene) {
		params := ref(s.session)
		if prompt != nil {
			params["prompt"] = prompt
		}
		s.fails("session/prompt", params, codes...)
		s.alive()
	})
}

// stopsWith returns a check of the stop reason for a purpose.
func stopsWith(purpose Purpose, reason string) func(*trial) {
	return inTurn(purpose, func(u *turn) { u.ends(reason) })
}

var promptChecks = []Check{
	{"prompt.answers", TierMust, "A prompt is answered with text of the agent's, and then with a stop reason.", pagePrompt, inSession(func(s *scene) {
		if text := s.ask(PurposeSay, "text", "lighthouse").stop().text(); strings.TrimSpace(text) == "" {
			s.failf("the agent said nothing before it answered the prompt")
		}
	})},
	{"prompt.stop.end-turn", TierMust, "A turn that comes to its end stops with end_turn.", pagePrompt, inSession((*scene).alive)},
	{"prompt.stop.known", TierMust, "The stop reason is one that the protocol has.", pagePrompt, watchOne("stop reason", func(m *message) (bool, string) {
		reason := str(m.result, "stopReason")
		known := []string{"", "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
		return reason != "", when(!slices.Contains(known, reason), fmt.Sprintf("the protocol has no stop reason %q", reason))
	})},
	{"prompt.stop.max-tokens", TierCapability, "A turn that the output limit ends stops with max_tokens.", pagePrompt, stopsWith(PurposeLength, "max_tokens")},
	{"prompt.stop.refusal", TierCapability, "A turn that the model refuses stops with refusal.", pagePrompt, stopsWith(PurposeRefusal, "refusal")},
	{"prompt.updates-first", TierMust, "All updates of a turn come before its response.", pagePrompt, watch("turn", func() look {
		busy := make(map[string]string) // session IDs by request ID
		return func(m *message) (bool, string) {
			kind, _ := m.update()
			switch {
			case m.sent && (m.method == "session/prompt" || m.method == "session/load") && m.id != "":
				busy[m.id] = m.session()
			case !m.sent && m.isResponse():
				delete(busy, m.id)
			case turnKind(kind):
				isBusy := slices.Contains(slices.Collect(maps.Values(busy)), m.session())
				return true, when(!isBusy, "a "+kind+" comes while no prompt of its session is open")
			}
			return false, ""
		}
	})},
	{"prompt.no-echo", TierShould, "The user's own prompt is not sent back in the turn.", pagePrompt, inSession(func(s *scene) {
		if len(s.ask(PurposeSay, "text", "lighthouse").stop().updates("user_message_chunk")) > 0 {
			s.failf("the prompt comes back as a user_message_chunk")
		}
	})},
	{"prompt.chunks.message-id", TierShould, "Chunks have a message id.", pagePrompt, watchOne("chunk", func(m *message) (bool, string) {
		kind, body := m.update()
		isChunk := strings.HasSuffix(kind, "_message_chunk") || kind == "agent_thought_chunk"
		return isChunk, when(isChunk && str(body, "messageId") == "", "a "+kind+" has no message id")
	})},
	{"prompt.chunks.one-role", TierMust, "A message of the user's and one of the agent's have different ids.", pagePrompt, watch("chunk with a message id", func() look {
		roles := make(map[string]string)
		return func(m *message) (bool, string) {
			kind, body := m.update()
			id := str(body, "messageId")
			if id == "" {
				return false, ""
			}
			role, _, _ := strings.Cut(kind, "_")
			if was := cmp.Or(roles[m.session()+id], role); was != role {
				return true, fmt.Sprintf("the message id %q is that of the %s and that of the %s", id, was, role)
			}
			roles[m.session()+id] = role
			return true, ""
		}
	})},
	{"prompt.chunks.new-turn", TierMust, "Messages of different turns have different ids.", pagePrompt, inSession(func(s *scene) {
		var ids [2]string
		for i := range ids {
			ids[i] = str(s.ask(PurposeSay, "text", "lighthouse").stop().updates("agent_message_chunk"), 0, "messageId")
			if ids[i] == "" {
				s.notSeen("the chunks have no message ids")
			}
		}
		if ids[0] == ids[1] {
			s.failf("two turns have messages with the id %q", ids[0])
		}
	})},
	{"prompt.chunks.streamed", TierShould, "A long answer comes in pieces while the model writes it.", pagePrompt, inTurn(PurposeLong, func(u *turn) {
		n := 0
		u.sees("a second chunk", func(m *message) bool {
			if kind, _ := m.update(); kind == "agent_message_chunk" || kind == "agent_thought_chunk" {
				n++
			}
			return n == 2
		})
		u.awaitQuiet()
		if u.answered(u.call) {
			u.failf("the answer came only at the end of the turn")
		}
		u.abort()
	})},
	{"prompt.chunks.not-empty", TierShould, "Text chunks are not empty.", pagePrompt, watchUpdate("agent_message_chunk", func(body any) string {
		return when(str(body, "content", "type") == "text" && str(body, "content", "text") == "", "an agent_message_chunk has no text")
	})},
	{"prompt.thoughts", TierCapability, "What the model thinks comes as agent_thought_chunk, before the answer.", pagePrompt, inSession(func(s *scene) {
		u := s.ask(PurposeThink, "text", "pondering").stop()
		if len(u.updates("agent_thought_chunk")) == 0 {
			s.notSeen("the model did not think aloud")
		}
		if str(u.updates("agent_thought_chunk", "agent_message_chunk"), 0, "sessionUpdate") != "agent_thought_chunk" {
			s.failf("the answer begins before the thought")
		}
	})},
	{"prompt.unicode", TierMust, "Text of any script comes through unharmed.", pagePrompt, inSession(func(s *scene) {
		const word = "Grüße-目录-😀"
		switch text := s.ask(PurposeSay, "text", word).stop().text(); {
		case strings.Contains(text, word):
		case strings.Contains(text, "Gr"):
			s.failf("%q comes back as %q", word, text)
		default:
			s.notSeen("the model did not repeat the word")
		}
	})},
	{"prompt.chunks.whole-characters", TierMust, "A chunk does not cut a character in two.", pagePrompt, inSession(func(s *scene) {
		if text := s.ask(PurposeSay, "text", strings.Repeat("😀目", 40)).stop().text(); strings.ContainsRune(text, '\ufffd') {
			s.failf("a character was cut in two")
		}
	})},
	{"prompt.big", TierShould, "A prompt of 256 KiB is taken.", pagePrompt, inSession(func(s *scene) {
		s.begin(textBlock(s.prompt(PurposeSay, "text", "big")), textBlock(strings.Repeat("\nThis line is only here for its length.", 7000))).stop()
	})},
	{"prompt.unknown-session", TierMust, "A prompt to an unknown session is refused.", pagePrompt, refuses("session/prompt", `{"sessionId":"no-such-session","prompt":[{"type":"text","text":"x"}]}`)},
	{"prompt.unknown-session-code", TierShould, "A prompt to an unknown session is refused with -32002.", pagePrompt, refuses("session/prompt", `{"sessionId":"no-such-session","prompt":[{"type":"text","text":"x"}]}`, codeNotFound)},
	{"prompt.missing", TierMust, "session/prompt without a prompt is refused with -32602.", pagePrompt, refusesPrompt(nil, codeParams)},
	{"prompt.not-a-list", TierMust, "A prompt that is no array is refused with -32602.", pagePrompt, refusesPrompt("hello", codeParams)},
	{"prompt.not-a-block", TierMust, "A prompt of something else than content blocks is refused with -32602.", pagePrompt, refusesPrompt([]any{"hello", 7}, codeParams)},
	{"prompt.unknown-block", TierMust, "A content block of an unknown type is refused with -32602.", pageContent, refusesPrompt([]any{object{"type": "hologram", "data": "x"}}, codeParams)},
	{"prompt.block-without-type", TierMust, "A content block without a type is refused with -32602.", pageContent, refusesPrompt([]any{object{"text": "x"}}, codeParams)},
	{"prompt.empty", TierMust, "An empty prompt is answered and does not end the agent.", pagePrompt, inSession(func(s *scene) {
		s.respond("session/prompt", with(ref(s.session), "prompt", []any{}))
		s.alive()
	})},
	{"prompt.second", TierMust, "A prompt while a turn runs is answered: refused, or after the turn.", pagePrompt, inSession(func(s *scene) {
		first := s.long()
		second := s.ask(PurposeSay, "text", "second")
		s.lives()
		first.abort()
		second.answer()
		s.alive()
	})},
	{"prompt.failure", TierCapability, "A model that fails makes an error of the prompt, with a message.", pagePrompt, inTurn(PurposeFail, func(u *turn) {
		if m := u.failed(); strings.TrimSpace(m.err.message) == "" {
			u.failAt(m, "the error says nothing")
		}
	})},
	{"prompt.after-failure", TierCapability, "A session goes on after a model has failed.", pagePrompt, inTurn(PurposeFail, func(u *turn) {
		u.failed()
		u.alive()
	})},
	{"prompt.usage", TierCapability, "usage_update reports how much of the context is used, not below zero and not above its size.", pagePrompt, watchUpdate("usage_update", func(body any) string {
		used, ok1 := at(body, "used").(float64)
		size, ok2 := at(body, "size").(float64)
		return when(!ok1 || !ok2 || used < 0 || size < 0 || used > size, "the usage is "+excerpt(body))
	})},
	{"prompt.title", TierCapability, "session_info_update has a title that is a text, if any.", pageList, watchUpdate("session_info_update", func(body any) string {
		_, isText := at(body, "title").(string)
		return when(at(body, "title") != nil && !isText, "the title is "+excerpt(at(body, "title")))
	})},
}

// failed returns the error response of a turn whose model fails. It skips the check if the turn succeeds.
func (u *turn) failed() *message {
	m := u.answer()
	if m.err == nil {
		u.notSeen("the turn did not fail")
	}
	return m
}

var planChecks = []Check{
	{"plan.entries", TierCapability, "A plan has a list of entries.", pagePlan, watchUpdate("plan", func(body any) string {
		_, ok := at(body, "entries").([]any)
		return when(!ok, "the plan has no list of entries")
	})},
	{"plan.content", TierCapability, "A plan's entry says what is to be done.", pagePlan, watchUpdate("plan", eachOf("entries", notBlank("content", "an entry says nothing")))},
	{"plan.priority", TierCapability, "A plan's entry has the priority high, medium or low.", pagePlan, watchUpdate("plan", eachOf("entries", oneOf("priority", "unknown priority", "high", "medium", "low")))},
	{"plan.status", TierCapability, "A plan's entry is pending, in_progress or completed.", pagePlan, watchUpdate("plan", eachOf("entries", oneOf("status", "unknown status", "pending", "in_progress", "completed")))},
	{"plan.whole", TierCapability, "Each plan update has the whole plan.", pagePlan, inTurn(PurposePlan, func(u *turn) {
		plans := u.stop().updates("plan")
		if len(plans) < 2 {
			u.notSeen("the plan was not updated in the turn")
		}
		var before []string
		for _, plan := range plans {
			var now []string
			for _, e := range list(plan, "entries") {
				now = append(now, str(e, "content"))
			}
			isPart := !slices.ContainsFunc(now, func(e string) bool { return !slices.Contains(before, e) })
			if len(now) < len(before) && isPart {
				u.failf("an update has %d of the plan's %d entries", len(now), len(before))
			}
			before = now
		}
	})},
}

// An image of one pixel, and an empty sound.
const (
	onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	noSound  = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
)

// accepts returns a check that a prompt may have a block, if the agent advertises the capabilities.
func accepts(block func(p *peer) object, capabilities ...string) func(*trial) {
	return inSession(func(s *scene) {
		for _, c := range capabilities {
			s.needs("promptCapabilities", c)
		}
		s.begin(textBlock(s.prompt(PurposeImage)), block(s.peer)).stop()
	})
}

// unadvertised returns a check that a prompt with a block is refused unless a capability is advertised.
func unadvertised(capability string, block func(p *peer) object) func(*trial) {
	return inSession(func(s *scene) {
		if !s.advertises("promptCapabilities", capability) {
			m := s.begin(textBlock(s.prompt(PurposeImage)), block(s.peer)).answer()
			s.failsWith(m, "content that is not advertised ("+capability+")", codeParams)
		}
		s.alive()
	})
}

func imageBlock(*peer) object {
	return object{"type": "image", "mimeType": "image/png", "data": onePixel}
}

func audioBlock(*peer) object {
	return object{"type": "audio", "mimeType": "audio/wav", "data": noSound}
}

func embeddedBlock(p *peer) object {
	return object{"type": "resource", "resource": object{"uri": fileURI(p), "text": "embedded", "mimeType": "text/plain"}}
}

func fileURI(p *peer) string { return "file:///" + strings.TrimLeft(p.work, "/") + "/linked.txt" }

var contentChecks = []Check{
	{"content.text", TierMust, "Several text blocks are one prompt.", pageContent, accepts(func(*peer) object { return textBlock("more") })},
	{"content.annotations", TierMust, "A block may have annotations.", pageContent, accepts(func(*peer) object {
		return with(textBlock("more"), "annotations", object{"audience": []any{"user"}, "priority": 0.5, "lastModified": nil})
	})},
	{"content.resource-link", TierMust, "A prompt may have resource links.", pageContent, accepts(func(p *peer) object {
		p.file("linked.txt", "linked\n")
		return object{"type": "resource_link", "name": "linked.txt", "uri": fileURI(p)}
	})},
	{"content.resource-link.full", TierMust, "A resource link may have all of its members.", pageContent, accepts(func(p *peer) object {
		return object{"type": "resource_link", "name": "x", "uri": "https://example.com/x?y=z#w", "title": "X", "description": "a page", "mimeType": "text/html", "size": 7}
	})},
	{"content.resource-link.missing", TierMust, "A resource link to what is not there does not end the turn with an error.", pageContent, accepts(func(p *peer) object {
		return object{"type": "resource_link", "name": "gone.txt", "uri": fileURI(p) + ".gone"}
	})},
	{"content.image", TierCapability, "Images are taken if promptCapabilities.image is advertised.", pageContent, accepts(imageBlock, "image")},
	{"content.image.unadvertised", TierShould, "Images are refused with -32602 unless promptCapabilities.image is advertised.", pageContent, unadvertised("image", imageBlock)},
	{"content.audio", TierCapability, "Audio is taken if promptCapabilities.audio is advertised.", pageContent, accepts(audioBlock, "audio")},
	{"content.audio.unadvertised", TierShould, "Audio is refused with -32602 unless promptCapabilities.audio is advertised.", pageContent, unadvertised("audio", audioBlock)},
	{"content.embedded", TierCapability, "Embedded text is taken if promptCapabilities.embeddedContext is advertised.", pageContent, accepts(embeddedBlock, "embeddedContext")},
	{"content.embedded.unadvertised", TierShould, "Embedded text is refused with -32602 unless promptCapabilities.embeddedContext is advertised.", pageContent, unadvertised("embeddedContext", embeddedBlock)},
	{"content.embedded-blob", TierCapability, "Embedded bytes are taken if promptCapabilities.embeddedContext is advertised.", pageContent, accepts(func(*peer) object {
		return object{"type": "resource", "resource": object{"uri": "file:///pixel.png", "blob": onePixel, "mimeType": "image/png"}}
	}, "embeddedContext")},
	{"content.image.broken", TierShould, "An image that is not base64 is refused with -32602.", pageContent, inSession(func(s *scene) {
		s.needs("promptCapabilities", "image")
		s.failsWith(s.begin(textBlock("x"), object{"type": "image", "mimeType": "image/png", "data": "%%%"}).answer(), "a broken image", codeParams)
	})},
	{"content.image.incomplete", TierMust, "An image without data is refused with -32602.", pageContent, refusesPrompt([]any{object{"type": "image", "mimeType": "image/png"}}, codeParams)},
	{"content.resource-link.incomplete", TierMust, "A resource link without a URI is refused with -32602.", pageContent, refusesPrompt([]any{object{"type": "resource_link", "name": "x"}}, codeParams)},
}
