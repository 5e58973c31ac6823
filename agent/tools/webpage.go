package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/picture"
	"github.com/gajae-code/gjc/internal/webclient"
)

// webPage is a page to fetch: its address, and the selector for what to show of it.
type webPage struct {
	address string
	sel     selector
}

// parseWebPage splits a URL from its selector. A port is not a selector: only what follows a path can be one.
func parseWebPage(input string) (*webPage, error) {
	scheme := strings.Index(input, "://") + len("://")
	if !strings.Contains(input[scheme:], "/") {
		return &webPage{address: input}, nil
	}
	base, sel, err := splitSelector(input)
	if !strings.Contains(base[min(scheme, len(base)):], "/") {
		base, sel, err = input, selector{}, nil
	}
	if err == nil && sel.conflicts {
		err = fmt.Errorf("%w for read: a web page has no merge conflicts", agent.ErrBadInput)
	}
	return &webPage{base, sel}, err
}

// isWeb reports whether a read path is the address of a page.
func isWeb(path string) bool {
	lower := strings.ToLower(path[:min(len(path), 8)])
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

func planFetch(t *webPage) (*agent.CallPlan, error) {
	at, err := webclient.Parse(t.address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrBadInput, err)
	}
	title := "Fetch from " + at.Host + ": " + at.String()
	return &agent.CallPlan{
		Title: title, Kind: agent.KindFetch,
		Effects: []agent.Effect{{Action: agent.ActionNetwork, Host: at.Hostname(), Title: title}},
	}, nil
}

// fetchPage is the result for a page of the web.
func fetchPage(ctx context.Context, call *agent.Call, client *webclient.Client, t *webPage) (*agent.Result, error) {
	page, err := client.Fetch(ctx, t.address)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s cannot be fetched: %w", t.address, err)
	}
	var notes []string
	if page.Status/100 != 2 {
		notes = append(notes, fmt.Sprintf("The server answered with status %d.", page.Status))
	}
	if page.Cut {
		notes = append(notes, fmt.Sprintf("Only the first %s of it were read.", size(webclient.MaxBody)))
	}
	text, isText := page.Text(t.sel.raw)
	var res *agent.Result
	switch {
	case isText:
		res, err = webText(ctx, call, page, text, t.sel, notes)
	case picture.Type(page.Body) != "" && !page.Cut:
		res, err = showImage(ctx, call, page.URL, page.Body)
	default:
		err = fmt.Errorf("%s cannot be shown: it is %s, %s", t.address, page.MediaType, size(int64(len(page.Body))))
	}
	if err == nil && page.Status/100 != 2 {
		res.IsError = true
	}
	return res, err
}

// webText is a page's text, marked as what others have written.
func webText(ctx context.Context, call *agent.Call, page *webclient.Page, text string, sel selector, notes []string) (*agent.Result, error) {
	if strings.TrimSpace(text) == "" {
		return &agent.Result{Text: joinNotes("("+page.URL+" has no text)", notes)}, nil
	}
	lines := splitLines(text)
	// The raw source too comes in windows: nobody means ten megabytes of it.
	w := window{name: "the page", lines: &textLines{lines: lines}, made: true}
	ranges := sel.ranges
	if err := w.show(ranges); err != nil {
		return nil, err
	}
	if w.shown < len(lines) && call.Artifacts != nil {
		// The result is good without the artifact.
		if url, err := call.Artifacts.Put(ctx, "web_fetch", []byte(text[:min(len(text), maxArtifact)])); err == nil {
			w.notes = append(w.notes, "All of it is in "+url+"; read takes line ranges of it.")
		}
	}
	body := joinNotes(marked("the web, "+page.URL, w.out.String()), append(notes, w.notes...))
	return &agent.Result{Text: body}, nil
}
