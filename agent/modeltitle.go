package agent

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

//go:embed prompts/title.md
var titlePrompt string

// TitleModel selects the model that names a session whose model is current; it returns false for none.
type TitleModel func(current providers.ModelInfo) (providers.ModelInfo, bool)

const (
	// maxTitled is the size limit of the excerpt of each of the first two messages from which a model makes a title, in
	// bytes.
	maxTitled = 4 << 10
	// maxModelTitle is the maximum length of a model's title, in characters.
	maxModelTitle = 80
)

// nameByModel asks a model for the session's title after its first answer, in the background. It keeps a title that the user has
// set. If the model fails, the title from the first prompt stays.
func (st *state) nameByModel() {
	s := st.session
	if s.opts.TitleModel == nil || st.named || st.closing || s.child {
		return
	}
	said, answered := firstExchange(st.window.Messages)
	if answered == "" {
		return
	}
	st.named = true
	info, ok := s.opts.TitleModel(st.model)
	if !ok {
		return
	}
	s.background.Go(func() { // ends with the session's context
		defer func() {
			if v := recover(); v != nil && s.opts.Panicked != nil {
				s.opts.Panicked("naming a session", v, debug.Stack())
			}
		}()
		var used contextwindow.Meter
		title, err := askTitle(s.ctx, s, info, said, answered, &used)
		s.do(func(st *state) error {
			if used.Begun {
				st.chargeSideUsage(nil, sideUsage("a title", &info, &used, ""))
			}
			if err != nil || title == st.title || s.opts.Log.SetTitle(title, "auto") != nil {
				return nil // the current title stays
			}
			st.title = title
			st.emitInfo()
			return nil
		})
	})
}

// firstExchange returns the user's first text and the model's answer.
func firstExchange(history []providers.Message) (said, answered string) {
	for i := range history {
		switch m := &history[i]; {
		case m.Role == providers.RoleUser && said == "":
			said = m.Text()
		case m.Role == providers.RoleAssistant && m.Error == "" && strings.TrimSpace(m.Text()) != "":
			return said, m.Text()
		}
	}
	return "", ""
}

// askTitle asks a model for a title, once. It passes the usage to used.
func askTitle(ctx context.Context, s *Session, info providers.ModelInfo, said, answered string, used *contextwindow.Meter) (string, error) {
	model, err := s.opts.Models.Open(ctx, info)
	if err != nil {
		return "", err
	}
	hide := s.opts.Secrets.Hide // before the cut, because a secret cut in half would not be found
	said, answered = text.Middle(hide(said), maxTitled), text.Middle(hide(answered), maxTitled)
	req := &providers.Request{
		System: strings.TrimSpace(cmp.Or(ownTitlePrompt(ctx, s), titlePrompt)), Thinking: info.ClampThinking(providers.ThinkingOff), SessionID: s.opts.ID,
		Messages: []providers.Message{contextwindow.UserMessage("<user>\n" + said + "\n</user>\n\n<agent>\n" + answered + "\n</agent>")},
	}
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		used.Add(ev)
		if done, ok := ev.(providers.Done); ok {
			title, ok := titleIn(done.Message.Text())
			if !ok {
				return "", errors.New("the model gave no title")
			}
			return title, nil
		}
	}
	return "", errors.New("the model gave no title")
}

// ownTitlePrompt returns the user's or the project's prompt for titles, or "".
func ownTitlePrompt(ctx context.Context, s *Session) string {
	p := prompter{s}
	return p.systemFile(ctx, p.promptFiles(s.guidance(ctx)), userfiles.TitleFile)
}

// titleIn returns the title in a model's answer: its first line without the quotes and marks that models add.
func titleIn(text string) (string, bool) {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(strings.ReplaceAll(line, "**", "")), " ")
		line = strings.TrimSpace(strings.TrimLeft(line, "#*-> "))
		if rest, ok := cutPrefixFold(line, "title:"); ok {
			line = strings.TrimSpace(rest)
		}
		line = strings.TrimSuffix(strings.Trim(line, "\"'`*“”«»"), ".")
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) > maxModelTitle {
			return "", false // too long to be a title
		}
		return line, true
	}
	return "", false
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// title names a session by its first prompt.
func (t *RunningTurn) title(prompt string) {
	_ = t.do(func(st *state) error {
		title := quickTitle(prompt)
		if st.title != "" || title == "" {
			return nil
		}
		if err := t.session.opts.Log.SetTitle(title, "auto"); err != nil {
			return err // the next prompt tries again
		}
		st.title = title
		st.emitInfo()
		return nil
	})
}

// maxTitle is the maximum number of characters of a prompt in a title.
const maxTitle = 60

func quickTitle(text string) string {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) <= maxTitle {
			return line
		}
		cut := string([]rune(line)[:maxTitle])
		if i := strings.LastIndexByte(cut, ' '); i > maxTitle/2 {
			cut = cut[:i]
		}
		return cut + "…"
	}
	return ""
}
