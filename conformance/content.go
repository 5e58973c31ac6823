package conformance

// An image of one pixel, and an empty sound.
const (
	onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	noSound  = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
)

// accepts returns a check that a prompt may have a block.
func accepts(block func(p *peer) object) func(*trial) {
	return func(t *trial) {
		p, id := t.session(bare)
		p.begin(id, object{"type": "text", "text": t.prompt(PurposeImage)}, block(p)).stop()
	}
}

// gated returns a check that a prompt may have a block if a capability is advertised.
func gated(capability string, block func(p *peer) object) func(*trial) {
	return func(t *trial) {
		p, id := t.session(bare)
		p.needs("promptCapabilities", capability)
		p.begin(id, object{"type": "text", "text": t.prompt(PurposeImage)}, block(p)).stop()
	}
}

// unadvertised returns a check that a prompt with a block is refused unless a capability is advertised.
func unadvertised(capability string, block func(p *peer) object) func(*trial) {
	return func(t *trial) {
		p, id := t.session(bare)
		if !p.advertises("promptCapabilities", capability) {
			m := p.begin(id, object{"type": "text", "text": t.prompt(PurposeImage)}, block(p)).answer()
			p.failsWith(m, "content that is not advertised ("+capability+")", codeParams)
		}
		p.purpose(id, PurposeSay, "text", "alive").stop()
	}
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

func fileURI(p *peer) string { return "file:///" + trimSlash(p.work) + "/linked.txt" }

func trimSlash(path string) string {
	for path != "" && path[0] == '/' {
		path = path[1:]
	}
	return path
}

var contentChecks = []Check{
	{"content.text", TierMust, "Several text blocks are one prompt.", pageContent, accepts(func(*peer) object { return object{"type": "text", "text": "more"} })},
	{"content.annotations", TierMust, "A block may have annotations.", pageContent, accepts(func(*peer) object {
		return object{"type": "text", "text": "more", "annotations": object{"audience": []any{"user"}, "priority": 0.5, "lastModified": nil}}
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
	{"content.image", TierCapability, "Images are taken if promptCapabilities.image is advertised.", pageContent, gated("image", imageBlock)},
	{"content.image.unadvertised", TierShould, "Images are refused with -32602 unless promptCapabilities.image is advertised.", pageContent, unadvertised("image", imageBlock)},
	{"content.audio", TierCapability, "Audio is taken if promptCapabilities.audio is advertised.", pageContent, gated("audio", audioBlock)},
	{"content.audio.unadvertised", TierShould, "Audio is refused with -32602 unless promptCapabilities.audio is advertised.", pageContent, unadvertised("audio", audioBlock)},
	{"content.embedded", TierCapability, "Embedded text is taken if promptCapabilities.embeddedContext is advertised.", pageContent, gated("embeddedContext", embeddedBlock)},
	{"content.embedded.unadvertised", TierShould, "Embedded text is refused with -32602 unless promptCapabilities.embeddedContext is advertised.", pageContent, unadvertised("embeddedContext", embeddedBlock)},
	{"content.embedded-blob", TierCapability, "Embedded bytes are taken if promptCapabilities.embeddedContext is advertised.", pageContent, func(t *trial) {
		p, id := t.session(bare)
		p.needs("promptCapabilities", "embeddedContext")
		p.begin(id, object{"type": "text", "text": t.prompt(PurposeImage)},
			object{"type": "resource", "resource": object{"uri": "file:///pixel.png", "blob": onePixel, "mimeType": "image/png"}}).stop()
	}},
	{"content.image.broken", TierShould, "An image that is not base64 is refused with -32602.", pageContent, func(t *trial) {
		p, id := t.session(bare)
		p.needs("promptCapabilities", "image")
		p.failsWith(p.begin(id, object{"type": "text", "text": "x"}, object{"type": "image", "mimeType": "image/png", "data": "%%%"}).answer(), "a broken image", codeParams)
	}},
	{"content.image.incomplete", TierMust, "An image without data is refused with -32602.", pageContent, refusesPrompt([]any{object{"type": "image", "mimeType": "image/png"}}, codeParams)},
	{"content.resource-link.incomplete", TierMust, "A resource link without a URI is refused with -32602.", pageContent, refusesPrompt([]any{object{"type": "resource_link", "name": "x"}}, codeParams)},
}
