package main

import (
	"net/url"
	"path/filepath"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// networkSettings holds the section network: how to reach models.
type networkSettings struct {
	proxy                    string
	noProxy, caFiles         []string
	certFile, keyFile        string
	connect, firstByte, idle int
	// preconnect opens a connection when a session begins.
	preconnect bool
}

func newNetworkSettings() networkSettings {
	return networkSettings{
		connect: 15, firstByte: int(providers.DefaultFirstByteTimeout / time.Second), idle: int(providers.DefaultStallTimeout / time.Second),
		preconnect: true,
	}
}

func (s *networkSettings) settings() map[string]setting {
	protects := func(one setting) setting { return orStop(one, stopsModels|stopsPages) }
	return map[string]setting{
		"proxy":                   protects(proxyURL(&s.proxy)),                           // http, https or socks5; if empty, HTTPS_PROXY, HTTP_PROXY and NO_PROXY count
		"noProxy":                 protects(words(&s.noProxy)),                            // hosts, domains and networks to reach without the proxy
		"caFiles":                 protects(words(&s.caFiles)),                            // certificates to trust in addition to the system's, relative to the agent directory
		"clientCertFile":          protects(name(&s.certFile)),                            // a client certificate for servers that request one
		"clientKeyFile":           protects(name(&s.keyFile)),                             // the certificate's key, if it is in another file
		"connectTimeoutSeconds":   number(&s.connect, 1, 600),                             // until a connection is established
		"firstByteTimeoutSeconds": number(&s.firstByte, 1, 24*3600),                       // until the first byte of a response
		"idleTimeoutSeconds":      number(&s.idle, 1, 24*3600),                            // between two bytes of a response
		"preconnect":              orStrict(boolean(&s.preconnect), &s.preconnect, false), // connect when a session begins
	}
}

// proxyURL returns the setting of a proxy's address; "" is none. The address may contain a password, so the messages do
// not quote it.
func proxyURL(to *string) setting {
	return setting{get: func() any { return redacted(*to) }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		if u, err := url.Parse(n.Text); n.Text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5") {
			return "must be a URL with http, https or socks5"
		}
		*to = n.Text
		return ""
	}}
}

// put copies the section into the settings of models. Files are relative to dir.
func (s *networkSettings) put(set *registry.Settings, dir string) {
	within := func(file string) string { return withinDir(file, dir) }
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	set.HTTP = providers.HTTPOptions{
		Proxy: s.proxy, NoProxy: s.noProxy, CertFile: within(s.certFile), KeyFile: within(s.keyFile), ConnectTimeout: seconds(s.connect),
	}
	for _, file := range s.caFiles {
		set.HTTP.CAFiles = append(set.HTTP.CAFiles, within(file))
	}
	set.FirstByteTimeout, set.StallTimeout = seconds(s.firstByte), seconds(s.idle)
}

// putWeb copies the section into the settings of fetching pages, except for the client certificate, which is for
// models' servers only.
func (s *networkSettings) putWeb(set *webclient.Options, dir string) {
	set.Proxy, set.NoProxy = s.proxy, s.noProxy
	for _, file := range s.caFiles {
		set.CAFiles = append(set.CAFiles, withinDir(file, dir))
	}
}

// withinDir returns a path that may be relative to dir; "" stays "".
func withinDir(file, dir string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}
