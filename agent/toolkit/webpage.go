package toolkit

import (
	"context"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/picture"
	"github.com/gajae-code/gjc/internal/webclient"
)

// WebPage is the address of a page, and the selector for the lines to show.
type WebPage struct {
	Address string
	Sel     Selector
}

// ParseWebPage splits a URL from its selector. A port is not a selector: a selector can only follow a path.
func ParseWebPage(input string) (*WebPage, error) {
	scheme := strings.Index(input, "://") + len("://")
	if !strings.Contains(input[scheme:], "/") {
		return &WebPage{Address: input}, nil
	}
	base, sel, err := SplitSelector(input)
	if !strings.Contains(base[min(scheme, len(base)):], "/") {
		base, sel, err = input, Selector{}, nil
	}
	if err == nil && sel.Conflicts {
		err = fmt.Errorf("%w for read: a web page has no merge conflicts", agent.ErrBadInput)
	}
	return &WebPage{base, sel}, err
}

// IsWeb reports whether a read path is the address of a page.
func IsWeb(path string) bool {
	lower := strings.ToLower(path[:min(len(path), 8)])
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// PlanFetch returns the plan for reading a page, with a network effect on its host. It returns an error that wraps
// [agent.ErrBadInput] for an invalid address.
func PlanFetch(t *WebPage) (*agent.CallPlan, error) {
	at, err := webclient.Parse(t.Address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrBadInput, err)
	}
	title := "Fetch from " + at.Host + ": " + at.String()
	return &agent.CallPlan{
		Title: title, Kind: agent.KindFetch,
		Effects: []approval.Effect{{Action: approval.ActionNetwork, Host: at.Hostname(), Title: title}},
	}, nil
}

// FetchPage returns the result for a web page.
func FetchPage(ctx context.Context, call *agent.Call, client *webclient.Client, t *WebPage) (*agent.Result, error) {
	page, err := client.Fetch(ctx, t.Address)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s cannot be fetched: %w", t.Address, err)
	}
	var notes []string
	if page.Status/100 != 2 {
		notes = append(notes, fmt.Sprintf("The server answered with status %d.", page.Status))
	}
	if page.Cut {
		notes = append(notes, fmt.Sprintf("Only the first %s of it were read.", Size(webclient.MaxBody)))
	}
	text, isText := page.Text(t.Sel.Raw)
	var res *agent.Result
	switch {
	case isText:
		res, err = webText(ctx, call, page, text, t.Sel, notes)
	case picture.Type(page.Body) != "" && !page.Cut:
		res, err = ShowImage(ctx, call, page.URL, page.Body)
	default:
		err = fmt.Errorf("%s cannot be shown: it is %s, %s", t.Address, page.MediaType, Size(int64(len(page.Body))))
	}
	if err == nil && page.Status/100 != 2 {
		res.IsError = true
	}
	return res, err
}

// webText returns the result for a page with text, marked as data.
func webText(ctx context.Context, call *agent.Call, page *webclient.Page, text string, sel Selector, notes []string) (*agent.Result, error) {
	if strings.TrimSpace(text) == "" {
		return &agent.Result{Text: JoinNotes("("+page.URL+" has no text)", notes)}, nil
	}
	lines := SplitLines(text)
	// The raw source is shown in windows, too, because it may be megabytes long.
	w := Window{Name: "the page", Lines: &TextLines{Lines: lines}, Made: true}
	ranges := sel.Ranges
	if err := w.Show(ranges); err != nil {
		return nil, err
	}
	if w.Shown < len(lines) && call.Artifacts != nil {
		// The result is useful without the artifact.
		if url, err := call.Artifacts.Put(ctx, "web_fetch", []byte(text[:min(len(text), MaxArtifact)])); err == nil {
			w.Notes = append(w.Notes, "The full text is in "+url+"; use read with line ranges of it.")
		}
	}
	body := JoinNotes(Marked("the web, "+page.URL, w.Out.String()), append(notes, w.Notes...))
	return &agent.Result{Text: body}, nil
}
