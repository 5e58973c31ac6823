// Package agent runs conversations: a [Session] owns one, its turns call a model and the tools that the model
// asks for, and every step is emitted as an [Event].
//
// The package knows no protocol. What it needs from the world (files, commands, approval) it declares as small
// interfaces here; package bridges implements them over an editor, with a local fallback.
package agent
