package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const rolesFile = `providers:
  fake:
    api: openai-completions
    baseUrl: URL
    auth: none
    models: [{id: large, reasoning: true}, {id: small, reasoning: true}, {id: other, reasoning: true}]
  locked: {api: openai-completions, baseUrl: 'http://192.0.2.1', apiKeyEnv: NO_SUCH_KEY, models: [{id: m}]}
profiles:
  fast: {model_mapping: {default: 'fake/small:low', smol: gjc/default}}
  faster: {extends: fast, model_mapping: {default: fake/other}}
  far: {required_providers: [locked], model_mapping: {default: locked/m}}
  wrong: {model_mapping: {default: fake/nonesuch}}
`

// The model and the level of a new session, and the notice if they are not available: a session begins in any case, and
// names the setting to correct.
func TestModels_RolesAndProfiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, config  string
		args, env     []string
		model, effort string
		title         string // the model that is asked for the title
		// notice has parts of the one notice; none for no notice.
		notice []string
	}{
		{name: "roles", config: "modelRoles: {default: 'gjc/work:high', work: fake/large, smol: fake/small}\n", model: "large", effort: "high", title: "small"},
		{name: "smol in the environment", config: "modelRoles: {default: fake/large, smol: fake/large}\n", env: []string{"GJC_SMOL_MODEL=fake/other"}, model: "large", title: "other"},
		{name: "profile of the command line", config: "modelRoles: {default: fake/large, smol: fake/other}\n", args: []string{"--mpreset", "fast"}, model: "small", effort: "low", title: "small"},
		{name: "profile of the configuration", config: "modelProfile: {default: fast}\nmodelRoles: {default: fake/large}\n", model: "small", effort: "low", title: "small"},
		{name: "one profile over another", args: []string{"--mpreset", "faster"}, model: "other", title: "other"},
		{name: "model over profile", args: []string{"--mpreset", "fast", "--model", "fake/large:high"}, model: "large", effort: "high", title: "large"},
		{name: "no such profile", config: "modelRoles: {default: fake/large, smol: fake/small}\n", args: []string{"--mpreset", "fsat"}, model: "large", title: "small", notice: []string{`"fsat"`, "fast, faster"}},
		{name: "profile without a key", config: "modelRoles: {default: fake/large, smol: fake/small}\n", args: []string{"--mpreset", "far"}, model: "large", title: "small", notice: []string{`"far"`, "key for locked", "NO_SUCH_KEY"}},
		{name: "profile without a model", args: []string{"--mpreset", "wrong"}, model: "large", title: "large", notice: []string{`"wrong"`, "nonesuch"}},
		{name: "role without a key", config: "modelRoles: {default: locked/m}\n", model: "large", title: "large", notice: []string{"locked/m", "NO_SUCH_KEY"}},
		{name: "role in a circle", config: "modelRoles: {default: gjc/work, work: gjc/default}\n", model: "large", title: "large", notice: []string{"refers to itself"}},
		{name: "role misspelled", config: "modelRoles: {default: fake/lrage}\n", model: "large", title: "large", notice: []string{"lrage"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := naming(t)
			home := tempDir(t)
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), strings.Replace(rolesFile, "URL", model.OpenAIURL(), 1))
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), tt.config)
			p := startPeer(t, peerOptions{home: home, args: tt.args, env: tt.env})
			p.initialize(object{"session": object{"notices": object{}}})
			var created struct{ SessionID string }
			if err := json.Unmarshal(p.call("session/new", object{"cwd": p.work, "mcpServers": []any{}}), &created); err != nil {
				t.Fatal(err)
			}
			m, before := p.answer(p.prompt(created.SessionID, "mend the shed"))
			if m.Error != nil {
				t.Fatalf("the prompt got %s", m.line)
			}
			isNamed := func(line string) bool { return strings.Contains(line, "Mending the garden shed") }
			if !slices.ContainsFunc(lines(before), isNamed) {
				p.until("the title", func(m message) bool { return isNamed(m.line) })
			}
			p.stop()
			asked := map[bool]string{}
			for _, r := range model.Requests() {
				_, named, _ := strings.Cut(string(r.Body), `"model":"`)
				named, _, _ = strings.Cut(named, `"`)
				asked[isTitle(r)] = named
				if effort := `"reasoning_effort":"` + tt.effort + `"`; !isTitle(r) && tt.effort != "" && !strings.Contains(string(r.Body), effort) {
					t.Errorf("the request lacks %s", effort)
				}
			}
			if asked[false] != tt.model || asked[true] != tt.title {
				t.Errorf("%q is asked, and %q for the title; want %q and %q", asked[false], asked[true], tt.model, tt.title)
			}
			notices := slices.DeleteFunc(lines(before), func(line string) bool { return !strings.Contains(line, `"sessionUpdate":"notice"`) })
			if len(notices) != min(len(tt.notice), 1) {
				t.Errorf("the notices are %q", notices)
			}
			for _, part := range tt.notice {
				if len(notices) > 0 && !strings.Contains(strings.ReplaceAll(notices[0], `\"`, `"`), part) {
					t.Errorf("the notice lacks %s: %s", part, notices[0])
				}
			}
		})
	}
}
