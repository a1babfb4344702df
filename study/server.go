package study

import "slices"

// ServerOwn names Wiretime's own server.
const ServerOwn = "wiretime"

// Server describes a web server that the study defines: a command that serves a folder of
// files from a single origin.
type Server struct {
	Name      string
	Command   []string // the program and its arguments, with placeholders such as {folder}
	Protocols []string // the protocols it serves, at least one
}

// Foreign reports whether a server other than Wiretime's own serves some of the study's
// loads. The processor time of such a server is then part of what the study compares.
func (s *Study) Foreign() bool {
	return slices.ContainsFunc(s.Matrix[AxisServer], func(name string) bool { return name != ServerOwn })
}
