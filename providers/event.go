package providers

// An Event is one step of a model's answer: [TextDelta], [ThinkingDelta], [ToolCallStart], [ToolCallDelta], [UsageSoFar] or
// [Done].
type Event interface{ isEvent() }

// TextDelta is more text. Text is not empty.
type TextDelta struct{ Text string }

// ThinkingDelta is more reasoning. Text is not empty.
type ThinkingDelta struct{ Text string }

// ToolCallStart announces a tool call. Its input follows.
type ToolCallStart struct{ ID, Name string }

// ToolCallDelta is more of the input of a call. Input is a fragment of JSON text.
type ToolCallDelta struct{ ID, Input string }

// UsageSoFar is the usage since the beginning of the answer, as far as the API has reported it. It replaces earlier values, and
// is replaced by the usage of [Done]. A zero value only reports that the answer has begun. An answer that breaks off has used
// at least that much.
type UsageSoFar struct{ Usage Usage }

// Done ends a stream that succeeded. Message is the whole answer with stop reason and usage.
type Done struct{ Message Message }

func (TextDelta) isEvent()     {}
func (ThinkingDelta) isEvent() {}
func (ToolCallStart) isEvent() {}
func (ToolCallDelta) isEvent() {}
func (UsageSoFar) isEvent()    {}
func (Done) isEvent()          {}
