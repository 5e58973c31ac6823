package search

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed astgrep.md
var astGrepText string

// Limits of the ast_grep tool.
const (
	astPage = 50
	// maxASTLines bounds the lines of one match that are shown.
	maxASTLines = 12
	// maxASTVariable bounds the length of a metavariable's text, in characters.
	maxASTVariable = 120
)

type astGrepInput struct {
	Pattern string   `json:"pat" jsonschema:"a piece of code with $NAME and $$$NAME as metavariables"`
	Paths   []string `json:"paths" jsonschema:"files, directories or globs"`
	Lang    string   `json:"lang,omitzero" jsonschema:"only files of this language, such as go, typescript, python; all if absent"`
	Skip    int      `json:"skip,omitzero" jsonschema:"matches to skip, for the next page"`
}

// AstGrep returns the tool "ast_grep", which searches code by its structure with ast-grep. globalIgnore is the path of the user's own ignore
// file, or "".
func AstGrep(globalIgnore string) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[astGrepInput]{
		Schemas: schemas,
		Name:    "ast_grep", Description: toolkit.Description(astGrepText), Kind: agent.KindSearch, Program: astProgram, Uses: approval.Uses{Programs: []string{astProgram}},
		Plan: planASTGrep, Run: func(ctx context.Context, call *agent.Call, in *astGrepInput) (*agent.Result, error) {
			return runASTGrep(ctx, call, in, globalIgnore)
		},
	})
}

func planASTGrep(ctx context.Context, call *agent.Call, in *astGrepInput) (*agent.CallPlan, error) {
	if in.Skip < 0 {
		return nil, fmt.Errorf("%w for ast_grep: skip is %d; it must be 0 or more", agent.ErrBadInput, in.Skip)
	}
	scopes, _, err := astScopes(ctx, call, "ast_grep", in.Pattern, in.Paths, in.Lang)
	if err != nil {
		return nil, err
	}
	return &agent.CallPlan{
		Title:   fmt.Sprintf("Search code %s in %s", toolkit.CutLine(in.Pattern, toolkit.MaxCommandTitle), strings.Join(in.Paths, ", ")),
		Effects: globEffects(scopes),
	}, nil
}

// astScopes checks the parameters that both tools share.
func astScopes(ctx context.Context, call *agent.Call, tool, pattern string, paths []string, lang string) (scopes []walk.Glob, language string, err error) {
	switch {
	case strings.TrimSpace(pattern) == "":
		return nil, "", fmt.Errorf("%w for %s: the pattern is empty", agent.ErrBadInput, tool)
	case len(pattern) > maxASTPattern:
		return nil, "", fmt.Errorf("%w for %s: the pattern has %s; at most %s are taken", agent.ErrBadInput, tool, toolkit.Size(int64(len(pattern))), toolkit.Size(maxASTPattern))
	case strings.ContainsRune(pattern, 0):
		return nil, "", fmt.Errorf("%w for %s: the pattern contains a NUL byte", agent.ErrBadInput, tool)
	case len(paths) == 0:
		return nil, "", fmt.Errorf("%w for %s: paths is empty; give files, directories or globs", agent.ErrBadInput, tool)
	}
	if lang != "" {
		if language = astLanguage(lang); language == "" {
			return nil, "", fmt.Errorf("%w for %s: unknown language %q; the languages are %s", agent.ErrBadInput, tool, toolkit.CutLine(lang, toolkit.MaxCommandTitle), strings.Join(astLanguages(), ", "))
		}
	}
	scopes, err = pathScopes(ctx, call, tool, paths)
	return scopes, language, err
}

func runASTGrep(ctx context.Context, call *agent.Call, in *astGrepInput, globalIgnore string) (*agent.Result, error) {
	scopes, language, err := astScopes(ctx, call, "ast_grep", in.Pattern, in.Paths, in.Lang)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxASTTime, errASTTime)
	defer cancel()
	files, notes, err := astFiles(ctx, call, scopes, language, globalIgnore)
	if err != nil {
		return nil, err
	}
	run, err := newASTRun(call, astSearch{pattern: strings.TrimSpace(in.Pattern)})
	if err != nil {
		return nil, err
	}
	matches, err := run.matches(ctx, files, func(n int) bool { return n > in.Skip+astPage })
	if err != nil {
		return nil, err
	}
	for _, why := range run.complained() {
		notes = append(notes, "Not searched for "+why+".")
	}
	if run.cut {
		notes = append(notes, "The output was too long to read completely; narrow the paths.")
	}
	return astPageOf(call, files, matches, in.Skip, notes), nil
}

// astPageOf returns one page of matches for the model.
func astPageOf(call *agent.Call, files []astFile, matches []astMatch, skip int, notes []string) *agent.Result {
	res := new(agent.Result)
	switch {
	case len(files) == 0:
		res.Text = toolkit.JoinNotes("No file there is in a language that ast_grep knows.", notes)
		return res
	case len(matches) == 0:
		res.Text = toolkit.JoinNotes("No matches.", notes)
		return res
	case skip >= len(matches):
		res.Text = toolkit.JoinNotes(fmt.Sprintf("No more matches: skip is %d, and there are %s.", skip, text.Count(len(matches), "match")), notes)
		return res
	}
	page := matches[skip:min(len(matches), skip+astPage)]
	var b strings.Builder
	file, shown := "", 0
	for i := range page {
		m := &page[i]
		text := m.format()
		if m.File != file {
			text = toolkit.Display(&call.Workspace, m.File) + "\n" + text
			if i > 0 {
				text = "\n" + text
			}
		}
		if i > 0 && b.Len()+len(text) > toolkit.MaxText {
			break
		}
		b.WriteString(toolkit.CutBytes(text, toolkit.MaxText))
		file = m.File
		shown++
		res.Locations = append(res.Locations, agent.Location{Path: m.File, Line: m.Range.Start.Line + 1})
	}
	if next := skip + shown; next < len(matches) || skip > 0 {
		note := fmt.Sprintf("Matches %d to %d.", skip+1, next)
		if next < len(matches) {
			note += fmt.Sprintf(" There are more. Continue with skip: %d", next)
		}
		notes = append(notes, note)
	}
	res.Text = toolkit.JoinNotes(b.String(), notes)
	return res
}

func (m *astMatch) format() string {
	var b strings.Builder
	lines := strings.Split(toolkit.LineFeeds(strings.TrimSuffix(m.Lines, "\r")), "\n")
	for i, line := range lines {
		if i == maxASTLines {
			fmt.Fprintf(&b, "      … %s\n", text.Count(len(lines)-i, "more line"))
			break
		}
		sign := ':'
		if i > 0 {
			sign = '-'
		}
		fmt.Fprintf(&b, "%5d%c%s\n", m.Range.Start.Line+1+i, sign, toolkit.CutLine(strings.TrimPrefix(line, "\uFEFF"), toolkit.MaxColumns))
	}
	var variables []string
	for _, name := range slices.Sorted(maps.Keys(m.MetaVariables.Single)) {
		variables = append(variables, "$"+name+" = "+shownVariable(m.MetaVariables.Single[name].Text))
	}
	for _, name := range slices.Sorted(maps.Keys(m.MetaVariables.Multi)) {
		var parts []string
		for _, part := range m.MetaVariables.Multi[name] {
			parts = append(parts, part.Text)
		}
		variables = append(variables, "$$$"+name+" = "+shownVariable(strings.ReplaceAll(strings.Join(parts, " "), " ,", ",")))
	}
	if len(variables) > 0 {
		b.WriteString("      " + strings.Join(variables, "; ") + "\n")
	}
	return b.String()
}

func shownVariable(text string) string {
	return toolkit.CutLine(strings.Join(strings.Fields(text), " "), maxASTVariable)
}
