package webclient

import (
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	basic "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of the conversion.
const (
	// maxHTML is the maximum size of a page that is parsed, in bytes.
	maxHTML = 5 << 20
	// maxDepth is the maximum nesting of elements, maxNested that of the indentation of lists and quotes.
	maxDepth  = 400
	maxNested = 8
	// maxColumns is the maximum number of columns of a table.
	maxColumns = 30
	// maxLink is the maximum length of an address, in bytes.
	maxLink = 2000
	// minMain is the minimum size of the text of an element marked as the main content, in bytes.
	minMain = 200
)

// markdown converts an HTML page to Markdown. If the page marks its main content, only that is converted. Menus, forms, scripts and
// invisible parts are omitted. base resolves relative links.
func markdown(page string, base *url.URL) string {
	root, err := html.Parse(strings.NewReader(page[:min(len(page), maxHTML)]))
	if err != nil {
		return page
	}
	if b := find(root, atom.Base); b != nil {
		if u, err := base.Parse(attribute(b, "href")); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			base = u
		}
	}
	text := ""
	for _, tag := range []atom.Atom{atom.Main, atom.Article, atom.Body} {
		if n := find(root, tag); n != nil {
			clean(n, base, 0, 0)
			if text, err = convert(n); err != nil {
				return page
			}
			if len(text) >= minMain {
				break
			}
		}
	}
	title := ""
	if n := find(root, atom.Title); n != nil {
		title = spaced(plainText(n))
	}
	if title == "" || strings.Contains(firstLines(text), "# "+title) {
		return text
	}
	return "# " + title + "\n\n" + text
}

func firstLines(text string) string { return text[:min(len(text), 1000)] }

// find returns the first visible element with the given tag.
func find(root *html.Node, tag atom.Atom) *html.Node {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == tag && !hiddenNode(n) {
			return n
		}
	}
	return nil
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// hiddenNode reports whether n is invisible or not part of the content.
func hiddenNode(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object, atom.Embed, atom.Canvas,
		atom.Nav, atom.Footer, atom.Aside, atom.Form, atom.Button, atom.Select, atom.Input, atom.Textarea, atom.Dialog, atom.Head,
		atom.Audio, atom.Video, atom.Menu:
		return true
	default:
	}
	style := strings.ReplaceAll(strings.ToLower(attribute(n, "style")), " ", "")
	return has(n, "hidden") || attribute(n, "aria-hidden") == "true" || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// convert writes a cleaned tree as Markdown.
func convert(n *html.Node) (string, error) {
	text, err := converter.NewConverter(
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(
			basic.NewBasePlugin(),
			commonmark.NewCommonmarkPlugin(commonmark.WithHorizontalRule("---"), commonmark.WithListEndComment(false)),
			strikethrough.NewStrikethroughPlugin(),
			table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithHeaderPromotion(true)),
		),
	).ConvertNode(n)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n") + "\n", err
}

// clean removes what is no content below n, makes addresses absolute, and turns what the converter would write at great
// length, such as deep quotes and wide tables, into plain blocks. depth counts elements, nested lists and quotes.
func clean(n *html.Node, base *url.URL, depth, nested int) {
	var next *html.Node
	for child := n.FirstChild; child != nil; child = next {
		next = child.NextSibling
		if hiddenNode(child) || depth == maxDepth {
			n.RemoveChild(child)
			continue
		}
		inside := nested
		switch child.DataAtom {
		case atom.A:
			if to := absolute(base, attribute(child, "href")); to == "" || to == spaced(plainText(child)) {
				rename(child, atom.Span)
			} else {
				child.Attr = []html.Attribute{{Key: "href", Val: to}}
			}
		case atom.Img:
			alt, from := spaced(attribute(child, "alt")), absolute(base, attribute(child, "src"))
			if alt == "" || from == "" {
				n.RemoveChild(child)
				continue
			}
			child.Attr = []html.Attribute{{Key: "src", Val: from}, {Key: "alt", Val: alt}}
		case atom.Blockquote, atom.Ul, atom.Ol:
			if inside++; inside > maxNested {
				rename(child, atom.Div)
			}
		case atom.Li:
			if nested > maxNested {
				rename(child, atom.Div)
			}
		case atom.Table:
			if width := columns(child); width < 2 || width > maxColumns {
				flatten(child)
			}
		case atom.Td, atom.Th:
			child.Attr = nil // a span of many columns would be written out
			for d := range child.Descendants() {
				if d.Type == html.TextNode {
					d.Data = strings.ReplaceAll(d.Data, "|", `\|`)
				}
			}
		default:
		}
		clean(child, base, depth+1, inside)
	}
}

func rename(n *html.Node, to atom.Atom) { n.DataAtom, n.Data, n.Attr = to, to.String(), nil }

// tableParts returns the elements of a table, without those of tables in it.
func tableParts(t *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for n := range t.Descendants() {
			switch n.DataAtom {
			case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th:
				if tableOf(n) == t && !yield(n) {
					return
				}
			default:
			}
		}
	}
}

// columns returns the largest number of cells in a row.
func columns(t *html.Node) (most int) {
	row, cells := (*html.Node)(nil), 0
	for n := range tableParts(t) {
		if n.DataAtom != atom.Td && n.DataAtom != atom.Th {
			continue
		}
		if n.Parent != row {
			row, cells = n.Parent, 0
		}
		cells++
		most = max(most, cells)
	}
	return most
}

// flatten makes a table for the layout, or one that is too wide, a sequence of blocks.
func flatten(t *html.Node) {
	for _, n := range slices.Collect(tableParts(t)) {
		rename(n, atom.Div)
	}
	rename(t, atom.Div)
}

// absolute returns a link's absolute address; empty for one that is not a page, or on the same page.
func absolute(base *url.URL, href string) string {
	href = strings.TrimSpace(href)
	u, err := base.Parse(href)
	if err != nil || href == "" || href[0] == '#' {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto":
	default:
		return ""
	}
	if text := u.String(); len(text) <= maxLink {
		return text
	}
	return ""
}

// tableOf returns the table of a row.
func tableOf(row *html.Node) *html.Node {
	for n := row.Parent; n != nil; n = n.Parent {
		if n.DataAtom == atom.Table {
			return n
		}
	}
	return nil
}

// plainText returns the text of n unchanged.
func plainText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			b.WriteString(d.Data)
		case d.Type == html.ElementNode && d.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// spaced collapses white space to single spaces.
func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }
