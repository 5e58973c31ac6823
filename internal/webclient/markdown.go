package webclient

import (
	"net/url"
	"strconv"
	"strings"

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
	// minMain is the minimum text of an element that is marked as the main content, in bytes.
	minMain = 200
)

// markdown converts an HTML page to Markdown: its main content if the page marks it, without menus, forms, scripts and
// invisible parts. base makes links absolute.
func markdown(page string, base *url.URL) string {
	root, err := html.Parse(strings.NewReader(page[:min(len(page), maxHTML)]))
	if err != nil {
		return page
	}
	c := &converter{base: base}
	if b := find(root, atom.Base); b != nil {
		if u, err := base.Parse(attribute(b, "href")); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			c.base = u
		}
	}
	text := ""
	for _, tag := range []atom.Atom{atom.Main, atom.Article, atom.Body} {
		if n := find(root, tag); n != nil {
			if text = c.document(n); len(text) >= minMain {
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

// find returns the first element of a kind.
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

// converter writes Markdown. A block consists of lines with a prefix; its inline text is collected before it is
// written.
type converter struct {
	base   *url.URL
	out    strings.Builder
	inline *strings.Builder
	// prefix precedes each line. first replaces it once, for the next line.
	prefix, first string
	nested        int
	depth         int
	tight         bool // omit the empty line before the next block
}

func (c *converter) document(n *html.Node) string {
	c.out.Reset()
	c.inline = new(strings.Builder)
	c.prefix, c.first, c.nested, c.depth, c.tight = "", "", 0, 0, true
	c.children(n)
	c.flush("")
	return strings.TrimSpace(c.out.String()) + "\n"
}

func (c *converter) children(n *html.Node) {
	if c.depth++; c.depth <= maxDepth {
		for child := range n.ChildNodes() {
			c.node(child)
		}
	}
	c.depth--
}

// flush writes the collected text as a block that starts with mark.
func (c *converter) flush(mark string) {
	text := strings.TrimSpace(c.inline.String())
	c.inline.Reset()
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	lines[0] = mark + lines[0]
	c.block(lines)
}

func (c *converter) block(lines []string) {
	if c.out.Len() > 0 && !c.tight {
		c.out.WriteString(strings.TrimRight(c.prefix, " ") + "\n")
	}
	c.tight = false
	for _, line := range lines {
		lead := c.prefix
		if c.first != "" {
			lead, c.first = c.first, ""
		}
		c.out.WriteString(strings.TrimRight(lead+line, " ") + "\n")
	}
}

func (c *converter) node(n *html.Node) {
	switch {
	case hiddenNode(n):
	case n.Type == html.TextNode:
		c.text(n.Data)
	case n.Type != html.ElementNode:
		c.children(n)
	default:
		c.element(n)
	}
}

// text adds inline text, with white space collapsed.
func (c *converter) text(s string) {
	words := strings.Fields(s)
	if len(words) == 0 {
		if s != "" {
			c.space()
		}
		return
	}
	if strings.TrimLeft(s, " \t\r\n\f") != s {
		c.space()
	}
	for i, word := range words {
		if i > 0 {
			c.inline.WriteByte(' ')
		}
		c.inline.WriteString(word)
	}
	if strings.TrimRight(s, " \t\r\n\f") != s {
		c.space()
	}
}

func (c *converter) space() {
	if s := c.inline.String(); s != "" && s[len(s)-1] != ' ' && s[len(s)-1] != '\n' {
		c.inline.WriteByte(' ')
	}
}

func (c *converter) element(n *html.Node) {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.flush("")
		text := spaced(c.gathered(n))
		c.inline.WriteString(text)
		c.flush(strings.Repeat("#", int(n.Data[1]-'0')) + " ")
	case atom.Br:
		c.inline.WriteString("\n")
	case atom.Hr:
		c.flush("")
		c.block([]string{"---"})
	case atom.Pre, atom.Listing:
		c.flush("")
		c.pre(n)
	case atom.Blockquote:
		c.flush("")
		c.indented("> ", "> ", n)
	case atom.Ul, atom.Ol:
		c.flush("")
		c.list(n)
	case atom.Table:
		c.flush("")
		c.table(n)
	case atom.Dt:
		c.flush("")
		c.wrap("**", n)
		c.flush("")
	case atom.A:
		c.link(n)
	case atom.Img:
		c.image(n)
	case atom.Strong, atom.B:
		c.wrap("**", n)
	case atom.Em, atom.I:
		c.wrap("*", n)
	case atom.Del, atom.S:
		c.wrap("~~", n)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		c.code(n)
	case atom.Span, atom.Abbr, atom.Cite, atom.Small, atom.Sub, atom.Sup, atom.Mark, atom.Time, atom.U, atom.Q, atom.Label, atom.Font, atom.Var, atom.Ins, atom.Wbr, atom.Bdi, atom.Bdo, atom.Data, atom.Picture:
		c.children(n)
	default: // blocks, and unknown elements
		c.flush("")
		c.children(n)
		c.flush("")
	}
}

// gathered returns the inline text of n alone.
func (c *converter) gathered(n *html.Node) string {
	before := c.inline
	c.inline = new(strings.Builder)
	c.inlineChildren(n)
	text := c.inline.String()
	c.inline = before
	return text
}

// inlineChildren adds the content of n as inline text, whatever its elements.
func (c *converter) inlineChildren(n *html.Node) {
	if c.depth++; c.depth <= maxDepth {
		for child := range n.ChildNodes() {
			switch {
			case hiddenNode(child):
			case child.Type == html.TextNode:
				c.text(child.Data)
			case child.DataAtom == atom.Br:
				c.space()
			case child.DataAtom == atom.Img:
				c.image(child)
			case child.DataAtom == atom.A:
				c.link(child)
			case child.DataAtom == atom.Code:
				c.code(child)
			default:
				c.inlineChildren(child)
			}
		}
	}
	c.depth--
}

// wrap adds inline text between marks.
func (c *converter) wrap(mark string, n *html.Node) {
	text := c.gathered(n)
	if trimmed := strings.TrimSpace(text); trimmed != "" {
		if text[0] == ' ' {
			c.space()
		}
		c.inline.WriteString(mark + trimmed + mark)
		if text[len(text)-1] == ' ' {
			c.space()
		}
	}
}

func (c *converter) code(n *html.Node) {
	text := spaced(plainText(n))
	if text == "" {
		return
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		text = " " + text + " "
	}
	c.inline.WriteString(fence + text + fence)
}

func (c *converter) pre(n *html.Node) {
	text := strings.Trim(strings.ReplaceAll(plainText(n), "\r\n", "\n"), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	language := ""
	for _, class := range []string{attribute(n, "class"), codeClass(n)} {
		for word := range strings.FieldsSeq(class) {
			for _, prefix := range []string{"language-", "lang-", "highlight-source-"} {
				if name, ok := strings.CutPrefix(word, prefix); ok && len(name) < 20 {
					language = name
				}
			}
		}
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	lines := append([]string{fence + language}, strings.Split(text, "\n")...)
	c.block(append(lines, fence))
}

func codeClass(n *html.Node) string {
	if code := find(n, atom.Code); code != nil {
		return attribute(code, "class")
	}
	return ""
}

// indented writes the content of n with a prefix before its lines.
func (c *converter) indented(first, rest string, n *html.Node) {
	prefix := c.prefix
	if c.nested++; c.nested <= maxNested {
		if c.first == "" {
			c.first = prefix
		}
		c.first += first
		c.prefix += rest
	}
	c.children(n)
	c.flush("")
	c.nested--
	c.prefix = prefix
	c.first = ""
}

func (c *converter) list(n *html.Node) {
	number := 1
	if start, err := strconv.Atoi(attribute(n, "start")); err == nil && start >= 0 && start < 1_000_000 {
		number = start
	}
	for item := range n.ChildNodes() {
		if item.Type != html.ElementNode || hiddenNode(item) {
			continue
		}
		mark := "- "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		at := c.out.Len()
		c.indented(mark, strings.Repeat(" ", len(mark)), item)
		c.tight = c.out.Len() > at // no empty lines between items
	}
	c.tight = c.nested > 0 && c.tight
}

func (c *converter) table(n *html.Node) {
	var found [][]*html.Node
	width := 0
	for row := range n.Descendants() {
		if row.Type != html.ElementNode || row.DataAtom != atom.Tr || hiddenNode(row) || tableOf(row) != n {
			continue
		}
		var cells []*html.Node
		for cell := range row.ChildNodes() {
			if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
				cells = append(cells, cell)
			}
		}
		if len(cells) > 0 {
			found = append(found, cells)
			width = max(width, len(cells))
		}
	}
	if width < 2 || width > maxColumns { // a layout table
		c.children(n)
		c.flush("")
		return
	}
	var rows [][]string
	for _, cells := range found {
		var row []string
		for _, cell := range cells {
			row = append(row, strings.ReplaceAll(spaced(c.gathered(cell)), "|", `\|`))
		}
		rows = append(rows, row)
	}
	var lines []string
	for i, row := range rows {
		for len(row) < width {
			row = append(row, "")
		}
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
		if i == 0 {
			lines = append(lines, "|"+strings.Repeat(" --- |", width))
		}
	}
	c.block(lines)
}

func (c *converter) link(n *html.Node) {
	text := strings.TrimSpace(c.gathered(n))
	to := c.absolute(attribute(n, "href"))
	switch {
	case text == "":
	case to == "" || to == text || c.samePage(attribute(n, "href")):
		c.inline.WriteString(text)
	default:
		c.inline.WriteString("[" + text + "](" + to + ")")
	}
}

func (c *converter) samePage(href string) bool {
	return strings.HasPrefix(strings.TrimSpace(href), "#")
}

func (c *converter) image(n *html.Node) {
	alt, from := spaced(attribute(n, "alt")), c.absolute(attribute(n, "src"))
	if from != "" && alt != "" {
		c.inline.WriteString("![" + alt + "](" + from + ")")
	}
}

// absolute returns a link's absolute address; empty for one that is not a page.
func (c *converter) absolute(href string) string {
	u, err := c.base.Parse(strings.TrimSpace(href))
	if err != nil || href == "" {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto":
	default:
		return ""
	}
	text := strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(u.String())
	if len(text) > maxLink {
		return ""
	}
	return text
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
