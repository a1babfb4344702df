package server

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed serve.js
var nodeProgram []byte

//go:embed Serve.java
var nettyProgram []byte

//go:embed ServeJetty.java
var jettyProgram []byte

// PeersVariable is the environment variable with the folder in which
// spdy/testdata/peers/install has put node-spdy, Netty and Jetty.
const PeersVariable = "WIRETIME_SPDY_PEERS"

// peersPath is the default folder, relative to the checkout.
const peersPath = ".cache/spdy-peers"

// PeersFolder returns the folder of the peers: the value of PeersVariable, or else the
// first found in the working directory and those above it.
func PeersFolder() (string, error) {
	if folder := os.Getenv(PeersVariable); folder != "" {
		return folder, installed(folder)
	}
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		folder := filepath.Join(at, peersPath)
		if installed(folder) == nil {
			return folder, nil
		}
		above := filepath.Dir(at)
		if above == at {
			return "", fmt.Errorf("its library %w: run spdy/testdata/peers/install %s in a checkout of Wiretime, or set %s", ErrMissing, peersPath, PeersVariable)
		}
		at = above
	}
}

// installed checks that a folder has all peers.
func installed(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, "done")); err != nil {
		return fmt.Errorf("its library %w in %s: run spdy/testdata/peers/install %s", ErrMissing, folder, folder)
	}
	return nil
}

// library returns the name of the library that the kind's program uses, with its version
// as far as its files show it, or "" if it is not a peer.
func (k Kind) library() string {
	folder, err := PeersFolder()
	if k.peers == "" || err != nil {
		return ""
	}
	switch k.peers {
	case "node":
		var description struct {
			Version string `json:"version"`
		}
		text, err := os.ReadFile(filepath.Join(folder, "node", "node_modules", "spdy", "package.json"))
		if err == nil && json.Unmarshal(text, &description) == nil {
			return k.Name + " " + description.Version
		}
	case "netty", "jetty":
		library := map[string]string{"netty": "netty-codec-http-", "jetty": "spdy-http-server-"}[k.peers]
		if jars, _ := filepath.Glob(filepath.Join(folder, k.peers, "lib", library+"*.jar")); len(jars) > 0 {
			return k.Name + " " + strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), library), ".jar")
		}
	}
	return k.Name
}

// configureNode starts our small node-spdy program.
func configureNode(s *setup) ([]launch, error) {
	folder, err := PeersFolder()
	if err != nil {
		return nil, err
	}
	program, err := s.write("serve.js", nodeProgram)
	if err != nil {
		return nil, err
	}
	manifest, err := s.manifest()
	return []launch{{args: []string{s.program, program, manifest}, environment: []string{
		"NODE_PATH=" + filepath.Join(folder, "node", "node_modules"), "NODE_NO_WARNINGS=1"}}}, err
}

// configureNetty starts our small Netty program.
func configureNetty(s *setup) ([]launch, error) {
	return configureJava(s, "netty", "Serve", nettyProgram)
}

// configureJetty starts our small Jetty program. Jetty 9.2 is older than Java's own ALPN, and asks for a class of it on
// the boot class path.
func configureJetty(s *setup) ([]launch, error) {
	folder, err := PeersFolder()
	if err != nil {
		return nil, err
	}
	return configureJava(s, "jetty", "ServeJetty", jettyProgram, "-Xbootclasspath/a:"+filepath.Join(folder, "alpn"))
}

// configureJava starts a small program on a peer's libraries: as it was compiled when the peers were installed, or else
// from its source, which Java compiles in some seconds as it starts.
func configureJava(s *setup, peer, program string, source []byte, options ...string) ([]launch, error) {
	folder, err := PeersFolder()
	if err != nil {
		return nil, err
	}
	classes, compiled := filepath.Join(folder, peer, "lib")+"/*", filepath.Join(folder, peer, "serve")
	if installed, err := os.ReadFile(filepath.Join(compiled, program+".java")); err == nil && bytes.Equal(installed, source) {
		classes += string(filepath.ListSeparator) + compiled
	} else if program, err = s.write(program+".java", source); err != nil {
		return nil, err
	}
	manifest, err := s.manifest()
	args := append([]string{s.program, "-Djava.io.tmpdir=" + s.scratch(), "-XX:-UsePerfData"}, options...)
	return []launch{{args: append(args, "-cp", classes, program, manifest)}}, err
}

// manifest writes what to serve, for programs without a configuration of their own.
// Each line has a keyword and, separated by tabs, its values:
//
//	serve   ALPN, port, log
//	origin  host, address, certificate, key
//	answer  of that origin: method, target, status, size, body
//	field   of that answer: name, value
func (s *setup) manifest() (string, error) {
	var b strings.Builder
	put := func(words ...any) {
		for i, word := range words {
			if i > 0 {
				b.WriteByte('\t')
			}
			fmt.Fprint(&b, word)
		}
		b.WriteByte('\n')
	}
	log := s.log
	if s.Unlogged {
		log = ""
	}
	put("serve", s.Protocol.ALPN, s.Protocol.Port, log)
	for _, o := range s.origins {
		put("origin", o.host, o.address, o.certificate, o.key)
		for i := range o.answers {
			a := &o.answers[i]
			put("answer", a.method, a.target, a.status, a.size, a.body)
			for _, f := range a.header {
				put("field", f[0], f[1])
			}
		}
	}
	return s.write("manifest", []byte(b.String()))
}
